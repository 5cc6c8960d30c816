"""Rows picked out of a matrix, in compressed rows (CSR) or dense, at the cost of those rows."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.matrices import csr_matrix


def row_entries(rowptr: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """Where the entries of ``k`` rows stand, one row after the other, and the ``(k + 1,)`` row pointers they make."""
    start = rowptr[rows]
    counts = rowptr[rows + 1] - start
    picked = torch.cat([counts.new_zeros(1), counts.cumsum(0)])
    total = int(picked[-1])
    shift = (start - picked[:-1]).repeat_interleave(counts, output_size=total)
    return torch.arange(total, device=rowptr.device) + shift, picked


def take_rows(x: Tensor, rows: Tensor) -> Tensor:
    """``x[rows]`` of dense or CSR features ``(n, d)``, in the layout of ``x``; of a mapped file, no others are read."""
    if x.layout != torch.sparse_csr:
        return x.index_select(0, rows)  # several times as fast as x[rows]
    entries, rowptr = row_entries(x.crow_indices(), rows)
    col, values = x.col_indices().index_select(0, entries), x.values().index_select(0, entries)
    return csr_matrix(rowptr.to(col.dtype), col, values, (len(rows), x.shape[1]))
