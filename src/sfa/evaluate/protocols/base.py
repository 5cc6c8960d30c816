"""What a protocol is."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.scores import Score
from sfa.levels import DATA, ITEMS, Level, level_of
from sfa.registry import registered

Embedder = Callable[[Data], Tensor]
"""A graph, a graph set or an image set in, its embeddings ``(n, d)`` out."""

P = TypeVar("P", bound="Protocol")


@dataclass(frozen=True)
class Protocol(ABC):
    """A way to score embeddings, settled before they are seen: same data, same splits, same selection for all.

    Attributes:
        name: By which it is asked for.
        description: One line: splits, classifier, what is selected on what.
        repeats: Splits or runs; of splits that come with the data at most so many.
        needs: What the data must have.
        levels: What it scores: the nodes of one graph, the graphs of a set, images, or several of these.
    """

    name: str
    description: str
    repeats: int = 20
    needs: ClassVar[Literal["labels", "masks", "edges"]] = "labels"
    levels: ClassVar[tuple[Level, ...]] = ("node", "graph")

    @abstractmethod
    def check(self, graph: Data) -> None:
        """Raise, before any long work, if these data do not allow it."""

    def check_level(self, graph: Data) -> None:
        """Raise if it is not for nodes, not for the graphs of a set, or not for images, where these data are such."""
        level = level_of(graph)
        if level not in self.levels:
            what = getattr(graph, "name", None) or "this"
            scored = " or ".join(ITEMS[own] for own in self.levels)
            raise InputError(f"{self.name} scores {scored}, and {what} is {DATA[level]}.")

    @abstractmethod
    def evaluate(
        self,
        embedding: Any,
        graph: Data,
        *,
        name: str = "embedding",
        on_split: Callable[[], None] | None = None,
    ) -> Score:
        """Score an embedding of a graph's nodes, or of a set's graphs or images.

        Args:
            embedding: ``(n, d)``, a tensor or array, dense or sparse; or an :data:`Embedder`, which is called with the
                graph, or set, that may be seen.
            graph: The graph, or set, that it is scored on; labels of ``-1`` are unknown and left out.
            name: What the embedding is called in the score.
            on_split: Called after each split or run.
        """

    def with_splits(self: P, count: int) -> P:
        """The same with another number of repeats: a quick look, not the protocol."""
        return replace(self, repeats=count)

    def count(self, graph: Data) -> int:
        """How many splits or runs these data get."""
        return self.repeats

    @abstractmethod
    def parts(self, graph: Data) -> Iterable[NDArray[np.int64]]:
        """The numbers of the nodes, graphs, images or edges of every part of every split, in order."""

    def digest(self, graph: Data) -> str:
        """SHA-256 of all settings and splits: scores of the same data can be paired if theirs is the same."""
        settings = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "description"}
        sha = hashlib.sha256(repr(settings).encode())
        for part in self.parts(graph):
            sha.update(f";{len(part)}:".encode())
            sha.update(np.ascontiguousarray(part, dtype=np.int64).data)
        return sha.hexdigest()


def no_news() -> None:
    """Where nobody wants to be told."""


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
