"""Rows of dense, sparse and mapped matrices."""

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sfa.graph.rows import row_entries, take_rows
from sfa.matrices import csr_matrix


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
