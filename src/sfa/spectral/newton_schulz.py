"""Square root and inverse square root of a matrix by Newton–Schulz iteration (Algorithm 2 of the paper)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.ranges import check_number, check_whole
from sfa.spectral.feature_map import HALF, check_feature_map, identity, narrow, trace


class Roots(NamedTuple):
    """Both roots ``(..., d, d)``, and how well each has converged ``(...)``, without gradient."""

    root: Tensor  # A = M^½
    inverse_root: Tensor  # B = M^-½
    residual: Tensor  # ‖A² - M‖ / ‖M‖ in Frobenius norm: tiny once the leading eigenvalues have converged
    inverse_residual: Tensor  # ‖A B - I‖ / √d, which sees every eigenvalue


def newton_schulz(m: Tensor, *, ridge: float | None = None, iterations: int | None = None) -> Roots:
    r"""Compute both square roots of symmetric positive semi-definite matrices by matrix products alone (Algorithm 2).

    .. math::
        Y_0 = M / \operatorname{tr} M, \quad Z_0 = I, \qquad
        P = \tfrac{\rho_i}{2}(3 I - \rho_i^2 Z_i Y_i), \quad Y_{i+1} = Y_i P, \quad Z_{i+1} = P Z_i, \qquad
        A = Y \sqrt{\operatorname{tr} M}, \quad B = Z / \sqrt{\operatorname{tr} M}

    The paper prints the last two wrongly: its ``A = P √tr`` tends to a multiple of the identity. It has ``ρ = 1``. As
    the ridge bounds eigenvalues from below by a known ``l²``, the step may be stretched to where the ends of ``[l, 1]``
    meet, ``ρ² = 3 / (1 + l + l²)`` (Chen and Chow, 2014): 24 steps in float64 and 12 in float32 serve every matrix.

    Args:
        ridge: Share of the trace added to every eigenvalue, as the iteration blows up zeros that rounding has made
            negative; ten units of rounding by default. On a singular matrix the relative error of ``A`` is about
            ``eps / √ridge``, and of ``H B`` ``eps / ridge``: to divide by the root, ask for a larger ridge.
        iterations: The paper's ``ζ``: so many plain steps (``ρ = 1``) after the first, instead of the stretched ones.
            ``10`` in the paper, enough for eigenvalues of ``1e-3`` of the trace and more.
    """
    check_feature_map(m, "Square matrices (..., d, d) have roots, and each")
    if m.shape[-1] != m.shape[-2]:
        raise InputError(f"Square matrices (..., d, d) of floats have roots, not {m.dtype} of shape {tuple(m.shape)}.")
    if m.dtype in HALF:
        return Roots(*(narrow(one, m.dtype) for one in newton_schulz(m.float(), ridge=ridge, iterations=iterations)))
    ridge = smallest_ridge(m) if ridge is None else ridge
    check_number("ridge", ridge)
    if iterations is None:
        stretches = _stretches(smallest_ridge(m) / (1 + smallest_ridge(m)), torch.finfo(m.dtype).eps)
    else:
        check_whole("iterations", iterations, 0)
        stretches = [1.0] * (iterations + 1)

    with torch.autocast(m.device.type, enabled=False):
        eye, traces = identity(m), trace(m)
        empty = traces == 0
        scale = torch.where(empty, 1, traces) * (1 + ridge)  # no eigenvalue of m + ridge · tr(m) I is above this
        y = start = m / scale + ridge / (1 + ridge) * eye
        z = eye.expand_as(m)
        for rho in stretches:
            p = (1.5 * rho) * eye - (0.5 * rho**3) * (z @ y)
            y, z = y @ p, p @ z
        with torch.no_grad():
            residual = torch.linalg.matrix_norm(y @ y - start) / torch.linalg.matrix_norm(start)
            inverse_residual = torch.linalg.matrix_norm(y @ z - eye) / m.shape[-1] ** 0.5
        return Roots(torch.where(empty, 0, y * scale.sqrt()), z / scale.sqrt(), residual, inverse_residual)


def smallest_ridge(m: Tensor) -> float:
    """Return ten units of rounding: the least share of the trace that an eigenvalue needs to differ from zero."""
    return 10 * torch.finfo(m.dtype).eps


def regularize(m: Tensor, share: float) -> Tensor:
    """Add a share of the trace to every eigenvalue: at least 1e-12, so that an inverse root has four digits."""
    return m + max(share, 1e-12) * trace(m) * identity(m)


def _stretches(floor: float, eps: float) -> list[float]:
    """Return ``ρ`` of every step that takes eigenvalues in ``[floor, 1]`` to 1 within ``eps``.

    The stretch is kept below 1.7: the best one for a tiny ``low`` would take 1 to almost 0 and its digits with it.
    """
    low, stretches = math.sqrt(floor), []
    while 1 - low > math.sqrt(eps):
        rho = min(math.sqrt(3 / (1 + low + low**2)), 1.697)
        stretches.append(rho)
        low = min(rho * x * (3 - (rho * x) ** 2) / 2 for x in (low, 1.0))
    return [*stretches, 1.0, 1.0]  # One squares the error below eps, one more lets rounding settle.
