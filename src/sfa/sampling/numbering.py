"""The numbers that the nodes of a graph have inside one batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class Numbering:
    """A table from nodes to their numbers 0, 1, … in a batch, kept from batch to batch.

    It is filled inside a ``with`` block and emptied at its end where it was touched: a batch costs nothing of the size
    of the graph.
    """

    def __init__(self, num_nodes: int) -> None:
        self._table = torch.full((num_nodes,), -1)
        self._added: list[Tensor] = []

    def __enter__(self) -> Numbering:
        return self

    def __exit__(self, *_: Any) -> None:
        self._table[self.nodes] = -1
        self._added.clear()

    def add(self, nodes: Tensor) -> None:
        """Give the next numbers to these nodes, which are distinct and have none yet."""
        known = sum(map(len, self._added))
        self._added.append(nodes)
        self._table[nodes] = torch.arange(known, known + len(nodes))

    def __getitem__(self, nodes: Tensor) -> Tensor:
        """The numbers of these nodes ``(k,)``; -1 for one that has none."""
        return self._table.index_select(0, nodes)

    @property
    def nodes(self) -> Tensor:
        """All nodes that have a number, in the order of their numbers."""
        return torch.cat([*self._added, torch.empty(0, dtype=torch.int64)])
