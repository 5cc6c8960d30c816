r"""Moments and density of the fraction that the incomplete power iteration removes, by quadrature (``docs/theory.md``).

With :math:`\beta_l = \sigma_l^{4k}` and :math:`y \sim \mathcal{N}(0, I)`, Algorithm 1 removes of :math:`\sigma_i` the
fraction :math:`z_i = \beta_i y_i^2 / \sum_l \beta_l y_l^2`. From :math:`1/s = \int_0^\infty e^{-ts}\,dt` follow

.. math::
    \mathbb{E}[z_i] &= \int_0^\infty \frac{\beta_i}{1+2\beta_i t} \prod_l (1+2\beta_l t)^{-1/2}\, dt \\
    \mathbb{E}[z_i^2] &= \int_0^\infty \frac{3 \beta_i^2 t}{(1+2\beta_i t)^2} \prod_l (1+2\beta_l t)^{-1/2}\, dt

With :math:`t = e^u` the integrands are products of powers of :math:`1 + e^{u+b}`: straight lines on a logarithmic axis,
except for corners at :math:`u = -b`. Gauss-Legendre panels surround the corners; the rest is integrated in closed form.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
from scipy.special import expit, log_expit, roots_legendre

from sfa.theory.spectra import Array, Moments, balanced, sums_of_others

FLAT = 40.0  # Distance from a corner at which a factor is a straight line: exp(-40) is below the rounding of 1.
PANEL = 2.0  # The integrands are analytic for imaginary parts up to about pi/2: 16 nodes on this width are exact.
TAIL = 75.0  # Behind the last corner that matters the integrands fall at least as fast as exp(-u/2),
CORNERS = 5  # which even that of the second moment does once five factors of the product have turned.
BLOCK = 1 << 19  # Matrix entries held at once.

_NODES, _WEIGHTS = roots_legendre(16)


def moments(log_beta: Array) -> Moments:
    """Compute moments of the fractions removed, for weights ``(d,)``. Without any weight nothing is removed."""
    weighted = np.isfinite(log_beta)
    mean, variance = np.zeros_like(log_beta), np.zeros_like(log_beta)
    if not weighted.any():
        return Moments(mean, np.ones_like(log_beta), variance)
    order = np.argsort(-log_beta)[: weighted.sum()]
    b = log_beta[order] + np.log(2)  # log 2β, finite and in descending order
    first, second = np.zeros_like(b), np.zeros_like(b)
    # Of the leading fraction, if it is near 1, E[z²] - E[z]² would cancel and E[(1-z)²] - E[1-z]² does not. Its mass is
    # at the second corner; the straight stretches add nothing to it.
    square_of_rest = 0.0
    stretches = segments(-b[:CORNERS], before=FLAT + np.log(len(b)), after=TAIL)
    for u, weight in _blocks(stretches, len(b)):
        x = b[:, None] + u  # (d, nodes)
        logistic = expit(x)
        product = weight * np.exp(log_expit(-x).sum(axis=0) / 2)
        first += logistic @ product / 2
        second += logistic**2 @ product * 3 / 4
        rest = logistic[1:]
        square_of_rest += float((rest.sum(axis=0) ** 2 / 4 + (rest**2).sum(axis=0) / 2) @ product)
    for (_, low), (high, _) in pairwise(stretches):
        x = b[:, None] + np.array([low, high])
        log_logistic = log_expit(x)
        log_product = log_expit(-x).sum(axis=0) / 2
        first += straight(high - low, log_logistic - np.log(2) + log_product)
        second += straight(high - low, 2 * log_logistic + np.log(3 / 4) + log_product)
    spread = second - first**2
    if first[0] > 0.5:
        spread[0] = square_of_rest - first[1:].sum() ** 2
    mean[order], variance[order] = first, np.maximum(spread, 0)
    return balanced(mean, sums_of_others(mean), variance)


def density(z: Array, log_beta: Array, i: int) -> Array:
    r"""Compute the density of :math:`z_i` at ``z`` ``(m,)``, where both ``β_i`` and another weight are positive.

    .. math::
        p_i(z) = \frac{\prod_{l \ne i} \sqrt{1-q_l}}{2\pi z (1-z)} \int_0^\infty \frac{dx}{\sqrt x}
        \sum_{l \ne i} \frac{q_l}{1+q_l x} \prod_{l \ne i} (1+q_l x)^{-1/2}, \qquad
        q_l = \frac{z \beta_l}{z \beta_l + (1-z) \beta_i}
    """
    others = np.delete(log_beta, i)
    others = others[np.isfinite(others)]
    result = np.zeros_like(z)
    with np.errstate(over="ignore"):
        for place in np.flatnonzero((z > 0) & (z < 1)):
            log_z, log_rest = np.log(z[place]), np.log1p(-z[place])
            from_others, from_i = log_z + others, log_rest + log_beta[i]
            both = np.logaddexp(from_others, from_i)
            log_q = from_others - both
            total, largest = 0.0, log_q.max()
            for u, weight in _blocks([(-TAIL, TAIL)], len(log_q)):  # counted from the first corner
                x = (log_q - largest)[:, None] + u
                total += float((weight * np.exp(log_expit(-x).sum(axis=0) / 2 - u / 2)) @ expit(x).sum(axis=0))
            log_integral = float(largest / 2 + np.log(total / (2 * np.pi)))
            result[place] = np.exp((from_i - both).sum() / 2 - log_z - log_rest + log_integral)
        result[z == 0] = np.inf
        # At 1 all the others vanish at once.
        result[z == 1] = {1: np.inf, 2: np.exp(-(others - log_beta[i]).sum() / 2) / 2}.get(len(others), 0.0)
    return result


def _blocks(stretches: list[tuple[float, float]], rows: int) -> Iterator[tuple[Array, Array]]:
    """Yield nodes and weights of all stretches, so many at a time that a matrix with ``rows`` rows stays small."""
    step = max(1, BLOCK // rows)
    for low, high in stretches:
        u, weight = panels(low, high)
        for start in range(0, len(u), step):
            yield u[start : start + step], weight[start : start + step]


def segments(corners: Array, before: float, after: float) -> list[tuple[float, float]]:
    """Return stretches to cover with panels: ``FLAT`` around each corner, ``before`` the first, ``after`` the last."""
    corners = np.sort(corners)
    lows, highs = corners - FLAT, corners + FLAT
    lows[0], highs[-1] = corners[0] - before, corners[-1] + after
    gaps = lows[1:] > highs[:-1]
    return list(zip(lows[np.append(True, gaps)], highs[np.append(gaps, True)], strict=True))


def panels(low: float, high: float) -> tuple[Array, Array]:
    """Return nodes and weights on one stretch."""
    edges = np.linspace(low, high, int(np.ceil((high - low) / PANEL)) + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * _NODES).ravel(), (half[:, None] * _WEIGHTS).ravel()


def straight(length: float | Array, log_ends: Array) -> Array:
    """Integrate exponentials over a stretch, from the logarithms of their values at its ends ``(..., 2)``."""
    top = log_ends.max(axis=-1)
    with np.errstate(invalid="ignore"):
        drop = np.nan_to_num(np.abs(log_ends[..., 1] - log_ends[..., 0]), nan=0.0)  # nan: zero at both ends
    mean = np.where(drop > 0, -np.expm1(-drop) / np.where(drop > 0, drop, 1), 1.0)
    return length * np.exp(top) * mean  # type: ignore[no-any-return]
