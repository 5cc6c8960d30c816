"""Push-forward functions of the maps that SFA is compared with, as functions of the singular values of ``H``.

Each has the name and the arguments of its map in :mod:`sfa.spectral`, without those that do not change values, and
returns the mean and the deviation of ``uᵢᵀ H̃ vᵢ`` over the map's noise, both ``(..., d)``. ``sigma`` ``(..., d)``
holds a value for each of the ``d`` features: for a map with fewer rows, the missing values are zeros and count.
"""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln
from scipy.stats import norm

from sfa.ranges import check_number, check_whole
from sfa.theory.push_forward import PushForward
from sfa.theory.spectra import Array, checked_spectrum


def maxexp(sigma: ArrayLike, eta: int = 15, *, noise: float = 1.5) -> PushForward:
    r"""Compute :math:`1 - (1 - \sigma_i / \sum_j \sigma_j)^m` with :math:`m = \eta + \Delta\eta` rounded, 1 or more."""
    check_whole("eta", eta, 1)
    check_number("noise", noise)
    values = checked_spectrum(sigma)
    total = values.sum(axis=-1, keepdims=True)
    rest = 1 - values / np.where(total > 0, total, 1)
    exponents = np.arange(1, int(np.ceil(eta + 10 * noise)) + 1) if noise else np.array([eta])
    edges = np.concatenate([[-np.inf], exponents[:-1] + 0.5, [np.inf]])
    chance = np.diff(norm.cdf(edges, eta, noise)) if noise else np.ones(1)
    outcomes = 1 - rest[..., None] ** exponents
    mean = outcomes @ chance
    return PushForward(mean, np.sqrt((outcomes - mean[..., None]) ** 2 @ chance))


def power_norm(sigma: ArrayLike, beta: float = 0.5, *, noise: float = 0.1) -> PushForward:
    r"""Compute :math:`(1-\beta')\sigma_i^{1/2} + \beta'\sigma_i^{3/4}` with :math:`\beta + \Delta\beta` clamped."""
    check_number("beta", beta, at_most=1)
    check_number("noise", noise)
    values = checked_spectrum(sigma)
    half, steeper = values**0.5, values**0.75
    mean, deviation = _clamped_normal(beta, noise, 0, 1)
    return PushForward((1 - mean) * half + mean * steeper, deviation * np.abs(steeper - half))


def power_norm_star(sigma: ArrayLike, beta: float = 0.5, *, noise: float = 0.1) -> PushForward:
    r"""Compute :math:`(1+\Delta\beta^*)((1-\beta)\sigma_i^{1/2} + \beta\sigma_i^{3/4})`, its first factor clamped."""
    check_number("noise", noise)
    flat = power_norm(sigma, beta, noise=0.0).mean
    mean, deviation = _clamped_normal(1, noise, 0, 2)
    return PushForward(mean * flat, deviation * flat)


def grassmann(sigma: ArrayLike, kappa: int = 15, *, noise: float = 0.1) -> PushForward:
    r"""Compute :math:`1 + \Delta\kappa_i` for the ``kappa`` leading values that are not zero, 0 for the rest."""
    check_number("noise", noise)
    kept = _leading(checked_spectrum(sigma), kappa)
    return PushForward(kept, noise * kept)


def pca(sigma: ArrayLike, kappa: int = 20) -> PushForward:
    r"""Return :math:`\sigma_i` of the centered map for the ``kappa`` leading values, 0 for the rest."""
    values = checked_spectrum(sigma)
    return PushForward(values * _leading(values, kappa), np.zeros_like(values))


def precondition(sigma: ArrayLike, ridge: float = 1e-3) -> PushForward:
    r"""Compute :math:`\sigma_i / \sqrt{\sigma_i^2 + \varepsilon}`, with ``ridge`` times the mean square as ε."""
    check_number("ridge", ridge, above=0)
    values = checked_spectrum(sigma)
    largest = values.max(axis=-1, keepdims=True)
    unit = values / np.where(largest > 0, largest, 1)
    epsilon = ridge * (unit**2).mean(axis=-1, keepdims=True)
    return PushForward(unit / np.sqrt(unit**2 + np.where(epsilon > 0, epsilon, 1)), np.zeros_like(values))


def whiten(sigma: ArrayLike, n: int, ridge: float = 1e-3) -> PushForward:
    r"""Compute :math:`\sqrt n` times :func:`precondition` of the values of the centered map with ``n`` rows."""
    check_whole("n", n, 1)
    mean, deviation = precondition(sigma, ridge)
    return PushForward(np.sqrt(n) * mean, deviation)


def noise(sigma: ArrayLike, n: int, strength: float = 0.1) -> PushForward:
    r"""Return :math:`\sigma_i`; the deviation is ``strength`` times the root mean square of the entries."""
    check_whole("n", n, 1)
    check_number("strength", strength)
    values = checked_spectrum(sigma)
    rms = np.sqrt((values**2).mean(axis=-1, keepdims=True) / n)
    return PushForward(values, np.broadcast_to(strength * rms, values.shape).copy())


def costa(sigma: ArrayLike, n: int, ratio: float = 0.5) -> PushForward:
    r"""Compute :math:`\lVert \widetilde H v_i \rVert = \sigma_i \sqrt{\chi^2_m / m}`, as mixed rows have no ``uᵢ``."""
    check_whole("n", n, 1)
    check_number("ratio", ratio, above=0, at_most=1)
    values = checked_spectrum(sigma)
    m = max(1, round(ratio * n))
    mean = np.exp(gammaln((m + 1) / 2) - gammaln(m / 2)) * np.sqrt(2 / m)
    return PushForward(values * mean, values * np.sqrt(1 - mean**2))


def _leading(values: Array, kappa: int) -> Array:
    """Return 1 for the ``kappa`` largest values that are not zero, 0 for the others."""
    check_whole("kappa", kappa, 1)
    rank = np.argsort(np.argsort(-values, axis=-1, kind="stable"), axis=-1, kind="stable")
    return ((rank < kappa) & (values > 0)).astype(np.float64)


def _clamped_normal(mean: float, deviation: float, low: float, high: float) -> tuple[float, float]:
    """Compute mean and deviation of a normal variable clamped to an interval."""
    if deviation == 0:
        return mean, 0.0
    a, b = (low - mean) / deviation, (high - mean) / deviation
    inside, slope = norm.cdf(b) - norm.cdf(a), norm.pdf(a) - norm.pdf(b)
    curve = inside + a * norm.pdf(a) - b * norm.pdf(b)
    first = low * norm.cdf(a) + high * norm.sf(b) + mean * inside + deviation * slope
    second = low**2 * norm.cdf(a) + high**2 * norm.sf(b)
    second += mean**2 * inside + 2 * mean * deviation * slope + deviation**2 * curve
    return float(first), float(np.sqrt(max(0.0, second - first**2)))
