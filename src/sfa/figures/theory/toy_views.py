"""Two toy views whose singular vectors differ, and gradient steps that bring them together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sfa.spectral import SpectralFeatureAugmentation
from sfa.spectral.base import SpectralMap
from sfa.theory import push_forward
from sfa.theory.spectra import Array

WIDTH = 16
"""Of the maps: singular vectors in pairs, each pair the plane of one turn."""
ANGLE = 40.0
"""Degrees by which every pair of view beta is turned away from that of view alpha."""
NEAR = 4.0
"""Degrees at which the leading pair counts as aligned."""
STEP = 0.004
"""Size of a gradient step."""


@dataclass(frozen=True)
class ToyViews:
    """``H = U diag(σ) Vᵀ`` of view alpha, and of beta the same with its right singular vectors turned."""

    u: Tensor
    sigma: Tensor
    v: Tensor
    turn: Tensor
    """Orthogonal ``(d, d)``: ``v_i`` of beta is ``turn v_i``."""

    @property
    def alpha(self) -> Tensor:
        return (self.u * self.sigma) @ self.v.T

    @property
    def beta(self) -> Tensor:
        return self.alpha @ self.turn.T

    def rebalanced(self) -> ToyViews:
        """Both maps as the layer leaves them on average: the same vectors, values φ(σ; 1)."""
        return replace(self, sigma=torch.from_numpy(push_forward(self.sigma.numpy(), 1).mean))

    def angles(self) -> Array:
        """Degrees between the singular vectors of the two views, the mean of each pair."""
        cosine = torch.einsum("di,di->i", self.v, self.turn @ self.v).clamp(-1, 1)
        degrees: Array = torch.rad2deg(cosine.acos()).reshape(-1, 2).mean(1).numpy()
        return degrees


def make_views(seed: int = 0) -> ToyViews:
    """Singular values that fall like i^-½, random singular vectors, every pair turned by :data:`ANGLE`."""
    generator = torch.Generator().manual_seed(seed)
    u, v = (torch.linalg.qr(torch.randn(WIDTH, WIDTH, dtype=torch.float64, generator=generator)).Q for _ in range(2))
    sigma = 2.6 * torch.arange(1, WIDTH + 1, dtype=torch.float64) ** -0.5
    angle = torch.deg2rad(torch.tensor(ANGLE, dtype=torch.float64))
    plane = torch.stack([torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])])
    turn = v @ torch.kron(torch.eye(WIDTH // 2, dtype=torch.float64), plane) @ v.T
    return ToyViews(u, sigma, v, turn)


def align(views: ToyViews, *, spectral: bool, seed: int = 0) -> Iterator[ToyViews]:
    """Gradient descent on the turn of beta: the views after each step, for ever.

    The loss is the paper's alignment term, ``-Tr(H̃αᵀ H̃β)``, of maps that went through the layer, with fresh directions
    for each view and step, or through nothing.
    """
    layer = SpectralFeatureAugmentation() if spectral else SpectralMap()
    generator = torch.Generator().manual_seed(seed)
    while True:
        skew = torch.zeros(WIDTH, WIDTH, dtype=torch.float64, requires_grad=True)
        beta = views.beta @ torch.matrix_exp(skew - skew.T).T
        loss = -(layer(views.alpha, generator=generator) * layer(beta, generator=generator)).sum()
        (gradient,) = torch.autograd.grad(loss, skew)
        views = replace(views, turn=torch.matrix_exp(-STEP * (gradient - gradient.T)) @ views.turn)
        yield views


def until_near(path: Iterator[ToyViews]) -> tuple[ToyViews, int]:
    """The first views on a path whose leading pair is aligned, and their step."""
    return next((views, step) for step, views in enumerate(path, start=1) if views.angles()[0] <= NEAR)
