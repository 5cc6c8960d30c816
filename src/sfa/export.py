"""Embeddings to a file, with the ids of their nodes."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from sfa.atomic import atomic_path, ensure_writable
from sfa.errors import InputError

Embeddings = NDArray[np.float32]
NodeIds = Sequence[str] | Sequence[int]


def check_export(path: Path) -> None:
    """Raise unless embeddings can be written to ``path``."""
    if path.suffix.lower() not in WRITERS:
        raise InputError(f"Cannot tell the format of {path}: its name must end in {', '.join(WRITERS)}.")
    ensure_writable(path)


def write_embeddings(path: str | Path, z: Embeddings, node_ids: NodeIds) -> None:
    """Write ``(n, d)`` embeddings in the format of the path's suffix; an existing file is replaced in one step."""
    path = Path(path)
    check_export(path)
    if len(node_ids) != len(z):
        raise InputError(f"{len(z)} embeddings need as many node ids, not {len(node_ids)}.")
    if len({type(one) for one in node_ids}) > 1:  # a column is of one kind
        node_ids = [str(one) for one in node_ids]
    with atomic_path(path) as temporary:
        WRITERS[path.suffix.lower()](temporary, z, node_ids)


def _write_npz(path: Path, z: Embeddings, node_ids: NodeIds) -> None:
    with path.open("wb") as file:
        np.savez_compressed(file, embeddings=z, node_ids=np.asarray(node_ids))


def _write_pt(path: Path, z: Embeddings, node_ids: NodeIds) -> None:
    content = io.BytesIO()
    torch.save({"embeddings": torch.from_numpy(z), "node_ids": list(node_ids)}, content)
    path.write_bytes(content.getvalue())  # written by Python, so that a full disk is the OSError that it is


def _write_parquet(path: Path, z: Embeddings, node_ids: NodeIds) -> None:
    import pyarrow
    import pyarrow.parquet

    columns = {"node_id": list(node_ids), **{f"z{i}": z[:, i] for i in range(z.shape[1])}}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def _write_csv(path: Path, z: Embeddings, node_ids: NodeIds) -> None:
    import csv

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["node_id", *(f"z{i}" for i in range(z.shape[1]))])
        writer.writerows([node_id, *row] for node_id, row in zip(node_ids, z.tolist(), strict=True))


WRITERS: dict[str, Callable[[Path, Embeddings, NodeIds], None]] = {
    ".npz": _write_npz,
    ".parquet": _write_parquet,
    ".csv": _write_csv,
    ".pt": _write_pt,
}
