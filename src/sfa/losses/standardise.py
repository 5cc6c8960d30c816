"""Columns of mean 0 and deviation 1, over one batch or over the rows of all processes."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError


def standardised(z_alpha: Tensor, z_beta: Tensor, *, eps: float, across_processes: bool) -> tuple[Tensor, Tensor, int]:
    """Two views of one shape ``(n, d)`` with every column standardised over the batch, and ``n``.

    Args:
        z_alpha: Embeddings ``(n, d)`` of the first view.
        z_beta: The same nodes in the second view.
        eps: Added to the standard deviations, which are unbiased, so that a constant column stays finite.
        across_processes: The rows of all processes are one batch (:mod:`sfa.distributed`), ``n`` in all; some may hold
            none. Half precision is widened to float32 then.
    """
    spread = across_processes and distributed.world_size() > 1
    if z_alpha.shape != z_beta.shape or z_alpha.dim() != 2 or (z_alpha.shape[0] < 2 and not spread):
        raise InputError(
            f"Two views of one shape (n, d) with n ≥ 2 are needed, not {tuple(z_alpha.shape)}, {tuple(z_beta.shape)}."
        )
    if spread:
        return _across_processes(z_alpha, z_beta, eps)
    return _columns(z_alpha, eps), _columns(z_beta, eps), len(z_alpha)


def _columns(z: Tensor, eps: float) -> Tensor:
    """Columns of mean 0 and deviation 1.

    The deviation is that of the centred column itself: of a constant column only rounding remains, and a deviation
    computed apart from it could be 0 where that is not.
    """
    centred = z - z.mean(0)
    deviation: Tensor = torch.linalg.vector_norm(centred, dim=0) / math.sqrt(len(z) - 1)
    return centred / (deviation + eps)


def _across_processes(z_alpha: Tensor, z_beta: Tensor, eps: float) -> tuple[Tensor, Tensor, int]:
    """The same of the rows of all processes, from sums over them."""
    n = distributed.count_rows(z_alpha)
    if n < 2:
        raise InputError(f"Two views with n ≥ 2 rows on all processes together are needed, not {n}.")
    both = torch.cat([z_alpha, z_beta], dim=1)
    both = both.to(torch.promote_types(both.dtype, torch.float32))
    centred = both - distributed.all_reduce_sum(both.sum(0)) / n
    squares = distributed.all_reduce_sum(centred.square().sum(0))
    # The root of 0 has no gradient; a column that never changes has none either.
    deviation = torch.where(squares > 0, squares, 1).sqrt() * (squares > 0) / math.sqrt(n - 1)
    alpha, beta = (centred / (deviation + eps)).chunk(2, dim=1)
    return alpha, beta, n
