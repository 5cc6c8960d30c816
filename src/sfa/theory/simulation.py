"""Algorithm 1 run on a random matrix with given singular values (the paper's simulation)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike

from sfa.errors import InputError
from sfa.law.spectra import Array, checked_iterations, checked_spectrum
from sfa.spectral import power_iteration

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
