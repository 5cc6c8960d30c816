"""What is embedded: the nodes of one graph, the graphs of a set, or images."""

from __future__ import annotations

from typing import Literal

from torch_geometric.data import Data

Level = Literal["node", "graph", "image"]

ITEMS: dict[Level, str] = {"node": "the nodes of one graph", "graph": "whole graphs", "image": "images"}
"""What is embedded and scored, in words."""
DATA: dict[Level, str] = {"node": "one graph", "graph": "a set of graphs", "image": "a set of images"}
"""What that comes in."""


def level_of(data: Data) -> Level:
    """``graph`` of a graph set, which says where each of its graphs begins (``ptr``); ``image`` of an image set, where
    ``x`` is ``(n, height, width, channels)``; ``node`` of one graph."""
    if data.get("ptr") is not None:
        return "graph"
    x = data.get("x")
    return "image" if x is not None and x.dim() == 4 else "node"


def num_items(data: Data) -> int:
    """How many embeddings there will be: one for each node of a graph, for each graph of a set, or for each image."""
    return len(data.ptr) - 1 if level_of(data) == "graph" else int(data.num_nodes)


def item_word(data: Data) -> str:
    """What the items are called, in the plural."""
    return f"{level_of(data)}s"
