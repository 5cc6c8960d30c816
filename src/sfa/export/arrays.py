"""Embeddings as arrays: NumPy's and PyTorch's own files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sfa.export.table import Table


def write_npz(path: Path, table: Table) -> None:
    """``embeddings``, ``node_ids``, and an array of text for each further column, empty where there is none."""
    arrays: dict[str, Any] = {"embeddings": table.z, f"{table.item}_ids": np.asarray(table.of_one_kind)}
    arrays |= {name: np.asarray(["" if one is None else one for one in of]) for name, of in table.columns.items()}
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def write_pt(path: Path, table: Table) -> None:
    """A dictionary of the same names, with a tensor and lists."""
    others = {name: list(values) for name, values in table.columns.items()}
    content = io.BytesIO()
    embeddings = {"embeddings": torch.from_numpy(table.z), f"{table.item}_ids": list(table.of_one_kind)}
    torch.save({**embeddings, **others}, content)
    path.write_bytes(content.getvalue())  # written by Python, so that a full disk is the OSError that it is
