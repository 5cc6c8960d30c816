"""The structure of a graph against dense matrices, and how long it is remembered."""

from __future__ import annotations

import gc
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from torch import Tensor

from sfa.errors import InputError
from sfa.graph.structure import _STRUCTURES, CSRStructure, csr_structure, row_entries, take_rows
from sfa.matrices import csr_matrix


def random_edges(n: int, share: float, seed: int) -> Tensor:
    """Undirected, without loops, sorted."""
    draw = torch.rand(n, n, generator=torch.Generator().manual_seed(seed)).triu(1)
    upper = (draw > 0) & (draw < share)
    return (upper | upper.T).nonzero().T.contiguous()


@settings(max_examples=60)
@given(n=st.integers(1, 12), share=st.floats(0, 1), seed=st.integers(0, 10**6), shuffled=st.booleans())
def test_places_rows_and_twins(n: int, share: float, seed: int, shuffled: bool) -> None:
    edges = random_edges(n, share, seed)
    if shuffled:
        edges = edges[:, torch.randperm(edges.shape[1], generator=torch.Generator().manual_seed(seed))]
    structure = CSRStructure(edges, n)
    given_values = torch.arange(1, edges.shape[1] + 1).double()
    dense = torch.zeros(n, n, dtype=torch.float64)
    dense[edges[0], edges[1]] = given_values
    dense += 1000 * torch.eye(n)

    values = torch.full(structure.col.shape, 1000, dtype=torch.float64)
    values[structure.place] = structure.sorted(given_values)
    row = torch.arange(n).repeat_interleave(structure.rowptr.diff())
    rebuilt = torch.zeros(n, n, dtype=torch.float64)
    rebuilt[row, structure.col] = values
    assert torch.equal(rebuilt, dense)
    assert bool(((row * n + structure.col).diff() > 0).all())

    sorted_edges = torch.stack([row, structure.col])[:, structure.place]
    assert torch.equal(sorted_edges[:, structure.edge_twin], sorted_edges.flip(0))

    number, count = structure.undirected
    assert count == edges.shape[1] // 2
    pairs = {(int(edges.min(0).values[e]), int(edges.max(0).values[e])): int(number[e]) for e in range(len(number))}
    assert [pairs[pair] for pair in sorted(pairs)] == list(range(count))
    for e in range(len(number)):
        assert int(number[e]) == pairs[tuple(sorted(edges[:, e].tolist()))]  # type: ignore[index]


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([[0, 1, 1], [1, 0, 1]], "self-loop"),
        ([[0, 0, 1, 1], [1, 1, 0, 0]], "duplicate"),
        ([[0, 1, 2], [1, 0, 0]], "one direction"),
        ([[0], [2]], "one direction"),
    ],
)
def test_edges_that_are_no_undirected_graph_are_refused(edges: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        _ = CSRStructure(torch.tensor(edges), 3).edge_twin


@pytest.mark.slow
def test_a_pattern_is_remembered_while_its_edges_live_and_stay() -> None:
    edges = random_edges(8, 0.5, 0)
    first = csr_structure(edges, 8)
    assert csr_structure(edges, 8) is first
    assert csr_structure(edges, 9) is not first
    assert csr_structure(edges.clone(), 8) is not first

    changed = csr_structure(edges, 8)
    edges.copy_(edges.flip(0))
    assert csr_structure(edges, 8) is not changed

    gc.collect()
    known = len(_STRUCTURES._known)
    del edges
    gc.collect()
    assert len(_STRUCTURES._known) == known - 1


def as_csr(dense: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    counts = (dense != 0).sum(1)
    rowptr = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
    parts = rowptr.to(dtype), dense.nonzero()[:, 1].to(dtype), dense[dense != 0]
    return csr_matrix(*parts, (len(dense), dense.shape[1]))


@given(
    counts=st.lists(st.integers(0, 3), min_size=1, max_size=8),
    picks=st.lists(st.integers(0, 7), max_size=10),
)
def test_entries_of_rows(counts: list[int], picks: list[int]) -> None:
    rowptr = [0, *np.cumsum(counts).tolist()]
    rows = [pick % len(counts) for pick in picks]
    entries, picked = row_entries(torch.tensor(rowptr), torch.tensor(rows, dtype=torch.int64))
    assert entries.tolist() == [place for row in rows for place in range(rowptr[row], rowptr[row + 1])]
    assert picked.tolist() == [0, *np.cumsum([counts[row] for row in rows]).tolist()]


@given(
    values=arrays.arrays(np.float32, (6, 4), elements=st.sampled_from([0.0, 0.0, 1.0, -2.5])),
    rows=st.lists(st.integers(0, 5), max_size=9),
    dtype=st.sampled_from([torch.int64, torch.int32]),
)
def test_sparse_rows_equal_dense_ones(values: np.ndarray, rows: list[int], dtype: torch.dtype) -> None:
    dense, index = torch.from_numpy(values), torch.tensor(rows, dtype=torch.int64)
    assert torch.equal(take_rows(dense, index), dense[index])
    taken = take_rows(as_csr(dense, dtype), index)
    assert taken.layout == torch.sparse_csr
    assert taken.col_indices().dtype == taken.crow_indices().dtype == dtype
    assert taken.values().count_nonzero() == len(taken.values())
    assert torch.equal(taken.to_dense(), dense[index])


@pytest.mark.skipif(sys.platform != "linux", reason="how much of a mapped file is in memory, Linux alone tells")
def test_of_a_mapped_file_only_the_rows_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    written = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(20_000, 256))
    written[[3, 9_000, 19_999]] = np.arange(3)[:, None] + 1
    del written
    x = torch.from_numpy(np.load(path, mmap_mode="c"))
    rows = take_rows(x, torch.tensor([19_999, 3, 9_000]))
    assert rows.mean(1).tolist() == [3, 1, 2]
    mapping = Path("/proc/self/smaps").read_text().split(str(path))[1]
    resident = next(line for line in mapping.splitlines() if line.startswith("Rss"))
    assert 0 < int(resident.split()[1]) < 2_000  # kB, of 20 MB
