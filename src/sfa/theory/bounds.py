"""Bounds: on the push-forward function, on the downstream error (Theorem 1), and on the noise (Proposition 4)."""

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx

from sfa.errors import InputError
from sfa.ranges import check_whole
from sfa.theory.spectra import Array, checked_spectrum, log_weights, sums_of_others


def upper_bound(sigma: ArrayLike) -> Array:
    r"""Compute the paper's bound :math:`\bar\phi(\sigma_i) = \min(\sigma_i, \max_{j \ne i} \sigma_j)`, known as AxMin.

    It does **not hold in general**: it first fails for 8 values with ``k = 1``, and for 19 with ``k = 2``.
    :func:`jensen_bound` always holds.
    """
    values = checked_spectrum(sigma)
    largest = np.argmax(values, axis=-1, keepdims=True)
    bound: Array = values.copy()
    np.put_along_axis(bound, largest, 0.0, axis=-1)
    np.put_along_axis(bound, largest, bound.max(axis=-1, keepdims=True), axis=-1)
    return bound


def jensen_bound(sigma: ArrayLike, iterations: int = 1) -> Array:
    r"""Compute a bound on :math:`\phi` that holds for every spectrum ``(..., d)`` and every ``k``.

    The kept share is concave in the sum of the other terms; Jensen's inequality replaces that sum by its mean, and a
    Gaussian integral remains. The first, tighter form is returned:

    .. math::
        \phi(\sigma_i; k) \le \sigma_i \sqrt\pi\, s_i\, e^{s_i^2} \operatorname{erfc}(s_i)
        \le \sqrt{\tfrac{\pi}{2}}\; \sigma_i^{1-2k} \Big(\sum_{l \ne i} \sigma_l^{4k}\Big)^{1/2}, \qquad
        s_i^2 = \frac{\sum_{l \ne i} \sigma_l^{4k}}{2 \sigma_i^{4k}}
    """
    values = checked_spectrum(sigma)
    check_whole("iterations", iterations, 0)
    bound = np.empty_like(values)
    for place in np.ndindex(values.shape[:-1]):
        log_beta = log_weights(values[place], iterations)
        weightless = np.isneginf(log_beta)
        log_s = (sums_of_others(log_beta, np.logaddexp) - np.where(weightless, 0, log_beta) - np.log(2)) / 2
        far = weightless | (log_s > 20)  # where s·erfcx(s) is 1/√π to rounding, while its factors overflow
        s = np.exp(np.where(far, 0, log_s))
        bound[place] = values[place] * np.where(far, 1.0, np.sqrt(np.pi) * s * erfcx(s))
    return bound


def generalization_bound(alignment: float, *, epsilon: float, sigma: float) -> float:
    r"""Bound the downstream error of a nearest-neighbor classifier (Theorem 1).

    .. math::
        \mathrm{Err} \le (1 - \sigma) + R_\varepsilon, \qquad
        R_\varepsilon = P(\lVert f(x_1) - f(x_2) \rVert \ge \varepsilon)
        \le \min\Big(1, \tfrac{\sqrt{2 - 2\mathcal{L}_a}}{\varepsilon}, \tfrac{2 - 2\mathcal{L}_a}{\varepsilon^2}\Big)

    for the ``alignment`` of views **of length 1** with ``tau = 1``, the distance ``epsilon`` of close views, and the
    share ``sigma`` of each class that its (σ, δ)-augmentation holds together. The paper prints the square root; its
    proof gives the smaller term. For its reach see ``docs/theory.md``.
    """
    if not abs(alignment) <= 1 + 1e-9:
        raise InputError(f"The alignment of embeddings of length 1 is between -1 and 1, not {alignment}.")
    if not epsilon > 0 or not 0 < sigma <= 1:
        raise InputError(f"epsilon is above 0 and sigma in (0, 1], not {epsilon} and {sigma}.")
    share = min(1.0, math.sqrt(max(0.0, 2 - 2 * alignment)) / epsilon)
    return (1 - sigma) + share * share


def elementwise_bound(epsilon: float, gap: float, n: int, d: int | None = None) -> float:
    r"""Bound every entry of :math:`\widetilde H - H` so that the leading direction hardly turns (Proposition 4).

    .. math::
        |\widetilde H_{ij} - H_{ij}| \le \eta = \frac{2 \varepsilon\, \Delta\tilde\sigma_{12}}{n (\pi + 2\varepsilon)}
        \quad\Longrightarrow\quad \lVert V - \widetilde V \rVert_2 \le \varepsilon

    for an ``n × d`` map (square without ``d``) with the ``gap`` :math:`\tilde\sigma_1 - \tilde\sigma_2`: the appendix's
    form, in the direction that its proof gives. SFA itself is no such small perturbation.
    """
    if not epsilon > 0 or not gap >= 0 or n < 1 or (d is not None and d < 1):
        raise InputError(f"epsilon is above 0, gap not below, n and d at least 1; not {epsilon}, {gap}, {n}, {d}.")
    size = math.sqrt(n * (n if d is None else d))
    return gap / (size * (math.pi / (2 * epsilon) + 1))
