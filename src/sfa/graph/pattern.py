"""Where a graph has edges, in compressed rows: worked out once, while views change only the edges' weights."""

from __future__ import annotations

from functools import cached_property

import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.graph.memo import Memo


class Pattern:
    """The places of the non-zero entries of ``A + I`` in compressed sparse rows (CSR), of an undirected graph.

    Args:
        edge_index: ``(2, m)``, every undirected edge given in both directions, no self-loop and no duplicate, in any
            order. Sorted by row, as :func:`sfa.data.build_graph` gives it, it takes linear time.
        num_nodes: ``n``.
    """

    def __init__(self, edge_index: Tensor, num_nodes: int) -> None:
        # A tensor of its own, so that a memo of the given one can be forgotten; int32 would not hold the keys.
        edge_index = edge_index.data.long()
        keys = edge_index[0] * num_nodes + edge_index[1]
        self.order = None if bool((keys.diff() > 0).all()) else keys.argsort()
        self._edges = edge_index if self.order is None else edge_index[:, self.order]
        self._keys = keys if self.order is None else keys[self.order]
        if not (bool((self._keys.diff() > 0).all()) and bool((edge_index[0] != edge_index[1]).all())):
            raise InputError("The edges hold a self-loop or a duplicate: make the graph with sfa.data.as_graph.")
        self.num_nodes = num_nodes

    @cached_property
    def edge_rowptr(self) -> Tensor:
        """``(n + 1,)``: the sorted edges of row ``i`` are those from ``edge_rowptr[i]`` to ``edge_rowptr[i + 1]``."""
        counts = torch.bincount(self._edges[0], minlength=self.num_nodes)
        return torch.cat([counts.new_zeros(1), counts.cumsum(0)])

    @property
    def edge_col(self) -> Tensor:
        """``(m,)`` columns of the sorted edges, without the self-loops."""
        return self._edges[1]

    @cached_property
    def rowptr(self) -> Tensor:
        """``(n + 1,)`` row pointers with one self-loop a node."""
        return self.edge_rowptr + torch.arange(self.num_nodes + 1, device=self._edges.device)

    @cached_property
    def place(self) -> Tensor:
        """``(m,)``: where the sorted edges stand among the entries of ``A + I``."""
        row, col = self._edges
        place: Tensor = torch.arange(len(row), device=row.device) + row + (col > row)
        return place

    @cached_property
    def loop(self) -> Tensor:
        """``(n,)``: where the self-loops stand there."""
        row, col = self._edges
        before = torch.zeros(self.num_nodes, dtype=torch.int64, device=row.device).index_add_(
            0, row, (col < row).long()
        )
        return self.rowptr[:-1] + before

    @cached_property
    def col(self) -> Tensor:
        """``(m + n,)`` columns of all entries of ``A + I``."""
        col = self.rowptr.new_empty(len(self.edge_col) + self.num_nodes)
        col[self.place] = self.edge_col
        col[self.loop] = torch.arange(self.num_nodes, device=col.device)
        return col

    @cached_property
    def edge_twin(self) -> Tensor:
        """``(m,)``: the sorted edge that is each sorted edge's other direction."""
        row, col = self._edges
        twin: Tensor = col.argsort(
            stable=True
        )  # sorted by (column, row), the edges of a symmetric matrix are its transpose's
        if not (torch.equal(row.index_select(0, twin), col) and torch.equal(col.index_select(0, twin), row)):
            raise InputError("Some edges are given in one direction only: make the graph with sfa.data.as_graph.")
        return twin

    @cached_property
    def undirected(self) -> tuple[Tensor, int]:
        """``(m,)``: the number of each given edge's undirected edge, by (smaller, larger) node; how many there are."""
        row, col = self._edges
        upper = row < col
        rank = upper.cumsum(0) - 1
        number = torch.where(upper, rank, rank[self.edge_twin])
        return number if self.order is None else torch.empty_like(number).index_copy_(0, self.order, number), len(
            row
        ) // 2

    def sorted(self, values: Tensor) -> Tensor:
        """Values of the given edges, in sorted order."""
        return values if self.order is None else values[self.order]


_PATTERNS: Memo[Pattern] = Memo()


def pattern_of(edge_index: Tensor, num_nodes: int) -> Pattern:
    """The pattern of these edges; worked out once for a tensor of edges, as long as it lives and is not written to."""
    return _PATTERNS.get(edge_index, lambda: Pattern(edge_index, num_nodes), lambda known: known.num_nodes == num_nodes)
