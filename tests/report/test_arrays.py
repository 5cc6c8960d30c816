"""Arrays as text come back as they were."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from sfa.report.page import encode_array


def decoded(given: dict[str, Any]) -> np.ndarray:
    """As the page reads them, with other means."""
    kind = {"float32": "<f4", "int32": "<i4", "uint8": "|u1"}[given["dtype"]]
    return np.frombuffer(base64.b64decode(given["base64"]), kind).reshape(given["shape"])


@given(st.data(), st.sampled_from(["float32", "int32", "uint8"]), st.sampled_from("<>"))
def test_round_trip(data: st.DataObject, dtype: Any, order: str) -> None:
    kind = np.dtype(dtype).newbyteorder(order)
    array = data.draw(arrays.arrays(kind, arrays.array_shapes(min_dims=0, max_dims=3, min_side=0)))
    array = array.T if data.draw(st.booleans()) else array
    found = encode_array(array, dtype)
    assert set(found) == {"dtype", "shape", "base64"}
    assert (found["dtype"], found["shape"]) == (dtype, list(array.shape))
    np.testing.assert_array_equal(decoded(found), array)


def test_the_bytes_are_little_endian() -> None:
    assert base64.b64decode(encode_array([1, 258], "int32")["base64"]) == bytes([1, 0, 0, 0, 2, 1, 0, 0])
