"""DGI: deep graph infomax (Veličković et al., 2019)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.losses import jensen_shannon
from sfa.methods.base import Method, Observer, Spectral, Views
from sfa.nn.heads import BilinearDiscriminator, summary
from sfa.registry import register


@register("method", "dgi")
class DGI(Method):
    r"""Tell the nodes of the graph from those of one with shuffled features, by a summary of the graph.

    From `"Deep Graph Infomax" <https://arxiv.org/abs/1809.10341>`_ (Veličković et al., 2019).

    .. math::
        \mathcal{L} = -\tfrac{1}{2n} \sum_i \Big[ \log \sigma\big( \tilde h_i^\top W s \big)
            + \log\big( 1 - \sigma( \tilde h_i^{-\top} W s ) \big) \Big], \qquad
        s = \sigma\Big( \tfrac1n \sum_i \tilde h_i \Big)

    with the maps :math:`H` of the graph and :math:`H^-` of the corrupted one. The spectral map acts on both, and the
    summary is that of the augmented map. Defaults are the authors' for Cora. Training ends with the weights after the
    epoch of lowest loss, where the authors keep those before its step.

    Args:
        augmentation: Makes the graph and a corrupted one; by default :class:`~sfa.augment.ShuffleFeatures`.
    """

    takes_augmentation = True

    defaults = {
        "encoder": {"hidden": 512, "layers": 1, "widths": "constant", "activation": "prelu"},
        "augmentation": {"name": "shuffle"},
        "training": {"epochs": 10_000, "lr": 1e-3, "weight_decay": 0.0, "patience": 20, "restore_best": True},
    }

    def __init__(self, encoder: nn.Module, augmentation: Views | None = None, *, spectral: Spectral = None) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.discriminator = BilinearDiscriminator(self.width)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        views = self.augmentation(data, generator)
        maps = self.encode(self.encoder, views, data, generator)
        h, h_corrupted = self.apply_spectral(*maps, generator=generator, observe=observe, views=1)
        s = summary(h)
        return jensen_shannon(self.discriminator(h, s), self.discriminator(h_corrupted, s))
