"""The alignment of two views before and after SFA (Equations 5 and 6), and bounds by it (Theorem 1, Proposition 4)."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from sfa.errors import InputError
from sfa.ranges import check_number
from sfa.theory.removed_fraction import Method, moments
from sfa.theory.spectra import Array, as_array


def alignment(h_alpha: ArrayLike, h_beta: ArrayLike, *, tau: float = 1.0) -> float:
    r"""Compute the alignment of two views, feature maps ``(n, d)``, with temperature ``tau`` (Equation 5).

    .. math:: \mathcal{L}_a = \frac{1}{n\tau} \mathrm{Tr}(H^{\alpha\top} H^\beta)
    """
    alpha, beta = _as_views(h_alpha, h_beta, tau)
    return float((alpha * beta).sum() / (len(alpha) * tau))


def alignment_terms(h_alpha: ArrayLike, h_beta: ArrayLike, *, tau: float = 1.0) -> Array:
    r"""Compute what each pair of singular directions adds to the alignment (Equation 5, in full).

    .. math::
        \mathcal{L}_a = \sum_{i,j} T_{ij}, \qquad
        T_{ij} = \frac{1}{n\tau}\, \sigma_i^\alpha \sigma_j^\beta\,
        (u_i^{\alpha\top} u_j^\beta)(v_i^{\alpha\top} v_j^\beta)

    The paper prints the diagonal alone. That is all of it only if the pairs ``i ≠ j`` cancel, for instance if the views
    share their singular vectors. Returns ``T`` of shape ``(r, r)``, ``r = min(n, d)``, leading directions first.
    """
    return _terms(h_alpha, h_beta, tau, lambda sigma: sigma)


def expected_alignment(
    h_alpha: ArrayLike, h_beta: ArrayLike, iterations: int = 1, *, tau: float = 1.0, method: Method = "exact"
) -> float:
    r"""Compute the expected alignment after SFA has acted on both views, maps ``(n, d)`` (Equation 6, in full).

    As the views draw their directions independently, each :math:`\sigma_i` becomes :math:`(1-\lambda_i)\sigma_i`:

    .. math:: \mathcal{L}^*_a = \sum_{i,j} (1-\lambda_i^\alpha)(1-\lambda_j^\beta)\, T_{ij}

    ``iterations`` and ``method`` are those of :func:`~sfa.theory.expectation`.
    """

    def augmented(sigma: Array) -> Array:
        missing = np.shape(h_alpha)[1] - len(sigma)  # zeros of a map that is wider than tall, which k = 0 counts
        return sigma * moments(np.pad(sigma, (0, missing)), iterations, method).complement[: len(sigma)]

    return float(_terms(h_alpha, h_beta, tau, augmented).sum())


def generalization_bound(alignment: float, *, epsilon: float, sigma: float) -> float:
    r"""Bound the downstream error of a nearest-neighbor classifier (Theorem 1).

    .. math::
        \mathrm{Err} \le (1 - \sigma) + R_\varepsilon, \qquad
        R_\varepsilon = P(\lVert f(x_1) - f(x_2) \rVert \ge \varepsilon)
        \le \min\Big(1, \tfrac{\sqrt{2 - 2\mathcal{L}_a}}{\varepsilon}, \tfrac{2 - 2\mathcal{L}_a}{\varepsilon^2}\Big)

    for the ``alignment`` of views **of length 1** with ``tau = 1``, the distance ``epsilon`` of close views, and the
    share ``sigma`` of each class that its (σ, δ)-augmentation holds together. See ``docs/theory.md``.
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

    for an ``n × d`` map (square without ``d``) with the ``gap`` :math:`\tilde\sigma_1 - \tilde\sigma_2`.
    """
    if not epsilon > 0 or not gap >= 0 or n < 1 or (d is not None and d < 1):
        raise InputError(f"epsilon is above 0, gap not below, n and d at least 1; not {epsilon}, {gap}, {n}, {d}.")
    size = math.sqrt(n * (n if d is None else d))
    return gap / (size * (math.pi / (2 * epsilon) + 1))


def _terms(h_alpha: ArrayLike, h_beta: ArrayLike, tau: float, change: Callable[[Array], Array]) -> Array:
    alpha, beta = _as_views(h_alpha, h_beta, tau)
    u_alpha, sigma_alpha, v_alpha = np.linalg.svd(alpha, full_matrices=False)
    u_beta, sigma_beta, v_beta = np.linalg.svd(beta, full_matrices=False)
    weights = np.outer(change(sigma_alpha), change(sigma_beta)) / (len(alpha) * tau)
    return weights * (u_alpha.T @ u_beta) * (v_alpha @ v_beta.T)  # type: ignore[no-any-return]


def _as_views(h_alpha: ArrayLike, h_beta: ArrayLike, tau: float) -> tuple[Array, Array]:
    check_number("tau", tau, above=0)
    try:
        alpha, beta = as_array(h_alpha), as_array(h_beta)
    except (TypeError, ValueError) as error:
        raise InputError("Two views are maps (n, d) of numbers; these are none.") from error
    if alpha.ndim != 2 or alpha.shape != beta.shape or not alpha.size or not np.isfinite([alpha, beta]).all():
        shapes = f"{alpha.shape} and {beta.shape}"
        raise InputError(f"Two views are maps (n, d) of one shape, not {shapes} or with values that are not finite.")
    return alpha, beta
