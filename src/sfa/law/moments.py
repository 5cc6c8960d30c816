"""What is asked of a random share: its mean, what is left of 1, its variance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfa.law.spectra import Array


class Moments(NamedTuple):
    """Of every ``z_i``; each to a relative error near rounding, however small it is."""

    mean: Array
    complement: Array
    """``1 - mean``, without the cancellation."""
    variance: Array


def balanced(mean: Array, complement: Array, variance: Array) -> Moments:
    """The larger of a share and its complement follows from the smaller, so that rounding takes neither above 1."""
    return Moments(
        np.where(complement < 0.5, 1 - complement, mean), np.where(mean < 0.5, 1 - mean, complement), variance
    )
