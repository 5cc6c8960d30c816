"""How two views align, direction by direction, and what SFA makes of it (Equations 4 and 5)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sfa.errors import InputError
from sfa.theory.removed_fraction import Method, moments
from sfa.theory.spectra import Array, as_array


def alignment(h_alpha: ArrayLike, h_beta: ArrayLike, *, tau: float = 1.0) -> float:
    r"""Compute the alignment of two views, feature maps ``(n, d)``, with temperature ``tau`` (Equation 4).

    .. math:: \mathcal{L}_a = \frac{1}{n\tau} \mathrm{Tr}(H^{\alpha\top} H^\beta)
    """
    alpha, beta = _checked(h_alpha, h_beta, tau)
    return float((alpha * beta).sum() / (len(alpha) * tau))


def alignment_terms(h_alpha: ArrayLike, h_beta: ArrayLike, *, tau: float = 1.0) -> Array:
    r"""Compute what each pair of singular directions adds to the alignment (Equation 4, in full).

    .. math::
        \mathcal{L}_a = \sum_{i,j} T_{ij}, \qquad
        T_{ij} = \frac{1}{n\tau}\, \sigma_i^\alpha \sigma_j^\beta\,
        (u_i^{\alpha\top} u_j^\beta)(v_i^{\alpha\top} v_j^\beta)

    The paper prints the diagonal alone. That is all of it only if the pairs ``i ≠ j`` cancel, for instance if the views
    share their singular vectors. Returns ``T`` of shape ``(r, r)``, ``r = min(n, d)``, leading directions first.
    """
    return _terms(h_alpha, h_beta, tau, None, "exact")


def expected_alignment(
    h_alpha: ArrayLike, h_beta: ArrayLike, iterations: int = 1, *, tau: float = 1.0, method: Method = "exact"
) -> float:
    r"""Compute the expected alignment once SFA has acted on both views (Equation 5, in full).

    As the views draw their directions independently, each :math:`\sigma_i` becomes :math:`(1-\lambda_i)\sigma_i`:

    .. math::
        \mathcal{L}^*_a = \sum_{i,j} (1-\lambda_i^\alpha)(1-\lambda_j^\beta)\, T_{ij}

    Args:
        h_alpha, h_beta: Feature maps ``(n, d)`` of the two views.
        iterations: Power iterations ``k ≥ 0``.
        tau: Temperature.
        method: ``exact`` fractions, or the paper's ``surrogate``.
    """
    return float(_terms(h_alpha, h_beta, tau, iterations, method).sum())


def _terms(h_alpha: ArrayLike, h_beta: ArrayLike, tau: float, iterations: int | None, method: Method) -> Array:
    alpha, beta = _checked(h_alpha, h_beta, tau)
    u_alpha, sigma_alpha, v_alpha = np.linalg.svd(alpha, full_matrices=False)
    u_beta, sigma_beta, v_beta = np.linalg.svd(beta, full_matrices=False)
    if iterations is not None:
        missing = alpha.shape[1] - len(sigma_alpha)  # zeros of a map that is wider than tall, which k = 0 counts
        sigma_alpha, sigma_beta = (
            sigma * moments(np.pad(sigma, (0, missing)), iterations, method).complement[: len(sigma)]
            for sigma in (sigma_alpha, sigma_beta)
        )
    weights = np.outer(sigma_alpha, sigma_beta) / (len(alpha) * tau)
    terms: Array = weights * (u_alpha.T @ u_beta) * (v_alpha @ v_beta.T)
    return terms


def _checked(h_alpha: ArrayLike, h_beta: ArrayLike, tau: float) -> tuple[Array, Array]:
    if not tau > 0:
        raise InputError(f"The temperature tau is above 0, not {tau}.")
    try:
        alpha, beta = (as_array(h) for h in (h_alpha, h_beta))
    except (TypeError, ValueError) as error:
        raise InputError("Two views are maps (n, d) of numbers; these are none.") from error
    if alpha.ndim != 2 or alpha.shape != beta.shape or alpha.size == 0:
        raise InputError(f"Two views are maps (n, d) of one shape, not {alpha.shape} and {beta.shape}.")
    if not (np.isfinite(alpha).all() and np.isfinite(beta).all()):
        raise InputError("The feature maps hold values that are not finite.")
    return alpha, beta
