"""What a graph file holds, before features and labels from other files are joined to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Parts:
    """The arrays of one graph file; `num_nodes` is set when the file says it, as an adjacency does.

    If `ptr` is set, it is a graph set: `y` are labels of graphs, and edges count nodes through all of them.
    """

    edges: Any
    edge_weight: Any = None
    x: Any = None
    y: Any = None
    class_names: list[str] | None = None
    node_ids: list[int | str] | None = None
    num_nodes: int | None = None
    name: str | None = None
    masks: dict[str, Any] = field(default_factory=dict)
    ptr: Any = None
    graph_ids: list[int | str] | None = None


def parse_ids(texts: Iterable[object]) -> list[int] | list[str]:
    """Ids as integers if every one is written like an integer ("7", not "07"), otherwise as text."""
    ids = [str(text).strip() for text in texts]
    try:
        numbers = [int(one) for one in ids]
    except ValueError:
        return ids
    fit = all(-(2**63) <= number < 2**63 for number in numbers)  # a longer one would not go into any table of numbers
    return numbers if fit and all(str(number) == one for number, one in zip(numbers, ids, strict=True)) else ids
