"""Graphs as compressed sparse rows (CSR), worked out once while views change only the weights of the edges."""

from collections.abc import Callable
from functools import cached_property
from typing import Generic, TypeVar

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.matrices import csr_matrix

T = TypeVar("T")


class WeakTensorCache(Generic[T]):
    """A value for each tensor, as long as it lives and is not written to. The value must not refer to the tensor."""

    def __init__(self) -> None:
        self._known: WeakTensorKeyDictionary = WeakTensorKeyDictionary()

    def get(self, key: Tensor, make: Callable[[], T], made_of: object = None) -> T:
        """Return the value of a tensor; make it if there is none, or if the tensor or ``made_of`` has changed."""
        version = None if key.is_inference() else key._version  # a tensor made in inference mode counts no changes
        known: tuple[int | None, object, T] | None = self._known.get(key)  # type: ignore[no-untyped-call]
        if known is None or version is None or known[:2] != (version, made_of):
            self._known[key] = known = version, made_of, make()
        return known[2]


class CSRStructure:
    """The positions of the non-zero entries of ``A + I`` of an undirected graph in compressed sparse rows.

    ``edge_index`` ``(2, m)`` has every undirected edge in both directions, no self-loop and no duplicate, in any order.
    ``edge_row``, ``edge_col`` and ``edge_rowptr`` are of the sorted edges, ``rowptr`` and ``col`` of ``A + I``.
    """

    is_mapped = False  # whether its rows lie on disk

    def __init__(self, edge_index: Tensor, num_nodes: int) -> None:
        # A tensor of its own, so that a cache can forget the given one; int32 would not hold the keys.
        edge_index = edge_index.data.long()
        keys = edge_index[0] * num_nodes + edge_index[1]
        self.num_nodes = num_nodes
        self.order = None if bool((keys.diff() > 0).all()) else keys.argsort()
        if not (bool((self.sorted(keys).diff() > 0).all()) and bool((edge_index[0] != edge_index[1]).all())):
            raise InputError("The edges hold a self-loop or a duplicate: make the graph with sfa.data.as_graph.")
        edges = edge_index if self.order is None else edge_index[:, self.order]
        self.edge_row, self.edge_col = edges.unbind()
        counts = torch.bincount(self.edge_row, minlength=num_nodes)
        self.edge_rowptr = torch.cat([counts.new_zeros(1), counts.cumsum(0)])

    @classmethod
    def of_rows(cls, rowptr: Tensor, col: Tensor) -> "CSRStructure":
        """Return the structure of compressed rows that are known to be valid; they may lie on disk."""
        structure = cls.__new__(cls)
        structure.num_nodes, structure.order = len(rowptr) - 1, None
        structure.edge_rowptr, structure.edge_col = rowptr.data, col.data
        structure.is_mapped = True
        return structure

    @cached_property
    def edge_row(self) -> Tensor:
        """Rows ``(m,)`` of the sorted edges."""
        return expand_rowptr(self.edge_rowptr, len(self.edge_col))

    @cached_property
    def rowptr(self) -> Tensor:
        """Row pointers ``(n + 1,)`` of ``A + I``."""
        return self.edge_rowptr + torch.arange(self.num_nodes + 1, device=self.edge_rowptr.device)

    @cached_property
    def col(self) -> Tensor:
        """Columns ``(m + n,)`` of all entries of ``A + I``."""
        col = self.rowptr.new_full((len(self.edge_col) + self.num_nodes,), -1)
        col[self.place] = self.edge_col
        col[col < 0] = torch.arange(self.num_nodes, device=col.device)
        return col

    @cached_property
    def place(self) -> Tensor:
        """Positions ``(m,)`` of the sorted edges among the entries of ``A + I``."""
        upper = self.edge_col > self.edge_row
        return torch.arange(len(upper), device=upper.device) + self.edge_row + upper

    @cached_property
    def edge_twin(self) -> Tensor:
        """Number ``(m,)`` of the sorted edge that is the other direction of each sorted edge."""
        row, col = self.edge_row, self.edge_col
        twin = col.argsort(stable=True)  # by (column, row), the edges of a symmetric matrix are those of its transpose
        if not (torch.equal(row.index_select(0, twin), col) and torch.equal(col.index_select(0, twin), row)):
            raise InputError("Some edges are given in one direction only: make the graph with sfa.data.as_graph.")
        return twin

    @cached_property
    def undirected(self) -> tuple[Tensor, int]:
        """Number ``(m,)`` of the undirected edge, by (smaller, larger) node, of each given edge; how many there are."""
        upper = self.edge_row < self.edge_col
        rank = upper.cumsum(0) - 1
        number = torch.where(upper, rank, rank[self.edge_twin])
        if self.order is not None:
            number = torch.empty_like(number).index_copy_(0, self.order, number)
        return number, len(upper) // 2

    def sorted(self, values: Tensor) -> Tensor:
        """Return values of the given edges in sorted order."""
        return values if self.order is None else values[self.order]


_STRUCTURES: WeakTensorCache[CSRStructure] = WeakTensorCache()


def csr_structure(edge_index: Tensor, num_nodes: int) -> CSRStructure:
    """Return the structure of these edges, cached while the tensor lives and is not written to."""
    return _STRUCTURES.get(edge_index, lambda: CSRStructure(edge_index, num_nodes), made_of=num_nodes)


def is_stored(data: Data) -> bool:
    """Tell whether a graph is mapped from files, so that no step should touch all of it."""
    return data.get("indptr") is not None


def edge_key(data: Data) -> Tensor:
    """Return the tensor whose life and version are those of a graph's edges: of a stored graph, its row pointers."""
    key: Tensor = data.indptr if is_stored(data) else data.edge_index
    return key


def structure_of(data: Data) -> CSRStructure:
    """Return the structure of a graph's edges, cached while they stay unchanged; that of a stored graph is on disk."""
    indptr = data.get("indptr")
    if indptr is None:
        return csr_structure(data.edge_index, data.num_nodes)
    return _STRUCTURES.get(indptr, lambda: CSRStructure.of_rows(indptr, data.indices))


def sort_edges(row: Tensor, col: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """Return the distinct edges, ``(2, m)`` sorted by (row, column), and where each of them was given."""
    keys, given = (row * num_nodes + col).sort()
    first = keys.diff(prepend=keys.new_full((1,), -1)) > 0
    keys = keys[first]
    return torch.stack([keys // num_nodes, keys % num_nodes]), given[first]


def expand_rowptr(rowptr: Tensor, entries: int | None = None) -> Tensor:
    """Return the row of each entry of a CSR matrix with this many ``entries``, if known."""
    rows = torch.arange(len(rowptr) - 1, device=rowptr.device)
    return rows.repeat_interleave(rowptr.diff(), output_size=entries)


def row_entries(rowptr: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Return the positions of the entries of ``k`` rows, row by row, and their row pointers ``(k + 1,)``."""
    start = rowptr[rows]
    counts = rowptr[rows + 1] - start
    picked = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    total = int(picked[-1])
    shift = (start - picked[:-1]).repeat_interleave(counts, output_size=total)
    return torch.arange(total, device=rowptr.device) + shift, picked


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """Return ``x[rows]`` of dense or CSR features in the layout of ``x``; of a mapped file, no other rows are read.

    Rows of float16, in which a store may keep features, become float32.
    """
    if x.layout != torch.sparse_csr:
        return _widened(x.index_select(0, rows))  # several times as fast as x[rows]
    entries, rowptr = row_entries(x.crow_indices(), rows)
    col, values = x.col_indices().index_select(0, entries), x.values().index_select(0, entries)
    return csr_matrix(rowptr.to(col.dtype), col, values, (len(rows), x.shape[1]))


def some_rows(x: Tensor, start: int, stop: int) -> Tensor:
    """Return rows ``start`` to ``stop`` of a dense or CSR matrix, without a copy of their values but of float16."""
    if x.layout != torch.sparse_csr:
        return _widened(x[start:stop])
    rowptr = x.crow_indices()[start : stop + 1]
    first, last = int(rowptr[0]), int(rowptr[-1])
    shape = (len(rowptr) - 1, x.shape[1])
    return csr_matrix(rowptr - first, x.col_indices()[first:last], x.values()[first:last], shape)


def _widened(rows: Tensor) -> Tensor:
    return rows.float() if rows.dtype == torch.float16 else rows
