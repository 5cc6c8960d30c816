"""What becomes of each singular value: the push-forward function of the incomplete power iteration, and its bounds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import erfcx

from sfa.errors import InputError
from sfa.spectral import power_iteration
from sfa.theory.removed_fraction import Method, moments
from sfa.theory.spectra import Array, checked_iterations, checked_spectrum, log_sums_of_others, log_weights


class PushForward(NamedTuple):
    """Where singular values go in expectation, and how far single draws stray."""

    mean: Array
    deviation: Array


def push_forward(sigma: ArrayLike, iterations: int = 1, method: Method = "exact") -> PushForward:
    r"""The push-forward function :math:`\phi(\sigma_i; k) = \sigma_i (1 - \lambda_i(k))` and its deviation.

    :math:`\phi` is the spectrum of :math:`\mathbb{E}\,\widetilde H`. In one call of Algorithm 1 the singular vectors
    carry :math:`u_i^\top \widetilde H v_i = \sigma_i (1 - z_i)`, which has that mean and the deviation
    :math:`\sigma_i \omega_i`.

    Args:
        sigma: Singular values ``(..., d)``, in any order, of any scale.
        iterations: Power iterations ``k ≥ 0``.
        method: ``exact`` by quadrature, or the paper's Gamma ``surrogate``.

    Returns:
        ``mean`` and ``deviation``, each ``(..., d)``.
    """
    values = checked_spectrum(sigma)
    shares = moments(values, iterations, method)
    return PushForward(values * shares.complement, values * np.sqrt(shares.variance))


def upper_bound(sigma: ArrayLike) -> Array:
    r"""The paper's bound :math:`\bar\phi(\sigma_i) = \min(\sigma_i, \max_{j \ne i} \sigma_j)`, known as AxMin.

    It says that the leading value comes down to the second. That holds for few values and ``k ≥ 1``, but **not in
    general**: many small values together hold the iteration off the leading one. It first fails for 8 values with
    ``k = 1``, ``σ = (1.67, 1, …, 1)``, and for 19 with ``k = 2``. :func:`jensen_bound` always holds.

    Args:
        sigma: Singular values ``(..., d)``.

    Returns:
        Bounds ``(..., d)``; of a single value, 0.
    """
    values = checked_spectrum(sigma)
    largest = np.argmax(values, axis=-1, keepdims=True)
    bound: Array = values.copy()
    np.put_along_axis(bound, largest, 0.0, axis=-1)
    np.put_along_axis(bound, largest, bound.max(axis=-1, keepdims=True), axis=-1)
    return bound


def jensen_bound(sigma: ArrayLike, iterations: int = 1) -> Array:
    r"""A bound on :math:`\phi` that holds for every spectrum and every ``k``.

    The share kept is concave in the sum of the other terms; Jensen's inequality puts that sum's mean in its place, and
    what remains is a Gaussian integral:

    .. math::
        \phi(\sigma_i; k) \le \sigma_i \sqrt\pi\, s_i\, e^{s_i^2} \operatorname{erfc}(s_i)
        \le \sqrt{\tfrac{\pi}{2}}\; \sigma_i^{1-2k} \Big(\sum_{l \ne i} \sigma_l^{4k}\Big)^{1/2}, \qquad
        s_i^2 = \frac{\sum_{l \ne i} \sigma_l^{4k}}{2 \sigma_i^{4k}}

    Args:
        sigma: Singular values ``(..., d)``.
        iterations: Power iterations ``k ≥ 0``.

    Returns:
        The first, tighter form, ``(..., d)``.
    """
    values, k = checked_spectrum(sigma), checked_iterations(iterations)
    rows = [_jensen_share(log_weights(row, k)) for row in values.reshape(-1, values.shape[-1])]
    bound: Array = values * np.reshape(rows, values.shape)
    return bound


def _jensen_share(log_beta: Array) -> Array:
    """The bound on the share kept, for weights ``(d,)``."""
    weightless = np.isneginf(log_beta)
    log_s = (log_sums_of_others(log_beta) - np.where(weightless, 0, log_beta) - np.log(2)) / 2
    # Far out s·erfcx(s) is 1/√π to rounding, while its factors leave the range of floats.
    far = weightless | (log_s > 20)
    s = np.exp(np.where(far, 0, log_s))
    share: Array = np.where(far, 1.0, np.sqrt(np.pi) * s * erfcx(s))
    return share


BLOCK = 1 << 22
"""Matrix entries held at once."""


class Simulation(NamedTuple):
    """What single calls of Algorithm 1 did, one row a draw."""

    push_forward: Array
    r"""``(draws, d)``: :math:`u_i^\top \widetilde H v_i = \sigma_i (1 - z_i)`, along the singular vectors of ``H``."""
    spectrum: Array
    r"""``(draws, d)``: the singular values of :math:`\widetilde H`, in falling order."""


def simulate(
    sigma: ArrayLike, iterations: int = 1, draws: int = 1000, *, strength: float = 1.0, passes: int = 1, seed: int = 0
) -> Simulation:
    r"""Run Algorithm 1 many times on one random matrix with the given singular values.

    :math:`H = U \operatorname{diag}(\sigma) V^\top` with random orthogonal :math:`U` and :math:`V`.

    Args:
        sigma: Singular values ``(d,)``.
        iterations: Power iterations ``k ≥ 0``.
        draws: Number of calls, each with a random direction of its own.
        strength: ``s``, the share of the projection that is subtracted.
        passes: ``p``, how often it is done in turn.
        seed: Of the matrix and of the directions.
    """
    values, k = checked_spectrum(sigma), checked_iterations(iterations)
    if values.ndim != 1:
        raise InputError(f"A simulation takes one spectrum (d,), not an array of shape {values.shape}.")
    if not isinstance(draws, int | np.integer) or draws < 1:
        raise InputError(f"A simulation takes one draw or more, not {draws}.")
    d = len(values)
    generator = torch.Generator().manual_seed(seed)
    u, v = (torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=generator)).Q for _ in range(2))
    h = (u * torch.from_numpy(values)) @ v.T
    parts = []
    for start in range(0, draws, max(1, BLOCK // d**2)):
        count = min(draws - start, max(1, BLOCK // d**2))
        h_tilde = power_iteration(h.expand(count, d, d), k, strength=strength, passes=passes, generator=generator)
        along = torch.einsum("ni,bnm,mi->bi", u, h_tilde, v)
        parts.append((along.numpy(), torch.linalg.svdvals(h_tilde).numpy()))
    return Simulation(*(np.concatenate(part) for part in zip(*parts, strict=True)))
