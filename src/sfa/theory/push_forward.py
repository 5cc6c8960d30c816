"""The push-forward function of the incomplete power iteration, its simulation, and bounds on it."""

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import erfcx

from sfa.errors import InputError
from sfa.ranges import check_whole
from sfa.spectral import power_iteration
from sfa.theory.removed_fraction import Method, moments
from sfa.theory.spectra import Array, checked_spectrum, log_weights, sums_of_others

BLOCK = 1 << 22  # matrix entries of a simulation held at once


class PushForward(NamedTuple):
    """The expectation of what singular values ``(..., d)`` become, and the deviation of single draws."""

    mean: Array
    deviation: Array


class Simulation(NamedTuple):
    r"""Results ``(draws, d)`` of single calls of Algorithm 1.

    ``push_forward`` holds :math:`u_i^\top \widetilde H v_i = \sigma_i (1 - z_i)`, along the singular vectors of ``H``,
    and ``spectrum`` the singular values of :math:`\widetilde H`, in descending order.
    """

    push_forward: Array
    spectrum: Array


def push_forward(sigma: ArrayLike, iterations: int = 1, method: Method = "exact") -> PushForward:
    r"""Compute the push-forward function :math:`\phi(\sigma_i; k) = \sigma_i (1 - \lambda_i(k))` and its deviation.

    :math:`\phi` is the spectrum of :math:`\mathbb{E}\,\widetilde H`. In one call of Algorithm 1 the singular vectors
    carry :math:`u_i^\top \widetilde H v_i = \sigma_i (1 - z_i)`, which has that mean and the deviation
    :math:`\sigma_i \omega_i`. The arguments are those of :func:`~sfa.theory.expectation`.
    """
    values = checked_spectrum(sigma)
    fractions = moments(values, iterations, method)
    return PushForward(values * fractions.complement, values * np.sqrt(fractions.variance))


def simulate(
    sigma: ArrayLike, iterations: int = 1, draws: int = 1000, *, strength: float = 1.0, passes: int = 1, seed: int = 0
) -> Simulation:
    r"""Run Algorithm 1 ``draws`` times on one random matrix with singular values ``(d,)`` (the paper's simulation).

    :math:`H = U \operatorname{diag}(\sigma) V^\top` with random orthogonal :math:`U` and :math:`V`; the options are
    those of :func:`~sfa.spectral.power_iteration`.
    """
    values = checked_spectrum(sigma)
    if values.ndim != 1:
        raise InputError(f"A simulation takes one spectrum (d,), not an array of shape {values.shape}.")
    check_whole("draws", draws, 1)
    d = len(values)
    generator = torch.Generator().manual_seed(seed)
    u, v = (torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=generator)).Q for _ in range(2))
    h = (u * torch.from_numpy(values)) @ v.T
    parts = []
    for start in range(0, draws, step := max(1, BLOCK // d**2)):
        batch = h.expand(min(draws - start, step), d, d)
        h_tilde = power_iteration(batch, iterations, strength=strength, passes=passes, generator=generator)
        along = torch.einsum("ni,bnm,mi->bi", u, h_tilde, v)
        parts.append((along.numpy(), torch.linalg.svdvals(h_tilde).numpy()))
    return Simulation(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def upper_bound(sigma: ArrayLike) -> Array:
    r"""Compute the paper's bound :math:`\bar\phi(\sigma_i) = \min(\sigma_i, \max_{j \ne i} \sigma_j)`, known as AxMin.

    It does **not hold in general**, first for 8 values with ``k = 1``, 19 with ``k = 2``; :func:`jensen_bound` does.
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
