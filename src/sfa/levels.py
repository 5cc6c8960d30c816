"""What is embedded: the nodes of one graph, or the graphs of a set."""

from __future__ import annotations

from typing import Literal

from torch_geometric.data import Data

Level = Literal["node", "graph"]


def level_of(data: Data) -> Level:
    """``graph`` of a graph set, which says where each of its graphs begins (``ptr``); ``node`` of one graph."""
    return "node" if data.get("ptr") is None else "graph"


def num_items(data: Data) -> int:
    """How many embeddings there will be: one for each node of a graph, or for each graph of a set."""
    return int(data.num_nodes) if level_of(data) == "node" else len(data.ptr) - 1


def item_word(data: Data) -> str:
    """What the items are called, in the plural."""
    return f"{level_of(data)}s"
