"""Random views of images in the strengths that were published for each method."""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.image.views import STRENGTHS, Augmentation, random_view, to_float


class RandomViews:
    """Two views of a batch of images; calling it draws them, every image with parameters of its own.

    Args:
        augmentation: One of :data:`~sfa.image.views.STRENGTHS`, by name.
    """

    def __init__(self, augmentation: Augmentation) -> None:
        if augmentation not in STRENGTHS:
            raise unknown_name("augmentation", augmentation, STRENGTHS)
        self.strengths = STRENGTHS[augmentation]

    def __call__(self, batch: Data, generator: torch.Generator | None = None) -> tuple[Tensor, Tensor]:
        """Views alpha and beta, ``(b, channels, height, width)`` in [0, 1]."""
        images = to_float(batch.x)
        alpha, beta = (random_view(images, strengths, generator) for strengths in self.strengths)
        return alpha, beta
