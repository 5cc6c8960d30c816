"""Embeddings to a file, with the ids of their nodes or graphs."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from sfa.atomic import atomic_path, ensure_writable
from sfa.errors import InputError, SfaError
from sfa.levels import Level

Embeddings = NDArray[np.float32]
Ids = Sequence[str] | Sequence[int]


class ExportError(SfaError, OSError):
    """Embeddings could not be written, for instance because the disk is full. Nothing is half-written."""


def check_export(path: Path) -> None:
    """Raise unless embeddings can be written to ``path``."""
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"Cannot tell the format of {path}: its name must end in {', '.join(WRITERS)}.")
    ensure_writable(path)


def write_embeddings(path: str | Path, z: Embeddings, ids: Ids, *, item: Level = "node") -> None:
    """Write ``(n, d)`` embeddings in the format of the path's suffix; an existing file is replaced in one step.

    The ids are in a column ``node_id`` of a table and in ``node_ids`` of other files; those of graphs, which ``item``
    says they are, in ``graph_id`` and ``graph_ids``.
    """
    path = Path(path)
    check_export(path)
    if len(ids) != len(z):
        raise InputError(f"{len(z)} embeddings need as many {item} ids, not {len(ids)}.")
    if len({type(one) for one in ids}) > 1:  # a column is of one kind
        ids = [str(one) for one in ids]
    try:
        with atomic_path(path) as temporary:
            WRITERS[path.suffix.lower()](temporary, z, ids, item)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ExportError(f"Cannot write {path}: {reason}.") from error


def _write_npz(path: Path, z: Embeddings, ids: Ids, item: Level) -> None:
    arrays: dict[str, Any] = {"embeddings": z, f"{item}_ids": np.asarray(ids)}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def _write_pt(path: Path, z: Embeddings, ids: Ids, item: Level) -> None:
    content = io.BytesIO()
    torch.save({"embeddings": torch.from_numpy(z), f"{item}_ids": list(ids)}, content)
    path.write_bytes(content.getvalue())  # written by Python, so that a full disk is the OSError that it is


def _write_parquet(path: Path, z: Embeddings, ids: Ids, item: Level) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = {f"{item}_id": list(ids), **{f"z{i}": z[:, i] for i in range(z.shape[1])}}
    with path.open("wb") as file:  # written by Python here too
        pyarrow.parquet.write_table(pyarrow.table(columns), file)


def _write_csv(path: Path, z: Embeddings, ids: Ids, item: Level) -> None:
    import csv

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([f"{item}_id", *(f"z{i}" for i in range(z.shape[1]))])
        writer.writerows([one, *row] for one, row in zip(ids, z.tolist(), strict=True))


WRITERS: dict[str, Callable[[Path, Embeddings, Ids, Level], None]] = {
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".pt": _write_pt,
}
