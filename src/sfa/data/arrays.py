"""Read, convert, check and hash arrays. Features are float32 [n, d]: dense, CSR if most are 0, or left on disk."""

import difflib
import hashlib
import io
import math
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.structural import OR_MAKE_THEM
from sfa.errors import InputError
from sfa.folders import require_regular_file
from sfa.matrices import csr_matrix, on_disk, row_chunks
from sfa.memory import require_memory
from sfa.tasks import task_of

# Features that take more than this as float32 stay on disk. Smaller ones are read: the process dies (SIGBUS) if a file
# that it has mapped is cut short under it, which is a risk to take only for what would not fit in memory.
MAPPED_BYTES = 1 << 30
# Features of which at most this share is not zero are kept as CSR, 12 bytes an entry. Measured for X W of Cora's size,
# 256 wide, on two cores: that is 13 times faster at 1.3 %, 4 times at 5 % and as fast as the dense product at 17 %.
SPARSE_SHARE = 0.05
NUMBERS = {torch.bool, torch.uint8, torch.uint16, torch.uint32, torch.uint64, torch.int8, torch.int16, torch.int32}
NUMBERS |= {torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64}


def to_numpy(value: Any) -> NDArray[Any]:
    """Return an array, a torch tensor or a SciPy sparse matrix as dense NumPy, copied only where that is needed."""
    if isinstance(value, Tensor):
        require_numbers(value)
        if value.layout == torch.strided:
            value = value.detach().cpu()
            return np.asarray((value.float() if value.dtype == torch.bfloat16 else value).numpy())
    if is_sparse(value):
        require_memory(8 * math.prod(value.shape), f"A matrix of shape {list(value.shape)}")
        return np.asarray(to_scipy(value, "matrix is").toarray())
    try:
        return np.asarray(value)
    except ValueError:  # rows of different lengths
        return np.asarray(value, dtype=object)


def require_numbers(value: Tensor) -> None:
    """Raise unless a tensor holds numbers as NumPy has them; of others, most functions of PyTorch say nothing clear."""
    if value.is_nested or value.is_quantized or value.device.type == "meta" or value.dtype not in NUMBERS:
        kind = "nested" if value.is_nested else "meta" if value.device.type == "meta" else str(value.dtype)
        raise InputError(f"A {kind} tensor cannot be read; give an ordinary one of integers, floats or booleans.")
    if value.layout == torch.strided:
        require_memory(8 * value.numel(), f"A tensor of shape {list(value.shape)}")  # its strides may be 0


def with_shape(value: Any) -> Any:
    """Return an array, tensor or sparse matrix as it is, and anything else (lists) as NumPy."""
    return value if value is None or hasattr(value, "shape") else to_numpy(value)


def is_sparse(x: Any) -> bool:
    """Tell whether this is a sparse matrix of SciPy, or a torch tensor of a sparse layout."""
    return x.layout != torch.strided if isinstance(x, Tensor) else hasattr(x, "tocsr")


def to_scipy(x: Any, what: str) -> Any:
    """Return a copy of a sparse matrix [n, d] of SciPy, or of torch in any layout, as one of SciPy with sound indices.

    With a wrong index, compiled code would read beyond the arrays. An error says that `what` ("features are") damaged.
    """
    try:
        matrix = _tensor_to_scipy(x) if isinstance(x, Tensor) else x
        require_memory(64 * sum(matrix.shape), f"A sparse matrix of shape {list(matrix.shape)}")
        matrix = matrix if matrix.format in ("csr", "csc", "bsr", "coo", "dia") else matrix.tocoo()
        check_indices(matrix)
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"The sparse {what} damaged: {str(error).rstrip('.')}.") from error
    return matrix.copy()


def _tensor_to_scipy(x: Any) -> Any:
    """Return the parts of a sparse tensor as a matrix of SciPy; what torch computes with them may trust wrong ones."""
    x = x.detach().cpu()
    compressed, shape = x.layout != torch.sparse_coo, tuple(x.shape)
    values = x.values() if compressed else x._values()
    data = (values.float() if values.dtype in (torch.float16, torch.bfloat16) else values).numpy()  # which SciPy lacks
    if not compressed:
        return sparse.coo_array((data, tuple(x._indices().numpy())), shape=shape)
    by_column = x.layout in (torch.sparse_csc, torch.sparse_bsc)
    indices, indptr = (x.row_indices(), x.ccol_indices()) if by_column else (x.col_indices(), x.crow_indices())
    parts = data, indices.numpy(), indptr.numpy()
    if x.layout == torch.sparse_bsc:  # SciPy has blocks by rows alone
        return sparse.bsr_array((data.swapaxes(1, 2), *parts[1:]), shape=shape[::-1]).T
    kind = {torch.sparse_csr: sparse.csr_array, torch.sparse_csc: sparse.csc_array, torch.sparse_bsr: sparse.bsr_array}
    return kind[x.layout](parts, shape=shape)


def _dense_of_rows(x: Tensor) -> NDArray[Any]:
    """Return the table of a sparse tensor of which each entry is a whole row."""
    (row,), values = x._indices().numpy(), to_numpy(x._values())
    require_memory(8 * x.numel(), f"A tensor of shape {list(x.shape)}")
    if row.size and not 0 <= row.min() <= row.max() < len(x):
        raise InputError(f"The sparse features are damaged: their rows must be from 0 to {len(x) - 1}.")
    table = np.zeros(tuple(x.shape), dtype=values.dtype)
    np.add.at(table, row, values)
    return table


def check_indices(matrix: Any) -> None:
    """Raise a ValueError unless each index of a sparse matrix lies in its bounds; nothing compiled is run before."""
    if len(matrix.shape) != 2:
        raise ValueError(f"its shape is {list(matrix.shape)}, and [rows, columns] is needed")
    data = np.asarray(matrix.data)
    if matrix.format == "dia":
        offsets = np.asarray(matrix.offsets)
        indices = [(offsets, 1 - matrix.shape[0], matrix.shape[1])]
        sound = data.ndim == 2 and offsets.shape == data.shape[:1] and len(np.unique(offsets)) == len(offsets)
    elif matrix.format == "coo":
        ends = np.asarray(matrix.row), np.asarray(matrix.col)
        indices = [(end, 0, size) for end, size in zip(ends, matrix.shape, strict=True)]
        sound = data.ndim == 1 and all(end.shape == data.shape for end in ends)
    else:
        block = matrix.blocksize if matrix.format == "bsr" else (1, 1)
        sides = [size // side for size, side in zip(matrix.shape, block, strict=True)]
        rows, columns = reversed(sides) if matrix.format == "csc" else sides
        indptr, column = np.asarray(matrix.indptr), np.asarray(matrix.indices)
        indices = [(column, 0, columns)]
        sound = indptr.shape == (rows + 1,) and indptr.dtype.kind in "iu" and indptr[0] == 0
        sound = sound and bool((indptr[1:] >= indptr[:-1]).all()) and indptr[-1] <= len(column) == len(data)
    if not sound:
        raise ValueError("its index arrays do not fit each other, or its row pointers do not ascend from 0")
    for part, low, high in indices:
        if part.ndim != 1 or part.dtype.kind not in "iu" or (part.size and not low <= part.min() <= part.max() < high):
            raise ValueError(f"its indices must be integers from {low} to {high - 1}")


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


def check_features(
    x: Any, *, mapped: bool = False, dense: bool = False, place: Callable[[int], str] = "row {}".format
) -> tuple[Tensor, bool]:
    """Return the features as a tensor [n, d], and whether they lie on disk.

    The form depends on the values and not on the form they come in, so that equal features are equal tensors:

    - At most `SPARSE_SHARE` of the entries are not zero: `torch.sparse_csr`, int64 indices, columns sorted within
      rows, no zero and no duplicate among the entries. What comes sparse is never made dense on the way.
    - A large map of a file (`numpy.memmap`) that is not small as CSR stays on disk. It is shared if it is float32 in C
      order, and otherwise converted into a temporary file.
    - Otherwise, or with `dense`, a dense tensor, C-contiguous, a copy of what was given.

    With `mapped`, `x` is known to lie on disk and stays there, large or not; `place` says what an error calls a row.
    """
    if isinstance(x, Tensor) and x.layout == torch.sparse_coo and x.dense_dim():
        x = _dense_of_rows(x)
    compressed = is_sparse(x)
    mapped = mapped or (is_map(x) and is_large(4 * x.size))
    array: Any = x if compressed else to_numpy(x)
    shape = list(array.shape)
    if len(shape) != 2:
        raise InputError(f"The features have shape {shape}, but a table [nodes, features] is needed.")
    if shape[1] == 0:
        raise InputError(f"The features have no columns (shape {shape}); give at least one, {OR_MAKE_THEM}.")
    array = to_scipy(x, "features are") if compressed else array
    if array.dtype.kind not in "fiub":
        raise InputError(f"The features hold {array.dtype} values, but must be numbers: encode texts first.")
    entries, wrong, first = 0, 0, 0
    if compressed:
        array = array.tocsr()
        array.sum_duplicates()  # which sorts the columns as well
        with np.errstate(over="ignore"):
            array = array.astype(np.float32, copy=False)
        array.eliminate_zeros()
        strange = np.flatnonzero(~np.isfinite(array.data))
        entries, wrong = array.nnz, len(strange)
        first = int(np.searchsorted(array.indptr, strange[0], side="right")) - 1 if wrong else 0
    else:
        for chunk, rows in zip(row_chunks(array.shape), _float32_rows(array), strict=True):
            entries += int(np.count_nonzero(rows))
            finite = np.isfinite(rows)
            if not finite.all():
                first = first if wrong else chunk.start + int((~finite).any(axis=1).argmax())
                wrong += int((~finite).sum())
    if wrong:
        raise InputError(
            f"The features hold {wrong} values that are NaN or infinite (as float32), the first in {place(first)}; "
            "fill or remove them first."
        )
    is_small = not (mapped and is_large(12 * entries))
    if entries <= SPARSE_SHARE * math.prod(array.shape) and is_small and not dense:
        chunks = () if compressed else [sparse.csr_array(rows) for rows in _float32_rows(array)]
        csr = array if compressed else sparse.vstack(chunks, format="csr")
        rowptr, col = (torch.from_numpy(part.astype(np.int64)) for part in (csr.indptr, csr.indices))
        return csr_matrix(rowptr, col, torch.from_numpy(csr.data), csr.shape), False
    if compressed:
        return torch.from_numpy(array.toarray()), False
    if dense or not mapped:
        return torch.from_numpy(np.array(array, dtype=np.float32, order="C")), False
    if array.dtype == np.float32 and array.flags.c_contiguous:
        return tensor_over(array), True
    return on_disk(_float32_rows(array), array.shape), True


def _float32_rows(array: NDArray[Any]) -> Iterator[NDArray[np.float32]]:
    for chunk in row_chunks(array.shape):
        with np.errstate(over="ignore"):  # a value beyond float32 becomes inf and is reported as such
            rows = array[chunk].astype(np.float32, copy=False)
        yield rows


def fingerprint(data: Data) -> str:
    """Return the SHA-256 of x, edge_index, edge_weight and y, with shapes and dtypes; not of what anything is called.

    Masks do not count either: a split belongs to how embeddings are scored, and nothing that is learned depends on it.
    Features count by their non-zero entries: a graph has the same fingerprint with dense and with sparse ones. Of a
    graph set counts `ptr` as well, where each graph begins. Of an image set count x, all of it, and y, and the one mask
    that does decide what is learned: `train_mask`. A stored graph is told by the checksums of its files.
    """
    if data.get("checksum") is not None:
        return str(data.checksum)
    of_graphs, task, digest = ("x", "edge_index", "edge_weight", "y"), task_of(data), hashlib.sha256()
    for key in {"node": of_graphs, "graph": (*of_graphs, "ptr"), "image": ("x", "y", "train_mask")}[task]:
        value = getattr(data, key, None)
        if value is None:
            digest.update(f"{key}:none;".encode())
            continue
        kind = np.dtype(str(value.dtype).removeprefix("torch.")).str
        digest.update(f"{key}:{kind}:{list(value.shape)};".encode())
        for content in _contents(key, value):
            digest.update(content.data)
    return digest.hexdigest()


def _contents(key: str, value: Any) -> Iterator[NDArray[Any]]:
    """Yield what is hashed: of features, first the places (row · d + column) and then the values that are not zero."""
    if key != "x":
        yield np.ascontiguousarray(to_numpy(value))
        return
    value = value.detach().cpu()
    if value.layout == torch.sparse_csr:
        rows = np.repeat(np.arange(value.shape[0]), np.diff(value.crow_indices().numpy()))
        yield rows * value.shape[1] + value.col_indices().numpy()
        yield value.values().numpy()
        return
    chunks = list(row_chunks((len(value), value[0].numel())))
    if value.dim() == 4:
        yield from (np.ascontiguousarray(value[chunk].numpy()) for chunk in chunks)
        return
    for chunk in chunks:
        yield np.flatnonzero(value[chunk].numpy()).astype(np.int64, copy=False) + chunk.start * value.shape[1]
    for chunk in chunks:
        rows = value[chunk].numpy()
        yield rows[rows != 0]


def read_arrays(path: Path, needed: Collection[str]) -> dict[str, Any]:
    """Return the arrays of a `.npz` file by their keys; one that is not needed is not read, and is None."""
    arrays: dict[str, Any] = {}
    num_bytes = 0
    with require_regular_file(path).open("rb") as file:
        if file.read(len(npy.MAGIC_PREFIX)) == npy.MAGIC_PREFIX:
            raise InputError(f"{path} is a single NumPy array, not an npz archive; save it with numpy.savez.")
        with zipfile.ZipFile(file) as archive:
            for member in archive.infolist():
                key = member.filename.removesuffix(".npy")
                if key in arrays:
                    raise InputError(f"{path} has the key {key!r} more than once.")
                arrays[key] = None
                if key not in needed:
                    continue
                with archive.open(member) as content:
                    shape, dtype = read_npy_header(io.BytesIO(content.read(1 << 17)))  # so much has the longest header
                if dtype.hasobject:
                    raise InputError(
                        f"{path} holds Python objects under the key {key!r}, which are never unpickled; "
                        "save it as an array of numbers or of text (for instance array.astype(str))."
                    )
                num_bytes += math.prod(shape) * max(dtype.itemsize, 1)
                require_memory(num_bytes, f"The arrays of {path}")
                if member.file_size < math.prod(shape) * dtype.itemsize:
                    raise ValueError(f"the array {key!r} is cut short")
                with archive.open(member) as content:
                    arrays[key] = npy.read_array(content, allow_pickle=False)
    return arrays


def read_npy_header(file: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type of the array that a `.npy` file holds."""
    read = npy.read_array_header_1_0 if npy.read_magic(file) == (1, 0) else npy.read_array_header_2_0
    shape, _, dtype = read(file)
    if min(shape, default=0) < 0:
        raise ValueError(f"its shape is {list(shape)}")
    return shape, dtype


def check_keys(arrays: dict[str, Any], path: Path, keys: set[str], same: Sequence[tuple[str, str]]) -> None:
    """Refuse a key that is a slip of the pen, and two for the same thing; other keys may be there."""
    for stranger in sorted(arrays.keys() - keys):
        meant = difflib.get_close_matches(stranger, keys - arrays.keys(), n=1, cutoff=0.85)
        if meant:
            raise InputError(f"{path} has an unknown key {stranger!r}: is {meant[0]!r} meant? Rename or remove it.")
    for one, other in same:
        if one in arrays and other in arrays:
            raise InputError(f"{path} has both {one!r} and {other!r}, which say the same: keep one of them.")
