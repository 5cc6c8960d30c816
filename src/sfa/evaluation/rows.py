"""An embedding as given -> rows to compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from sfa.errors import InputError


def dense_rows(z: Any, count: int, items: str = "nodes") -> Tensor:
    """An embedding ``(count, d)``, dense or sparse, as a dense tensor on the CPU: float32 if it is, else float64."""
    if hasattr(z, "toarray"):  # SciPy
        z = z.toarray()
    rows: Tensor = (
        z.detach().cpu().to_dense() if isinstance(z, Tensor) else torch.from_numpy(np.array(z, dtype=np.float64))
    )
    rows = rows if rows.dtype == torch.float32 else rows.double()
    _check(tuple(rows.shape), bool(rows.isfinite().all()), count, items)
    return rows


def sparse_rows(z: Any, count: int, items: str = "nodes") -> sparse.csr_array:
    """A sparse embedding ``(count, d)``, SciPy's or torch's, as compressed rows in float64: counts of many kinds."""
    if isinstance(z, Tensor):
        z = z.detach().cpu().to_sparse(layout=torch.sparse_coo).coalesce()
        z = sparse.coo_array((z.values().numpy(), tuple(z.indices().numpy())), shape=tuple(z.shape))
    rows = sparse.csr_array(z, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    _check(rows.shape, bool(np.isfinite(rows.data).all()), count, items)
    rows.indices, rows.indptr = (_short(numbers) for numbers in (rows.indices, rows.indptr))
    return rows


def is_sparse(z: Any) -> bool:
    """Whether an embedding was given as a sparse matrix."""
    return z.layout != torch.strided if isinstance(z, Tensor) else sparse.issparse(z)


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length one; those of length zero stay."""
    length = torch.linalg.vector_norm(rows, dim=1, keepdim=True, dtype=torch.float64)
    unit: Tensor = rows / length.where(length > 0, 1).to(rows.dtype)
    return unit


def _check(shape: tuple[int, ...], finite: bool, count: int, items: str) -> None:
    if len(shape) != 2 or not finite:
        raise InputError(f"An embedding is a finite matrix (n, d), not one of shape {shape} with NaN or infinity.")
    if shape[0] != count:
        raise InputError(f"{shape[0]} embeddings cannot be scored against {count} {items}.")


def _short(numbers: NDArray[Any]) -> NDArray[Any]:
    """As int32, which is what liblinear takes, where they fit."""
    return numbers.astype(np.int32) if numbers.max(initial=0) < 2**31 else numbers
