r"""The paper's moments and density of the removed fraction (Propositions 2 and 3), corrected (``docs/theory.md``).

The weighted sum of the other chi-square variables is replaced by one Gamma variable with the same mean and variance:

.. math::
    z_i \approx \frac{u}{u+v_i}, \quad
    u \sim \mathcal{G}(\tfrac12, 2), \; v_i \sim \mathcal{G}(\alpha_i, 2\gamma_i), \quad
    \alpha_i = \frac{(\sum_{l \ne i} \beta_l)^2}{2 \sum_{l \ne i} \beta_l^2}, \;
    \gamma_i = \frac{\sum_{l \ne i} \beta_l^2}{\beta_i \sum_{l \ne i} \beta_l}

The hypergeometric function of the paper loses all digits for large parameters, so the moments are computed from the
integrals it stands for, :math:`\mathbb{E}[z] = \int_0^\infty (1+2t)^{-3/2} (1+2\gamma t)^{-\alpha}\, dt` and the like.
"""

import numpy as np
from scipy.special import betaln, log_expit

from sfa.theory.exact import FLAT, PANEL, panels, straight
from sfa.theory.spectra import Array, Moments, balanced, sums_of_others

TAIL = 80.0


def moments(log_beta: Array) -> Moments:
    """Compute moments of the fractions removed under the surrogate. Without any weight nothing is removed."""
    weighted = np.isfinite(log_beta)
    mean, complement, variance = np.zeros_like(log_beta), np.ones_like(log_beta), np.zeros_like(log_beta)
    if weighted.sum() == 1:
        mean[weighted], complement[weighted] = 1, 0
    elif weighted.any():
        log_alpha, log_gamma = _parameters(log_beta[weighted])
        alpha, half = np.exp(log_alpha), np.full_like(log_alpha, 0.5)
        first = _integral(1, half + 1, alpha, log_gamma) / 2
        square = _integral(2, half + 2, alpha, log_gamma) * 3 / 4
        # The same for 1 - z = v / (u + v), with the parts of u and v exchanged.
        rest = _integral(1, alpha + 1, half, -log_gamma) * alpha
        square_of_rest = _integral(2, alpha + 2, half, -log_gamma) * alpha * (alpha + 1)
        spread = np.maximum(np.where(first < 0.5, square - first**2, square_of_rest - rest**2), 0)
        mean[weighted], complement[weighted], variance[weighted] = balanced(first, rest, spread)
    return Moments(mean, complement, variance)


def _parameters(log_beta: Array) -> tuple[Array, Array]:
    r"""Return :math:`\log \alpha_i` and :math:`\log \gamma_i` for weights ``(d,)``."""
    once, twice = (sums_of_others(times * log_beta, np.logaddexp) for times in (1, 2))
    with np.errstate(invalid="ignore"):
        return 2 * once - twice - np.log(2), twice - once - log_beta


def _integral(n: int, power: Array, other_power: Array, shift: Array) -> Array:
    r"""Compute :math:`\int e^{nu} (1+e^u)^{-p} (1+e^{u+s})^{-q}\, du`, one for each entry of ``p``, ``q``, ``s``."""
    # A power far above 1 turns its corner early, by its logarithm.
    margin = FLAT + np.log(np.maximum(1, np.maximum(power, other_power)))
    first, last = np.minimum(0, -shift), np.maximum(0, -shift)
    low, end = first - margin, last + TAIL
    high = np.maximum(last - margin, low)  # behind it the second stretch
    middle = np.minimum(first + FLAT, high)

    def log_integrand(u: Array) -> Array:
        value: Array = n * u + power[:, None] * log_expit(-u) + other_power[:, None] * log_expit(-u - shift[:, None])
        return value

    def on(start: Array, stop: Array) -> Array:
        length = PANEL * np.ceil(float((stop - start).max()) / PANEL)
        if length <= 0:
            return np.zeros_like(shift)
        place, weight = panels(0.0, length)
        share = (stop - start) / length
        values = np.exp(log_integrand(start[:, None] + place * share[:, None]))  # (d, nodes)
        return (values @ weight) * share  # type: ignore[no-any-return]

    gap = straight(high - middle, log_integrand(np.stack([middle, high], axis=1)))
    return on(low, middle) + gap + on(high, end)


def density(z: Array, log_beta: Array, i: int) -> Array:
    r"""Compute the corrected density of Proposition 2 at ``z`` ``(m,)``, for ``β_i`` and another weight positive.

    .. math::
        p_i(z) = \frac{\gamma_i}{(1-(1-\gamma_i)z)^2}\,
        \mathrm{Beta}\Big(\frac{\gamma_i z}{1-(1-\gamma_i)z};\, \tfrac12, \alpha_i\Big)
    """
    log_alpha, log_gamma = (float(values[i]) for values in _parameters(log_beta))
    alpha = np.exp(log_alpha)
    power = 0.0 if abs(alpha - 1) < 1e-13 else alpha - 1  # two equal others, but for rounding
    with np.errstate(divide="ignore"):
        log_z, log_rest = np.log(z), np.log1p(-z)
        # γ z / (1 - (1-γ) z) and its complement share the denominator γ z + (1 - z).
        log_denominator = np.logaddexp(log_gamma + log_z, log_rest)
        log_density = log_gamma - 2 * log_denominator - (log_gamma + log_z - log_denominator) / 2
        log_density = log_density + (power * (log_rest - log_denominator) if power else 0.0) - betaln(0.5, alpha)
    return np.exp(log_density)  # type: ignore[no-any-return]
