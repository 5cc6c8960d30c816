"""Which singular directions of an embedding tell its classes apart."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from sfa.evaluate.spectrum import to_float64

NEGLIGIBLE = 4
"""Directions whose singular value is below that of so many times the rounding of the entries have no signal."""


def label_signal(z: Tensor, y: NDArray[np.int64]) -> Tensor:
    r"""The share of the differences between classes that each singular direction holds, the strongest direction first.

    With the singular vectors :math:`U` of the centred embedding and the orthonormal basis :math:`Q` of all vectors that
    are constant on every class and have mean 0,

    .. math::
        s_i = \frac{\lVert Q^\top u_i \rVert^2}{C - 1}, \qquad \sum_i s_i \le 1,

    so that the sum over the first directions is the part of the class memberships that a linear model of these alone
    explains (the trace of Pillai and Bartlett over its maximum). A random direction has :math:`1 / (n - 1)`, so that as
    many directions as items explain everything by chance alone.

    Args:
        z: Embeddings ``(n, d)``, finite.
        y: Their classes ``(n,)``, at least two.

    Returns:
        ``(min(n, d),)``, float64, on the CPU.
    """
    rounding = NEGLIGIBLE * torch.finfo(z.dtype).eps * (z.shape[0] ** 0.5 + z.shape[1] ** 0.5)
    z = to_float64(z).cpu()
    z = z / z.abs().amax().clamp_min(1e-300) if z.numel() else z  # squares of 1e±200 are no numbers
    z = z - z.mean(0)
    classes, of_row, members = np.unique(y, return_inverse=True, return_counts=True)
    signal = torch.zeros(min(z.shape), dtype=torch.float64)
    if not z.numel():
        return signal
    eigenvalues, directions = torch.linalg.eigh(z.mT @ z)
    eigenvalues, directions = eigenvalues.flip(0)[: len(signal)], directions.flip(1)[:, : len(signal)]
    kept = eigenvalues > rounding**2
    sums = torch.zeros(len(classes), z.shape[1], dtype=torch.float64)
    sums.index_add_(0, torch.from_numpy(of_row), z)
    # The class means times the root of their members: rows of Qᵀ Z up to a rotation, as Z is centred.
    between = sums / torch.from_numpy(members).double().sqrt()[:, None] @ directions[:, kept]
    signal[kept] = between.square().sum(0) / eigenvalues[kept] / (len(classes) - 1)
    return signal
