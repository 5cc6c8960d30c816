"""A product of rank-one projections in compact WY form, ``I - R T Rᵀ``."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor


class RankOneProduct(NamedTuple):
    r"""The matrix :math:`W = (I - s\,Q_1 Q_1^\top) \cdots (I - s\,Q_p Q_p^\top)`, kept as :math:`I - R T R^\top`.

    As in products of Householder reflections, ``W`` is never made, and ``H W`` is two thin products however many
    factors there are.
    """

    directions: Tensor
    """``R = [Q₁ … Q_p]``, ``(..., d, m)``."""
    weights: Tensor | float
    """``T``, ``(..., m, m)``, upper triangular; a number ``s`` stands for ``s I``."""

    @classmethod
    def empty(cls, h: Tensor) -> RankOneProduct:
        """Return the product without factors, the identity, for feature maps like ``h`` ``(..., n, d)``."""
        return cls(h.new_empty(*h.shape[:-2], h.shape[-1], 0), 0.0)

    def followed_by(self, q: Tensor, strength: float) -> RankOneProduct:
        """Return this one times ``I - s Q Qᵀ``, for orthonormal columns ``Q`` ``(..., d, q)``."""
        one = RankOneProduct(q, strength)
        if self.directions.shape[-1] == 0:
            return one
        r, t, corner = self.directions, self._matrix(), one._matrix()
        above = torch.cat([t, -strength * (t @ (r.mT @ q))], dim=-1)
        below = torch.cat([corner.new_zeros(*corner.shape[:-1], t.shape[-1]), corner], dim=-1)
        return RankOneProduct(torch.cat([r, q], dim=-1), torch.cat([above, below], dim=-2))

    def times(self, v: Tensor) -> Tensor:
        """Compute ``W v`` for columns ``v`` ``(..., d, m)``."""
        return v - self.directions @ (self._matrix() @ (self.directions.mT @ v))

    def transposed_times(self, v: Tensor) -> Tensor:
        """Compute ``Wᵀ v``."""
        return v - self.directions @ (self._matrix().mT @ (self.directions.mT @ v))

    def to(self, dtype: torch.dtype) -> RankOneProduct:
        """Return the same product in another precision."""
        weights = self.weights.to(dtype) if isinstance(self.weights, Tensor) else self.weights
        return RankOneProduct(self.directions.to(dtype), weights)

    def _matrix(self) -> Tensor:
        if isinstance(self.weights, Tensor):
            return self.weights
        r = self.directions
        eye = torch.eye(r.shape[-1], dtype=r.dtype, device=r.device)
        return (eye * self.weights).expand(*r.shape[:-2], -1, -1)
