"""The training parts of a batch, in coordinates that suit a solver."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence


@dataclass(frozen=True)
class Parts:
    """Training parts of a batch, padded with rows of zeros, which no product sees.

    Attributes:
        x: Rows ``(parts, n, r)``: a constant 1, then coordinates of the centred embeddings, over ``scale``.
        x_single: The same in float32.
        energy: Sum of squares of each column, float32 ``(parts, r)``.
        labels: Positions among the classes, ``(parts, n)``.
        valid: 1 for a row, 0 for padding, ``(parts, n)``.
        counts: Rows of each class, ``(parts, k)``.
        basis: Rows ``(parts, r - 1, d)``, orthonormal or zero, that turn coordinates into embeddings.
        mean: What was taken off, ``(parts, d)``.
        scale: Length of the longest centred row, so that float32 has room for any embedding.
    """

    x: Tensor
    x_single: Tensor
    energy: Tensor
    labels: Tensor
    valid: Tensor
    counts: Tensor
    basis: Tensor
    mean: Tensor
    scale: float

    @classmethod
    def of(cls, rows: Sequence[Tensor], labels: Sequence[Tensor]) -> Parts:
        mean = torch.stack([part.mean(0) for part in rows])
        centred = pad_sequence([part - m for part, m in zip(rows, mean, strict=True)], batch_first=True)
        valid = pad_sequence([torch.ones_like(part[:, :1]) for part in rows], batch_first=True)
        coordinates, basis = _coordinates(centred)
        scale = float(torch.linalg.vector_norm(centred, dim=2).amax()) or 1.0
        x = torch.cat([valid, coordinates / scale], 2)
        x_single = x.float()
        return cls(
            x=x,
            x_single=x_single,
            energy=x_single.square().sum(1),
            labels=pad_sequence(list(labels), batch_first=True),
            valid=valid.squeeze(2),
            counts=torch.stack([part.bincount() for part in labels]).double(),
            basis=basis,
            mean=mean,
            scale=scale,
        )


def _coordinates(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Coordinates ``(parts, n, r)`` and basis ``(parts, r, d)`` in which ``rowsᵀ rows`` is diagonal, or nearly.

    Rotations leave the penalty as it is. With more rows than columns one rotation serves all parts, as they are samples
    of the same embeddings; with fewer, each part's own has but as many directions as rows.
    """
    if rows.shape[2] <= rows.shape[1]:
        basis = torch.linalg.eigh((rows.mT @ rows).sum(0)).eigenvectors.mT
        return rows @ basis.mT, basis.expand(len(rows), -1, -1)
    eigenvalues, u = torch.linalg.eigh(rows @ rows.mT)
    kept = eigenvalues > 1e-12 * eigenvalues[:, -1:]
    sigma = torch.where(kept, eigenvalues, 0).sqrt()
    inverse = torch.where(kept, eigenvalues, torch.inf).rsqrt()
    return u * sigma.unsqueeze(1), inverse.unsqueeze(2) * (u.mT @ rows)
