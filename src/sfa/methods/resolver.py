"""From a name to a method."""

from __future__ import annotations

from sfa.errors import unknown_name
from sfa.methods.base import ContrastiveMethod
from sfa.methods.node.g_bt import GBT
from sfa.methods.node.grace import GRACE

METHODS: dict[str, type[ContrastiveMethod]] = {"grace": GRACE, "g-bt": GBT}


def resolve(name: str) -> type[ContrastiveMethod]:
    """The class of the method called ``name``."""
    if name not in METHODS:
        raise unknown_name("method", name, METHODS)
    return METHODS[name]
