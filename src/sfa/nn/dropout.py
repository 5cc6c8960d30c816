"""Dropout whose randomness is passed in, of dense features and of sparse ones."""

from __future__ import annotations

import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.matrices import csr_matrix


def dropout(x: Tensor, rate: float, generator: torch.Generator | None = None) -> Tensor:
    """Each entry of ``x`` is 0 with probability ``rate``, and ``1 / (1 - rate)`` times itself else.

    Of a CSR matrix the stored values are dropped, which is all that can be: the rest is 0. PyTorch's own draws from the
    global generator, which would make a run depend on what ran before it.
    """
    if not 0 <= rate <= 1:
        raise InputError(f"A dropout rate is a probability from 0 to 1, not {rate}.")
    if rate == 0:
        return x
    if x.layout == torch.sparse_csr:
        values = dropout(x.values(), rate, generator)
        return csr_matrix(x.crow_indices(), x.col_indices(), values, (x.shape[0], x.shape[1]))
    kept = torch.empty_like(x).bernoulli_(1 - rate, generator=generator)
    return x * (kept if rate == 1 else kept.div_(1 - rate))
