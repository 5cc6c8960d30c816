"""Linear classifiers of the same rows, trained side by side by stochastic gradient descent with momentum."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class LinearClassifiers:
    r"""Several softmax classifiers and the momentum of each; a step of all is two matrix products.

    .. math::
        v \leftarrow \mu v + \nabla_W \Big( {-\tfrac1n} \sum_i \log \operatorname{softmax}(W^\top x_i + b)_{y_i} \Big),
        \qquad W \leftarrow W - \eta v,

    and likewise for the biases: the momentum of ``torch.optim.SGD``.

    Args:
        features: ``d``.
        count: How many classifiers, ``m``. They begin with the same weights.
        classes: ``k``.
        momentum: ``μ``.
        generator: Source of the first weights and biases, uniform within ``± 1/√d`` as those of ``torch.nn.Linear``.
    """

    def __init__(self, features: int, count: int, classes: int, *, momentum: float, generator: torch.Generator) -> None:
        bound = 1 / math.sqrt(features)
        first = torch.empty(features + 1, classes).uniform_(-bound, bound, generator=generator)
        self.w = first[:-1].unsqueeze(1).repeat(1, count, 1)
        """``(d, m, k)``"""
        self.b = first[-1].repeat(count, 1)
        """``(m, k)``"""
        self.velocities = torch.zeros_like(self.w), torch.zeros_like(self.b)
        self.momentum = momentum

    def scores(self, x: Tensor) -> Tensor:
        """``(n, m, k)`` of rows ``(n, d)``."""
        return torch.addmm(self.b.flatten(), x, self.w.flatten(1)).view(-1, *self.b.shape)

    def gradients(self, x: Tensor, scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Of the cross-entropy summed over the rows, by weights and by biases: ``Xᵀ (p - y)`` and ``1ᵀ (p - y)``.

        Args:
            x: Rows ``(n, d)``.
            scores: What :meth:`scores` gives for them.
            target: Their classes ``(n,)``.
        """
        residual = scores.softmax(2)
        residual[torch.arange(len(x), device=x.device), :, target] -= 1
        return (x.mT @ residual.flatten(1)).view_as(self.w), residual.sum(0)

    def step(self, gradients: tuple[Tensor, Tensor], lrs: Tensor) -> None:
        """A step down mean gradients, at a rate for each classifier, ``(m, 1)``."""
        for parameter, velocity, gradient in zip((self.w, self.b), self.velocities, gradients, strict=True):
            velocity.mul_(self.momentum).add_(gradient)
            parameter.sub_(lrs * velocity)

    def tensors(self) -> dict[str, Tensor]:
        """All that a step changes, by name."""
        velocity_w, velocity_b = self.velocities
        return {"w": self.w, "b": self.b, "velocity_w": velocity_w, "velocity_b": velocity_b}

    def to(self, device: torch.device) -> None:
        """Move all of it."""
        self.w, self.b = self.w.to(device), self.b.to(device)
        self.velocities = self.velocities[0].to(device), self.velocities[1].to(device)
