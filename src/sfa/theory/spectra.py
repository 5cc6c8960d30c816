"""Singular values as the theory takes them: checked, turned into the weights of the power iteration, and summed."""

from reprlib import repr as shorten
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from sfa.errors import InputError

Array = NDArray[np.float64]


class Moments(NamedTuple):
    """Moments of every removed fraction ``z_i``; each to a relative error near rounding, however small it is."""

    mean: Array
    complement: Array  # 1 - mean, without the cancellation
    variance: Array


def as_array(given: ArrayLike) -> Array:
    """Convert to float64; a tensor may be of any device and precision and need a gradient."""
    return np.asarray(given.detach().to("cpu", torch.float64) if isinstance(given, torch.Tensor) else given, np.float64)


def checked_spectrum(sigma: ArrayLike) -> Array:
    """Return singular values ``(..., d)`` in float64; raise unless all are finite and none is negative."""
    try:
        values = as_array(sigma)
    except (TypeError, ValueError) as error:
        raise InputError(f"A spectrum is an array of singular values (..., d), not {shorten(sigma)}.") from error
    if values.ndim == 0 or values.shape[-1] == 0:
        raise InputError(f"A spectrum is an array (..., d) with at least one value, not one of shape {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError("Singular values are finite and not negative; this spectrum holds others.")
    return values


def log_weights(sigma: Array, iterations: int) -> Array:
    r"""Return the logarithms of :math:`\beta_l = \sigma_l^{4k}`, scaled to a largest of 1; ``-inf`` without weight.

    With ``k = 0`` every value weighs the same, even 0. Logarithms keep ratios of sixty decades to the power of 256.
    """
    if iterations == 0:
        return np.zeros_like(sigma)
    largest = sigma.max()
    if largest == 0:
        return np.full_like(sigma, -np.inf)
    with np.errstate(divide="ignore"):
        return 4 * int(iterations) * np.log(sigma / largest)  # type: ignore[no-any-return]


def sums_of_others(values: Array, add: np.ufunc = np.add) -> Array:
    """Return for each value the sum of all others, without subtracting; of logarithms by ``np.logaddexp``."""
    before = np.concatenate([[add.identity], add.accumulate(values[:-1])])
    after = np.concatenate([add.accumulate(values[:0:-1])[::-1], [add.identity]])
    return add(before, after)  # type: ignore[no-any-return]


def balanced(mean: Array, complement: Array, variance: Array) -> Moments:
    """Make the larger of a fraction and its complement follow from the smaller: rounding takes neither above 1."""
    larger_mean = np.where(complement < 0.5, 1 - complement, mean)
    return Moments(larger_mean, np.where(mean < 0.5, 1 - mean, complement), variance)
