"""Convert arrays of any kind to NumPy, and leave large ones on disk as maps of their files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# Features that take more than this as float32 stay on disk. Smaller ones are read: the process dies (SIGBUS) if a file
# that it has mapped is cut short under it, which is a risk to take only for what would not fit in memory.
MAPPED_BYTES = 1 << 30


def to_numpy(value: Any) -> NDArray[Any]:
    """Return an array, a torch tensor or a SciPy sparse matrix as dense NumPy, copied only where that is needed."""
    if isinstance(value, Tensor):
        value = value.detach().cpu().to_dense()
        return np.asarray((value.float() if value.dtype == torch.bfloat16 else value).numpy())
    if hasattr(value, "toarray"):
        return np.asarray(value.toarray())
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        return np.asarray(value, dtype=object)


def to_scipy(x: Any) -> Any:
    """Return a copy of a torch tensor [n, d] of any sparse layout as a SciPy matrix."""
    from scipy import sparse

    x = x.detach().cpu()
    if x.dtype in (torch.float16, torch.bfloat16):  # which SciPy does not have
        x = x.float()
    if x.layout == torch.sparse_csr:
        parts = x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()
        return sparse.csr_array(parts, shape=tuple(x.shape), copy=True)
    x = x.to_sparse_coo().coalesce()
    return sparse.coo_array((x.values().numpy(), x.indices().numpy()), shape=tuple(x.shape), copy=True)


def open_npy(path: Path) -> NDArray[Any]:
    """Read a `.npy` file, or map it if it is large. Objects are refused: nothing is ever unpickled."""
    mapped: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    return mapped if is_large(4 * mapped.size) else np.load(path, allow_pickle=False)


def is_map(array: Any) -> bool:
    """Tell whether an array lies in a file; a copy of a map has its type too, but not its file."""
    return isinstance(array, np.memmap) and getattr(array, "_mmap", None) is not None


def is_large(num_bytes: int) -> bool:
    return num_bytes > MAPPED_BYTES


def tensor_over(array: NDArray[Any]) -> Tensor:
    """Return a tensor that shares the array's memory; if that is a map, it must never be written to.

    A private map that could be written to (copy-on-write) is no way out: Linux grants none that exceeds the memory.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return torch.from_numpy(array)
