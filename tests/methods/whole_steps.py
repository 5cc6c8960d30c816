"""Small image batches, and what a test of a whole step needs: parts of a method run by hand, and all gradients."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.methods import Method
from sfa.nn.image_encoder import to_float
from sfa.spectral import SpectralMap


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def images(count: int = 6, channels: int = 3, size: int = 8, seed: int = 0) -> Data:
    """A batch of noise; the same as a set, which has no labels."""
    x = torch.randint(0, 256, (count, size, size, channels), generator=seeded(seed), dtype=torch.uint8)
    return Data(x=x, images=torch.arange(count))


def pixels(batch: Data) -> Tensor:
    """What an encoder is given where views are the images themselves."""
    return to_float(batch.x).double()


class Changes(SpectralMap):
    """Gives each map of a step a change of its own, and remembers what it was given, call by call."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[Tensor, ...]] = []

    def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
        self.calls.append(maps)
        return changed(*maps)


def changed(*maps: Tensor) -> tuple[Tensor, ...]:
    return tuple(h.tanh() + (number + 1) * h.roll(1, dims=1) for number, h in enumerate(maps))


def gradients(method: Method, loss: Tensor) -> dict[str, Tensor]:
    """Of every trained weight, by name."""
    trained = {name: weight for name, weight in method.named_parameters() if weight.requires_grad}
    return dict(zip(trained, torch.autograd.grad(loss, list(trained.values())), strict=True))


def cosine(one: Tensor, other: Tensor) -> Tensor:
    return one @ other / (one @ one).sqrt() / (other @ other).sqrt()
