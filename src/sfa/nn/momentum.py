"""Networks made from another's weights: targets that follow an online network slowly, and perturbed copies."""

import copy
import math
from typing import TypeVar

import torch
from torch import Tensor, nn

from sfa.ranges import check_number

Network = TypeVar("Network", bound=nn.Module)


def make_target(online: Network) -> Network:
    """Copy a network with weights of its own, equal at first, that no optimizer trains.

    In training mode its batch normalization normalizes with the batch at hand, as in the code of BGRL's authors.
    """
    return copy.deepcopy(online).requires_grad_(False)


@torch.no_grad()
def update_target_(target: nn.Module, online: nn.Module, momentum: float) -> None:
    r"""Move a target's parameters towards an online network's: :math:`\phi \leftarrow m \phi + (1 - m) \theta`.

    Buffers stay: a batch normalization keeps the running statistics of the batches that the target itself has seen.
    """
    check_number("momentum", momentum, at_most=1)
    for phi, theta in zip(target.parameters(), online.parameters(), strict=True):
        phi.lerp_(theta, 1 - momentum)


def cosine_momentum(done: float, start: float) -> float:
    """Compute the momentum when a fraction ``done`` of training is done: it rises from ``start`` to 1 along a cosine.

    >>> [round(cosine_momentum(done, 0.99), 4) for done in (0.0, 0.5, 1.0)]
    [0.99, 0.995, 1.0]
    """
    return 1 - (1 - start) * (math.cos(math.pi * done) + 1) / 2


@torch.no_grad()
def perturbed(network: nn.Module, eta: float, generator: torch.Generator | None = None) -> dict[str, Tensor]:
    """Add Gaussian noise of ``eta`` times its own standard deviation to each parameter of a network (SimGRACE)."""
    noisy = {name: theta.detach() for name, theta in network.named_parameters()}
    for name, theta in noisy.items():
        if theta.numel() > 1:  # one number has no deviation
            noise = torch.randn(theta.shape, generator=generator, dtype=theta.dtype, device=theta.device)
            noisy[name] = theta + eta * theta.std() * noise
    return noisy
