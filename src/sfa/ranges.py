"""Types of arguments that recipes check before a run starts, and checks of arguments given in code."""

import math
from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Interval

from sfa.errors import InputError, quoted

LARGEST, FEW, WIDEST = 10**9, 1000, 2**16

Count = Annotated[int, Interval(ge=1, le=LARGEST)]
Natural = Annotated[int, Interval(ge=0, le=LARGEST)]
FewCount = Annotated[int, Interval(ge=1, le=FEW)]  # of layers, or of what is done again and again in every step
FewNatural = Annotated[int, Interval(ge=0, le=FEW)]
Width = Annotated[int, Interval(ge=1, le=WIDEST)]  # of features
Seed = Annotated[int, Interval(ge=0, le=2**63 - 1)]
NonNegative = Annotated[float, Ge(0)]
Positive = Annotated[float, Gt(0)]
Share = Annotated[float, Interval(ge=0, le=1)]


def check_whole(name: str, value: int, at_least: int, at_most: int = LARGEST) -> None:
    """Raise unless ``value`` is a whole number, ``at_least`` or more and ``at_most`` so large."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < at_least:
        raise InputError(f"{name} must be a whole number, {at_least} or more, not {quoted(value)}.")
    if value > at_most:
        raise InputError(f"{name} must be at most {at_most}, not {quoted(value)}.")


def check_number(name: str, value: float, *, above: float | None = None, at_most: float | None = None) -> None:
    """Raise unless ``value`` is finite, 0 or more or, if given, ``above`` a bound, and ``at_most`` another."""
    low = "0 or more" if above is None else f"above {above:g}"
    allowed = low if at_most is None else f"{low} and at most {at_most:g}"
    # Comparisons alone, which NaN fails: where shapes vary, torch.compile passes a symbol for the number.
    number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    low_enough = number and value < math.inf and (at_most is None or value <= at_most)
    if not (low_enough and (value >= 0 if above is None else value > above)):
        raise InputError(f"{name} must be a number, {allowed}, not {quoted(value)}.")
