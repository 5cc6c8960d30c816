"""Arrays as text, in the form that a browser turns into typed arrays without reading a number."""

from __future__ import annotations

import base64
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

Dtype = Literal["float32", "int32", "uint8"]


def encode_array(values: ArrayLike, dtype: Dtype) -> dict[str, Any]:
    """Values of any shape as ``{"dtype", "shape", "base64"}``: the bytes in little-endian order, row by row."""
    array = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    shape = list(np.shape(values))  # contiguous arrays have at least one axis
    return {"dtype": dtype, "shape": shape, "base64": base64.b64encode(array.tobytes()).decode("ascii")}
