"""An embedding as given -> dense rows to compute with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfa.errors import InputError


def dense_rows(z: Any, nodes: int) -> Tensor:
    """An embedding ``(nodes, d)``, dense or sparse, as a dense tensor on the CPU: float32 if it is, else float64."""
    if hasattr(z, "toarray"):  # SciPy
        z = z.toarray()
    rows: Tensor = (
        z.detach().cpu().to_dense() if isinstance(z, Tensor) else torch.from_numpy(np.array(z, dtype=np.float64))
    )
    rows = rows if rows.dtype == torch.float32 else rows.double()
    if rows.dim() != 2 or not bool(rows.isfinite().all()):
        raise InputError(
            f"An embedding is a finite matrix (n, d), not one of shape {tuple(rows.shape)} with NaN or infinity."
        )
    if len(rows) != nodes:
        raise InputError(f"{len(rows)} embeddings cannot be scored against {nodes} nodes.")
    return rows


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length one; those of length zero stay."""
    length = torch.linalg.vector_norm(rows, dim=1, keepdim=True, dtype=torch.float64)
    unit: Tensor = rows / length.where(length > 0, 1).to(rows.dtype)
    return unit
