"""Activation functions by name, with their randomness passed in."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from sfa.errors import unknown_name


class RandomisedReLU(nn.Module):
    """RReLU: negative values are scaled by a random slope in training, by the mean slope in ``eval()``.

    PyTorch's own draws from the global generator, which would make a run depend on what ran before it.
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        if not self.training:
            return nn.functional.leaky_relu(x, (self.lower + self.upper) / 2)
        slope = torch.empty_like(x).uniform_(self.lower, self.upper, generator=generator)
        return torch.where(x >= 0, x, slope * x)


Activation = Literal["relu", "prelu", "rrelu", "elu"]

ACTIVATIONS: dict[Activation, type[nn.Module]] = {
    "relu": nn.ReLU,
    "prelu": nn.PReLU,
    "rrelu": RandomisedReLU,
    "elu": nn.ELU,
}


def make_activation(name: Activation) -> nn.Module:
    """A new activation module."""
    if name not in ACTIVATIONS:
        raise unknown_name("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]()


def activate(activation: nn.Module, x: Tensor, generator: torch.Generator | None) -> Tensor:
    """Apply an activation, handing the generator to the one kind that draws."""
    result: Tensor = activation(x, generator) if isinstance(activation, RandomisedReLU) else activation(x)
    return result
