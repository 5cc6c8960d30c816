"""Whatever a caller calls an array -> NumPy."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


def to_numpy(value: Any) -> NDArray[Any]:
    """A dense NumPy array of an array, a torch tensor or a SciPy sparse matrix; not a copy where none is needed."""
    if isinstance(value, torch.Tensor):
        value = value.detach().cpu().to_dense()
        return np.asarray((value.float() if value.dtype == torch.bfloat16 else value).numpy())
    if hasattr(value, "toarray"):
        return np.asarray(value.toarray())
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        return np.asarray(value, dtype=object)


# Features that take more than this as float32 stay on disk. Smaller ones are read: the process dies (SIGBUS) if a file
# that it has mapped is cut short under it, which is a risk to take only for what would not fit in memory.
MAPPED_BYTES = 1 << 30


def open_npy(path: Path) -> NDArray[Any]:
    """The array in a `.npy` file, a map of the file if it is large. Objects are refused: nothing is ever unpickled."""
    mapped: NDArray[Any] = np.lib.format.open_memmap(path, mode="r")
    return mapped if is_large(4 * mapped.size) else np.load(path, allow_pickle=False)


def is_map(array: Any) -> bool:
    """Whether an array lies in a file; a copy of a map has its type too, but not its file."""
    return isinstance(array, np.memmap) and getattr(array, "_mmap", None) is not None


def is_large(num_bytes: int) -> bool:
    """Whether so many bytes of features are not to be held in memory if they are on disk."""
    return num_bytes > MAPPED_BYTES


def tensor_over(array: NDArray[Any]) -> Tensor:
    """A tensor that shares the array's memory; if that is a map, it must never be written to.

    A private map that could be written to (copy-on-write) is no way out: Linux grants none that exceeds the memory of
    the machine, and features for which this matters do.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The given NumPy array is not writable", UserWarning)
        return torch.from_numpy(array)
