"""Diagnostics of a feature map's spectrum: singular values, effective rank, and what tells its classes apart."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

NEGLIGIBLE = 4
"""Directions whose singular value is below that of so many times the rounding of the entries have no signal."""


def singular_values(h: Tensor) -> Tensor:
    r"""Compute the singular values of ``h`` ``(n, d)`` in falling order, float64, on the CPU; NaN if it is not finite.

    They are the roots of the eigenvalues of the Gram matrix of the thin side,

    .. math::
        \sigma_i(H) = \sqrt{\lambda_i(H^\top H)} \quad (n \ge d), \qquad \sqrt{\lambda_i(H H^\top)} \quad (n < d),

    which costs one product and no decomposition of the long side. Squaring halves the digits of tiny values: those
    below some ``1e-8 σ₁`` are rounding. A float32 map has no digits there in any case.
    """
    h = to_float64(h)
    size = min(h.shape)
    largest = h.abs().amax() if h.numel() else h.new_zeros(())
    if not largest.isfinite():  # LAPACK would raise
        return torch.full((size,), torch.nan, dtype=torch.float64)
    if largest == 0:
        return torch.zeros(size, dtype=torch.float64)
    h = h / largest  # squares of 1e±200 are no numbers
    gram = h.mT @ h if h.shape[0] >= h.shape[1] else h @ h.mT
    eigenvalues: Tensor = torch.linalg.eigvalsh(gram).flip(0).clamp_min(0)  # rounding makes some negative
    return (eigenvalues.sqrt() * largest).cpu()


def effective_rank(h: Tensor) -> float:
    r"""Compute how many directions a feature map uses, from 1 to min(n, d); 0 if it is zero (Roy and Vetterli, 2007).

    The exponential of the entropy of the normalized singular values:

    .. math::
        \exp\Big( -\sum_i p_i \log p_i \Big), \qquad p_i = \sigma_i \Big/ \sum_j \sigma_j

    Args:
        h: A feature map ``(n, d)``, or its singular values where they are at hand.
    """
    sigma = h if h.dim() == 1 else singular_values(h)
    if sigma.sum() == 0:
        return 0.0
    share = sigma / sigma.sum()
    return float(torch.special.entr(share).sum().exp())


def label_signal(z: Tensor, y: NDArray[np.int64]) -> Tensor:
    r"""Return the share of the differences between classes in each singular direction, the strongest one first.

    With the singular vectors :math:`U` of the centered embedding and the orthonormal basis :math:`Q` of all vectors
    that are constant on every class and have mean 0,

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
    # The class means times the root of their members: rows of Qᵀ Z up to a rotation, as Z is centered.
    between = sums / torch.from_numpy(members).double().sqrt()[:, None] @ directions[:, kept]
    signal[kept] = between.square().sum(0) / eigenvalues[kept] / (len(classes) - 1)
    return signal


def to_float64(h: Tensor) -> Tensor:
    """Return ``h`` without its history, in float64; on its own device if that has the precision (Apple's has not)."""
    h = h.detach()
    return (h.cpu() if h.device.type == "mps" else h).double()
