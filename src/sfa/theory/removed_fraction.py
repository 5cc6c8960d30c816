"""The fraction of each singular value that the incomplete power iteration removes (Propositions 1 to 3)."""

from types import ModuleType
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from sfa.errors import InputError, unknown_name
from sfa.ranges import check_number, check_whole
from sfa.theory import exact, surrogate
from sfa.theory.spectra import Array, Moments, checked_spectrum, log_weights

Method = Literal["exact", "surrogate"]


def expectation(sigma: ArrayLike, iterations: int = 1, method: Method = "exact") -> Array:
    r"""Compute the expected fraction :math:`\lambda_i` of each singular value that is removed (Propositions 1 and 2).

    .. math::
        \lambda_i(k) = \mathbb{E}_{y \sim \mathcal{N}(0, I)}
        \frac{(y_i \sigma_i^{2k})^2}{\sum_l (y_l \sigma_l^{2k})^2}, \qquad
        \mathbb{E}\,\widetilde H = U \operatorname{diag}\big((1-\lambda_i)\,\sigma_i\big) V^\top

    Fractions ``(..., d)`` are between 0 and 1; a spectrum of zeros loses nothing, for there is no direction to find.

    Args:
        sigma: Singular values ``(..., d)``, in any order, of any scale.
        method: ``exact`` by quadrature, or the paper's Gamma ``surrogate``, whose fractions need not sum to 1.

    >>> expectation([2.0, 1.0], iterations=1).round(6)  # for two values: σ₁² / (σ₁² + σ₂²)
    array([0.8, 0.2])
    """
    return moments(sigma, iterations, method).mean


def variance(sigma: ArrayLike, iterations: int = 1, method: Method = "exact") -> Array:
    r"""Compute the variance :math:`\omega_i^2` of the fraction that is removed (Proposition 3, in its right form)."""
    return moments(sigma, iterations, method).variance


def density(z: ArrayLike, sigma: ArrayLike, i: int, iterations: int = 1, method: Method = "exact") -> Array:
    r"""Compute the density of the fraction :math:`z_i` that one call of Algorithm 1 removes (Proposition 2).

    It is evaluated at ``z`` for value ``i`` of the singular values ``(d,)``; 0 outside of ``[0, 1]``, infinite at 0.
    """
    module, values = _resolve(method), checked_spectrum(sigma)
    if values.ndim != 1:
        raise InputError(f"The density is that of one spectrum (d,), not of an array of shape {values.shape}.")
    if not isinstance(i, int | np.integer) or not -len(values) <= i < len(values):
        raise InputError(f"The spectrum has {len(values)} values, counted from 0: there is no number {i}.")
    i %= len(values)
    check_whole("iterations", iterations, 0)
    log_beta = log_weights(values, iterations)
    if not np.isfinite(log_beta[i]) or np.isfinite(log_beta).sum() == 1:
        share = int(np.isfinite(log_beta[i]))
        raise InputError(f"The share removed of value {i} is always {share} in this spectrum: it has no density.")
    points = np.asarray(z, dtype=np.float64)
    inside = (points >= 0) & (points <= 1)
    result = np.where(np.isnan(points), np.nan, 0.0)
    result[inside] = module.density(points[inside], log_beta, i)
    return result


def moments(sigma: ArrayLike, iterations: int, method: Method) -> Moments:
    """Compute mean, complement and variance of the fractions, each of the shape ``(..., d)`` of the spectra."""
    module, values = _resolve(method), checked_spectrum(sigma)
    check_whole("iterations", iterations, 0)
    result = Moments(*(np.empty_like(values) for _ in Moments._fields))
    for place in np.ndindex(values.shape[:-1]):
        for part, row in zip(result, module.moments(log_weights(values[place], iterations)), strict=True):
            part[place] = row
    return result


def leveled(sigma: ArrayLike, iterations: int = 1, *, strength: float = 1.0, passes: int = 1) -> Array:
    r"""Compute the spectrum after passes of the expected map, :math:`\sigma_i \leftarrow \sigma_i (1 - s \lambda_i)`.

    Many gentle passes follow the flow :math:`\dot\sigma_i = -\sigma_i \lambda_i(\sigma; k)` for the time
    ``strength · passes``: the leading values come down, ever more of them together, and the rest stay. Single draws of
    ``power_iteration(h, k, strength=s, passes=p)`` gather around that, with a variance of the order ``s``.

    >>> leveled([8.0, 4.0, 2.0, 1.0, 0.1], strength=0.1, passes=40).round(2)
    array([1.12, 1.11, 1.04, 0.83, 0.1 ])
    """
    values = checked_spectrum(sigma)
    check_number("strength", strength, at_most=1)
    check_whole("passes", passes, 0)
    for _ in range(passes):
        fractions = moments(values, iterations, "exact")
        values = values * (fractions.complement + (1 - strength) * fractions.mean)
    return values


def _resolve(method: str) -> ModuleType:
    modules = {"exact": exact, "surrogate": surrogate}
    if not isinstance(method, str) or method not in modules:
        raise unknown_name("method", method, modules)
    return modules[method]
