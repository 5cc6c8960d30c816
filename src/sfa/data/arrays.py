"""Whatever a caller calls an array -> NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray


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
