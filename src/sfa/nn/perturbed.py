"""Weights with noise: the perturbed encoder of SimGRACE."""

from __future__ import annotations

import torch
from torch import Tensor, nn


@torch.no_grad()
def perturbed(network: nn.Module, eta: float, generator: torch.Generator | None = None) -> dict[str, Tensor]:
    """Add Gaussian noise of ``eta`` times its own standard deviation to each parameter of a network.

    A parameter of one number has no deviation, and gets no noise.
    """
    return {name: _noisy(theta.detach(), eta, generator) for name, theta in network.named_parameters()}


def _noisy(theta: Tensor, eta: float, generator: torch.Generator | None) -> Tensor:
    if theta.numel() < 2:
        return theta
    noise = torch.randn(theta.shape, generator=generator, dtype=theta.dtype, device=theta.device)
    return theta + eta * theta.std() * noise
