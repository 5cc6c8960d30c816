"""Checks of what a spectral map is given, each an error of one sentence."""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from sfa.errors import InputError


def check_feature_map(h: Tensor) -> None:
    """``h`` is a floating-point tensor ``(..., n, d)``."""
    if h.dim() < 2 or not h.is_floating_point():
        raise InputError(
            f"A feature map is a floating-point tensor (..., n, d), not {h.dtype} of shape {tuple(h.shape)}."
        )


def check_whole(name: str, value: int, at_least: int) -> None:
    """``value`` is a whole number, not below ``at_least``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise InputError(f"{name} must be a whole number, {at_least} or more, not {value!r}.")


def check_number(name: str, value: float, *, above: float | None = None, at_most: float | None = None) -> None:
    """``value`` is finite and, as asked, 0 or more (default) or above a bound, and at most another."""
    low = "0 or more" if above is None else f"above {above:g}"
    allowed = low if at_most is None else f"{low} and at most {at_most:g}"
    # Comparisons alone, which NaN fails: where shapes vary, torch.compile passes a symbol for the number.
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    low_enough = number and value < math.inf and (at_most is None or value <= at_most)
    if not (low_enough and (value >= 0 if above is None else value > above)):
        raise InputError(f"{name} must be a number, {allowed}, not {value!r}.")
