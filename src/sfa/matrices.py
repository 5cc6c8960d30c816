"""Rows of matrices: compressed (CSR), in chunks, normalized, and on disk."""

import inspect
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import cache, wraps
from pathlib import Path
from typing import Any, ParamSpec

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfa.errors import InputError

CHUNK_BYTES = 1 << 24
P = ParamSpec("P")


def csr_matrix(rowptr: Tensor, col: Tensor, values: Tensor, shape: tuple[int, int]) -> Tensor:
    """Make a ``torch.sparse_csr`` tensor of these parts, without a copy."""
    _silence_beta_warning()
    return torch.sparse_csr_tensor(rowptr, col, values, size=shape, check_invariants=False)


def to_csr(matrix: Any) -> Tensor:
    """Convert a tensor of any layout to ``torch.sparse_csr``; entries of the same place are summed."""
    _silence_beta_warning()
    csr: Tensor = matrix.to_sparse_coo().coalesce().to_sparse_csr()
    return csr


@cache
def _silence_beta_warning() -> None:
    """Let PyTorch warn of its CSR tensors now, as it does once; filters around every tensor are not safe in threads."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        torch.zeros(1, 1).to_sparse_csr()


def row_chunks(shape: tuple[int, ...], num_bytes: int | None = None) -> Iterator[slice]:
    """Yield the rows of a table ``(n, d)`` in pieces that take so much as float32, some 16 MB, and at least one row."""
    step = max(1, (num_bytes or CHUNK_BYTES) // (4 * shape[1]))
    return (slice(start, start + step) for start in range(0, shape[0], step))


def check_tensor(x: object, what: str, *, dims: int = 0, integers: bool = False) -> None:
    """Raise unless ``x`` is a dense tensor of floating-point numbers, or of integers, that holds values."""
    if not isinstance(x, Tensor):
        given = f"{type(x).__name__}: make it one by torch.as_tensor"
    elif x.is_nested or x.layout != torch.strided:
        given = f"a {'nested' if x.is_nested else 'sparse'} one: call to_dense() or stack its rows first"
    elif x.device.type == "meta":
        given = "one on the device meta, which holds no values"
    elif x.dim() < dims or (x.dtype not in (torch.int64, torch.int32) if integers else not x.is_floating_point()):
        given = f"{x.dtype} {tuple(x.shape)}"
    else:
        return
    raise InputError(f"{what}, not {given}.")


def takes_tensors(loss: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Let a loss refuse what is no tensor of numbers, and rows that there are not, in one sentence."""
    names = [name for name, one in inspect.signature(loss).parameters.items() if one.annotation is Tensor]

    @wraps(loss)
    def checked(*args: P.args, **options: P.kwargs) -> Tensor:
        for name, x in [*zip(names, args, strict=False), *options.items()]:
            if name in ("owner", "edges", "non_edges", "shuffles"):
                check_tensor(x, f"The argument {name} is a tensor of integers", dims=1, integers=True)
            elif name in names:
                what = f"The argument {name} is a tensor of floating-point numbers"
                check_tensor(x, what, dims=0 if name in ("positive", "negative") else 1)
        try:
            return loss(*args, **options)
        except IndexError as error:
            raise InputError(f"A row number is out of range: {str(error).rstrip('.')}.") from error

    return checked


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


@torch.no_grad()
def singular_directions(z: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the singular values ``(d,)`` of a table ``(n, d)``, falling, and its right singular vectors ``(d, d)``.

    They are those of the Gram matrix in float64, summed in chunks of rows, so that values below some 1e-8 of the
    largest are rounding. Memory does not grow with the rows.
    """
    n, width = z.shape
    largest = z.abs().amax() if z.numel() else z.new_ones(())
    if not largest.isfinite():
        raise InputError("Embeddings with NaN or infinity have no leading directions.")
    scale = torch.where(largest > 0, largest, 1)  # so that no square overflows
    sigma, v = directions_of_rows((z[chunk] / scale for chunk in row_chunks((n, width))), width, z.device)
    return sigma * scale, v


def directions_of_rows(
    chunks: Iterable[Tensor], width: int, device: torch.device | str = "cpu"
) -> tuple[Tensor, Tensor]:
    """Compute the same of a table that is given in chunks of rows, none of whose squares overflows."""
    gram = torch.zeros(width, width, dtype=torch.float64, device=device)
    for rows in chunks:
        rows = rows.double()
        gram += rows.mT @ rows
    values, vectors = torch.linalg.eigh(gram)
    return values.clamp(min=0).sqrt().flip(0), vectors.flip(1)


def relative_powers(sigma: Tensor, exponent: float) -> Tensor:
    """Raise singular values, falling and relative to the first, to a power; those that are rounding become 0."""
    ratio = sigma / sigma[:1].where(sigma[:1] > 0, 1)
    return ratio.pow(exponent).where(ratio > 1e-6, 0)


def on_disk(chunks: Iterable[NDArray[Any]], shape: tuple[int, ...]) -> Tensor:
    """Make a float32 tensor of this shape over an unnamed temporary file in TMPDIR, written chunk by chunk."""
    result, start = empty_on_disk(shape), 0
    for rows in chunks:
        result.numpy()[start : start + len(rows)] = rows
        start += len(rows)
    return result


def empty_on_disk(shape: tuple[int, ...], dtype: torch.dtype = torch.float32, path: Path | None = None) -> Tensor:
    """Make a tensor over a new ``.npy`` file, whose space is taken now: by default an unnamed one in TMPDIR."""
    kind = np.dtype(str(dtype).removeprefix("torch."))
    try:
        with tempfile.TemporaryFile(prefix="sfa-") if path is None else path.open("w+b") as file:
            header = {"descr": kind.str, "fortran_order": False, "shape": shape}
            np.lib.format.write_array_header_1_0(file, header)
            file.flush()
            length = file.tell() + kind.itemsize * math.prod(shape)
            # A page that a full disk has no room for would end the process when it is written.
            getattr(os, "posix_fallocate", lambda handle, _, size: os.truncate(handle, size))(file.fileno(), 0, length)
            return torch.from_numpy(np.memmap(file, kind, "r+", offset=file.tell(), shape=shape))
    except OSError as error:
        place = f"temporary space in {tempfile.gettempdir()}" if path is None else f"space in {path.parent}"
        needed = f"{kind.itemsize * math.prod(shape) / 1e9:.1f} GB of {place}, which cannot be had"
        advice = "set TMPDIR to a folder on a disk with more room" if path is None else "make room there"
        raise InputError(f"A table {shape} needs {needed} ({error.strerror or error}); {advice}.") from error
