"""Rows of matrices: compressed (CSR), in chunks, normalized, and on disk."""

import math
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfa.errors import InputError

CHUNK_BYTES = 1 << 24


def csr_matrix(rowptr: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Make a ``torch.sparse_csr`` tensor of these parts, without a copy."""
    _silence_beta_warning()
    return torch.sparse_csr_tensor(rowptr, col, values, size=shape, check_invariants=False)


@cache
def _silence_beta_warning() -> None:
    """Let PyTorch warn of its CSR tensors now, as it does once; filters around every tensor are not safe in threads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        torch.zeros(1, 1).to_sparse_csr()


def row_chunks(shape: tuple[int, ...]) -> Iterator[slice]:
    """Yield the rows of a table ``(n, d)`` in pieces that take some 16 MB as float32, and at least one row."""
    step = max(1, CHUNK_BYTES // (4 * shape[1]))
    return (slice(start, start + step) for start in range(0, shape[0], step))


def check_one_shape(what: str, *tables: Tensor, rows: int = 0, at_least: int = 1, dims: str = "n, d") -> None:
    """Raise unless tables ``(n, d)`` have one shape and, if asked, their batch so many ``rows`` at least."""
    shapes = [tuple(one.shape) for one in tables]
    if len(set(shapes)) > 1 or tables[0].dim() != 2 or rows < at_least:
        least = f" with {dims[0]} ≥ {at_least}" if at_least else ""
        listed = ", ".join(map(str, shapes))
        raise InputError(f"{what} of one shape ({dims}){least} are needed, not {listed}.")


def unit_rows(rows: Tensor) -> Tensor:
    """Scale rows to length one; those of length zero stay."""
    length = torch.linalg.vector_norm(rows, dim=1, keepdim=True, dtype=torch.float64)
    unit: Tensor = rows / length.where(length > 0, 1).to(rows.dtype)
    return unit


def on_disk(chunks: Iterable[NDArray[Any]], shape: tuple[int, ...]) -> Tensor:
    """Make a float32 tensor of this shape over an unnamed temporary file in TMPDIR, written chunk by chunk."""
    try:
        with tempfile.TemporaryFile(prefix="sfa-") as file:
            for rows in chunks:
                file.write(np.ascontiguousarray(rows, dtype=np.float32).data)
            file.flush()
            return torch.from_numpy(np.memmap(file, np.float32, "r+", shape=shape))
    except OSError as error:
        raise InputError(
            f"The features need {4 * math.prod(shape) / 1e9:.1f} GB of temporary space in {tempfile.tempdir}, which "
            f"cannot be had ({error.strerror or error}); set TMPDIR to a folder on a disk with more room."
        ) from error
