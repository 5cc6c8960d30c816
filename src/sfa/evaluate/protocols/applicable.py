"""Which protocols the data allow, and which is the default."""

from __future__ import annotations

from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.protocols.base import Protocol
from sfa.levels import Level
from sfa.registry import registered

BY_NAME = {
    "honest-10-10-80-sklearn": "It gives the scores of honest-10-10-80: ask for it by name.",
    "label-signal": "It is a diagnosis and no score: ask for it by name.",
}
"""Protocols that are not meant by "all", and why."""

DEFAULTS: dict[Level, str] = {"node": "honest-10-10-80", "graph": "tu-svm-10fold", "image": "image-linear"}
"""Protocols for nodes, for whole graphs and for images, where none is named."""


def default_protocol(level: Level) -> str:
    """Return the name of the protocol for nodes, for whole graphs or for images, where none is named."""
    return DEFAULTS[level]


def possible(graph: Data) -> tuple[list[Protocol], dict[str, str]]:
    """Return the protocols that these data allow, and why not for each of the others."""
    allowed, refused = [], {}
    for protocol in registered("protocol").values():
        name = protocol.name
        if name in BY_NAME:
            refused[name] = BY_NAME[name]
            continue
        try:
            protocol.check(graph)
            allowed.append(protocol)
        except InputError as error:
            refused[name] = str(error)
    return allowed, refused
