"""Labels and embeddings as they are given, checked and brought to one form."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.tasks import Task, item_word, num_items, task_of

NOT_LABELED: dict[Task, str] = {"node": "graph", "graph": "graph set", "image": "image set"}
Labels: TypeAlias = NDArray[np.int64]
MOST_BYTES = 2**30  # of dense rows
MANY = 200_000  # items of which more are scored and clustered by mini-batches


def labels_of(data: Data) -> Labels:
    """Return the label of every node, or of every graph or image of a set, ``(n,)``, where ``-1`` means unknown."""
    if getattr(data, "y", None) is None:
        this = f"this {NOT_LABELED[task_of(data)]} has none"
        raise InputError(f"Evaluation needs labels, and {this}: give a table of ids and labels by --labels (labels=).")
    if has_targets(data):
        instead = "score them by --protocol ridge-60-20-20 (protocol=), or give classes as words"
        raise InputError(f"Classes are needed here, and these labels are real numbers: {instead}.")
    y, count = np.asarray(data.y, dtype=np.int64), num_items(data)
    if y.shape != (count,):
        raise InputError(f"{count} {item_word(data)} need as many labels in one row, not some of shape {y.shape}.")
    return y


def has_targets(data: Data) -> bool:
    """Return whether the labels are numbers of which some is not whole: targets of a regression, and no classes."""
    y = np.asarray([] if getattr(data, "y", None) is None else data.y)
    return y.dtype.kind == "f" and bool((y[np.isfinite(y)] % 1 != 0).any())


def targets_of(data: Data) -> NDArray[np.float64]:
    """Return a number for every item, ``(n,)``, NaN where it is unknown: its target, or its class if that is one."""
    if has_targets(data):
        return np.asarray(data.y, dtype=np.float64).reshape(num_items(data))
    y = labels_of(data)
    names = getattr(data, "class_names", None) or range(int(y.max(initial=0)) + 1)
    try:
        return np.where(y >= 0, np.array([float(name) for name in names])[y], np.nan)
    except ValueError:
        raise InputError(f"Regression needs numbers, and the labels are {', '.join(map(repr, names))}.") from None


def names_of(data: Data) -> dict[str, Any]:
    """Return the names of the classes and of the items, for errors."""
    return {"class_names": getattr(data, "class_names", None), "items": item_word(data)}


def labeled_items(
    y: Labels, needed: int = 1, why: str = "", *, class_names: Sequence[str] | None = None, items: str = "nodes"
) -> Labels:
    """Return the numbers of the items with a label (``y ≥ 0``); raise unless 2 or more classes have ``needed``."""
    known = np.flatnonzero(y >= 0)
    classes, members = np.unique(y[known], return_counts=True)
    if len(classes) < 2:
        raise InputError(f"Labels of at least 2 classes are needed to evaluate; there are {len(classes)}.")
    rarest = int(members.argmin())
    if members[rarest] < needed:
        name, items = class_name(int(classes[rarest]), class_names), items[:-1] if members[rarest] == 1 else items
        hint = "; amounts that are no classes are scored by --protocol ridge-60-20-20" if len(classes) > 20 else ""
        raise InputError(f"Class {name} has {members[rarest]} labeled {items}; {why}{hint}.")
    return known


def class_name(label: int, names: Sequence[str] | None) -> str:
    """Return the name of a class in quotes, or else its number."""
    return str(label) if names is None else repr(names[label])


def dense_rows(z: Any, count: int, items: str = "nodes") -> Tensor:
    """Return an embedding ``(count, d)``, dense or sparse, as a dense tensor on the CPU, float32 or float64.

    Sparse rows too wide for that are returned as ``(count, count)`` with the same inner products.
    """
    if is_sparse(z) and 4 * z.shape[0] * z.shape[1] > MOST_BYTES and z.shape[0] < z.shape[1]:
        rows = sparse_rows(z, count, items)
        values, vectors = torch.linalg.eigh(torch.from_numpy((rows @ rows.T).toarray()))
        return vectors * values.clamp_min(0).sqrt()  # type: ignore[no-any-return]
    if hasattr(z, "toarray"):  # SciPy
        z = z.toarray()
    if not isinstance(z, Tensor):
        z = torch.from_numpy(np.array(z, dtype=np.float64))
    z = z.detach().cpu().to_dense()
    dense: Tensor = z if z.dtype == torch.float32 else z.double()
    _check(tuple(dense.shape), bool(dense.isfinite().all()), count, items)
    return dense


def streamed_rows(z: Any, count: int, items: str = "nodes") -> Tensor:
    """Return an embedding ``(count, d)`` as it is, in memory or in a file, after a look at its rows in pieces."""
    if not isinstance(z, Tensor) or z.layout not in (torch.strided, torch.sparse_csr):
        return dense_rows(z, count, items)
    rows: Tensor = z.detach().cpu()
    values = (rows if rows.layout == torch.strided else rows.values()).flatten()
    finite = all(bool(piece.isfinite().all()) for piece in torch.split(values, 2**22))
    _check(tuple(rows.shape), finite, count, items)
    return rows


def sparse_rows(z: Any, count: int, items: str = "nodes") -> sparse.csr_array:
    """Return a sparse embedding ``(count, d)``, SciPy's or torch's, as compressed rows in float64."""
    if isinstance(z, Tensor):
        z = z.detach().cpu().to_sparse(layout=torch.sparse_coo).coalesce()
        z = sparse.coo_array((z.values().numpy(), tuple(z.indices().numpy())), shape=tuple(z.shape))
    rows = sparse.csr_array(z, dtype=np.float64, copy=True)
    rows.sum_duplicates()
    _check(rows.shape, bool(np.isfinite(rows.data).all()), count, items)
    if max(rows.nnz, rows.shape[1]) < 2**31:
        rows.indices, rows.indptr = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)  # as liblinear wants
    return rows


def is_sparse(z: Any) -> bool:
    """Return whether an embedding was given as a sparse matrix."""
    return bool(z.layout != torch.strided if isinstance(z, Tensor) else sparse.issparse(z))


def _check(shape: tuple[int, ...], finite: bool, count: int, items: str) -> None:
    if len(shape) != 2 or not finite:
        raise InputError(f"An embedding is a finite matrix (n, d), not one of shape {shape} with NaN or infinity.")
    if shape[0] != count:
        raise InputError(f"{shape[0]} embeddings cannot be scored against {count} {items}.")
