"""Parts of a user's own, which recipes name by ``module:Class``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment import Augmentation
from sfa.methods import GRACE
from sfa.sampling import WholeGraph
from sfa.spectral import SpectralMap


class Scaled(GRACE):
    """GRACE with a required option; what it does not name goes to GRACE."""

    def __init__(self, encoder: nn.Module, augmentation: Any = None, *, factor: float, **options: Any) -> None:
        super().__init__(encoder, augmentation, **options)
        self.factor = factor

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return self.factor * super().loss(z_alpha, z_beta)


class Mine(GRACE):
    """GRACE under another name, with authors' settings of its own."""

    defaults = {"encoder": {"hidden": 6}, "training": {"epochs": 3}}  # noqa: RUF012


class Linear(nn.Module):
    """An encoder whose annotations are no types, and that takes anything."""

    def __init__(self, in_channels: "no type at all", width: "nor this" = 5, **anything: "nor that") -> None:  # type: ignore[valid-type,syntax] # noqa: F722
        super().__init__()
        self.linear = nn.Linear(in_channels, width)
        self.anything = anything

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.linear(x)


class Untyped(nn.Module):
    """An encoder with a required argument and no annotations."""

    def __init__(self, in_channels, out_channels, *, bias=True):  # type: ignore[no-untyped-def]
        super().__init__()
        self.linear = nn.Linear(in_channels, out_channels, bias=bias)

    def forward(self, x, edge_index):  # type: ignore[no-untyped-def]
        return self.linear(x)


class Jitter(Augmentation):
    """Adds noise to the features."""

    task = "node"

    def __init__(self, scale: float) -> None:
        self.scale = scale

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        view = data.clone()
        view.x = data.x + self.scale * torch.randn(data.x.shape, generator=generator)
        return view


class Halve(SpectralMap):
    """Divides by a number."""

    def __init__(self, by: float = 2.0) -> None:
        super().__init__()
        self.by = by

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return h / self.by


class Shift:
    """A step of postprocessing."""

    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, z: Tensor, data: Data) -> Tensor:
        return z + self.by


class Everything(WholeGraph):
    """A sampler."""


NUMBER = 3
