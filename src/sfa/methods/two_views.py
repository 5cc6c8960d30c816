"""The paper's framework: two views, one encoder, a spectral slot, a head, a loss."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.methods.base import Method, Observer, Spectral, Views
from sfa.modes import full_precision


class TwoViewMethod(Method):
    """Views → encoder → spectral map → head → loss (the paper's framework figure).

    A method is a subclass that says what its :meth:`loss` is, and sets its ``head`` if it has one.

    Args:
        encoder: Any module that embeds the data (:func:`sfa.nn.as_encoder`).
        augmentation: Makes two views of the data, ``(data, generator) -> (view, view)``; by default the authors'.
        spectral: The map applied to both feature maps while training, or several in order.
    """

    takes_augmentation = True

    def __init__(self, encoder: nn.Module, augmentation: Views | None = None, *, spectral: Spectral = None) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head: nn.Module = nn.Identity()

    @abstractmethod
    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        """Compute the scalar to minimize from the two views' projections ``(n, p)``."""

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        views = self.augmentation(data, generator)
        maps = self.encode(self.encoder, views, data, generator)
        h_alpha, h_beta = self.apply_spectral(*maps, generator=generator, observe=observe)
        with full_precision(self.head(h_alpha), self.head(h_beta)) as (z_alpha, z_beta):
            return self.loss(z_alpha, z_beta)
