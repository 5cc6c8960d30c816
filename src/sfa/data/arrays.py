"""Read, convert, check and hash arrays. Features are float32 [n, d]: dense, CSR if most are 0, or left on disk."""

import difflib
import hashlib
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.structural import OR_MAKE_THEM
from sfa.errors import InputError
from sfa.matrices import csr_matrix, on_disk, row_chunks
from sfa.tasks import task_of

# Features that take more than this as float32 stay on disk. Smaller ones are read: the process dies (SIGBUS) if a file
# that it has mapped is cut short under it, which is a risk to take only for what would not fit in memory.
MAPPED_BYTES = 1 << 30
# Features of which at most this share is not zero are kept as CSR, 12 bytes an entry. Measured for X W of Cora's size,
# 256 wide, on two cores: that is 13 times faster at 1.3 %, 4 times at 5 % and as fast as the dense product at 17 %.
SPARSE_SHARE = 0.05


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
        matrix = _tensor_to_scipy(x) if isinstance(x, Tensor) else x.copy()
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise InputError(f"The sparse {what} damaged: {str(error).rstrip('.')}.") from error
    return matrix


def _tensor_to_scipy(x: Any) -> Any:
    x = x.detach().cpu()
    x = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x  # which SciPy does not have
    if x.layout == torch.sparse_csr:
        parts = x.values().numpy(), x.col_indices().numpy(), x.crow_indices().numpy()
        return sparse.csr_array(parts, shape=tuple(x.shape), copy=True)
    x = x.to_sparse_coo().coalesce()
    return sparse.coo_array((x.values().numpy(), x.indices().numpy()), shape=tuple(x.shape), copy=True)


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
        x = x.to_dense()  # its entries are whole rows
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
        raise InputError(
            f"The features hold {array.dtype} values, but they must be numbers; encode text and categories first."
        )
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
    that does decide what is learned: `train_mask`.
    """
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


def read_arrays(path: Path) -> dict[str, Any]:
    """Return all arrays of a `.npz` file by their keys."""
    with path.open("rb") as opened:
        file = np.load(opened, allow_pickle=False)
        if isinstance(file, np.ndarray):
            raise InputError(f"{path} is a single NumPy array, not an npz archive; save it with numpy.savez.")
        arrays = {}
        for key in file.files:
            try:
                arrays[key] = file[key]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                raise InputError(
                    f"{path} holds Python objects under the key {key!r}, which are never unpickled; "
                    "save it as an array of numbers or of text (for instance array.astype(str))."
                ) from None
        return arrays


def check_keys(arrays: dict[str, Any], path: Path, keys: set[str], same: Sequence[tuple[str, str]]) -> None:
    """Refuse a key that is a slip of the pen, and two for the same thing; other keys may be there."""
    for stranger in arrays.keys() - keys:
        meant = difflib.get_close_matches(stranger, keys - arrays.keys(), n=1, cutoff=0.85)
        if meant:
            raise InputError(f"{path} has an unknown key {stranger!r}: is {meant[0]!r} meant? Rename or remove it.")
    for one, other in same:
        if one in arrays and other in arrays:
            raise InputError(f"{path} has both {one!r} and {other!r}, which say the same: keep one of them.")
