"""Singular values as the theory takes them: checked, and turned into the weights of the power iteration."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from sfa.errors import InputError

Array = NDArray[np.float64]


def as_array(given: ArrayLike) -> Array:
    """In float64; a tensor may be of any device and precision and need a gradient."""
    return np.asarray(given.detach().to("cpu", torch.float64) if isinstance(given, torch.Tensor) else given, np.float64)


def checked_spectrum(sigma: ArrayLike) -> Array:
    """Singular values ``(..., d)`` in float64, in any order; raises unless all are finite and none is negative."""
    try:
        values = as_array(sigma)
    except (TypeError, ValueError) as error:
        raise InputError(f"A spectrum is an array of singular values (..., d), not {_short(sigma)}.") from error
    if values.ndim == 0 or values.shape[-1] == 0:
        raise InputError(f"A spectrum is an array (..., d) with at least one value, not one of shape {values.shape}.")
    if not np.isfinite(values).all() or (values < 0).any():
        raise InputError("Singular values are finite and not negative; this spectrum holds others.")
    return values


def checked_iterations(iterations: int) -> int:
    """The number of power iterations ``k``; raises unless it is a whole number, 0 or more."""
    if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer) or iterations < 0:
        raise InputError(f"iterations must be a whole number, 0 or more, not {iterations!r}.")
    return int(iterations)


def log_weights(sigma: Array, iterations: int) -> Array:
    r"""Logarithms of :math:`\beta_l = \sigma_l^{4k}`, scaled to a largest of 1; ``-inf`` for a value without weight.

    With ``k = 0`` every value weighs the same, even 0. Only ratios matter, and logarithms keep the ratios of spectra
    that span sixty decades, raised to the power of 256.
    """
    if iterations == 0:
        return np.zeros_like(sigma)
    largest = sigma.max()
    if largest == 0:
        return np.full_like(sigma, -np.inf)
    with np.errstate(divide="ignore"):
        logarithms: Array = 4 * iterations * np.log(sigma / largest)
    return logarithms


def sums_of_others(values: Array) -> Array:
    """For each value the sum of all others, without subtracting it from the total."""
    before = np.concatenate([[0.0], np.cumsum(values[:-1])])
    after = np.concatenate([np.cumsum(values[:0:-1])[::-1], [0.0]])
    sums: Array = before + after
    return sums


def log_sums_of_others(logarithms: Array) -> Array:
    """For each entry the logarithm of the sum of all others."""
    nothing = [-np.inf]
    before = np.concatenate([nothing, np.logaddexp.accumulate(logarithms[:-1])])
    after = np.concatenate([np.logaddexp.accumulate(logarithms[:0:-1])[::-1], nothing])
    sums: Array = np.logaddexp(before, after)
    return sums


def _short(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}..."


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
