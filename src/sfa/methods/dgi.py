"""DGI: deep graph infomax (Veličković et al., 2019)."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.losses import jensen_shannon
from sfa.methods.base import Method, Observer, Spectral, Views
from sfa.nn.heads import BilinearDiscriminator
from sfa.registry import register


@register("method", "dgi")
class DGI(Method):
    """Tell the nodes of the graph from those of one with shuffled features, by a summary of the graph.

    From `"Deep Graph Infomax" <https://arxiv.org/abs/1809.10341>`_ (Veličković et al., 2019). The loss is
    :func:`~sfa.losses.jensen_shannon` of bilinear scores with the summary, the sigmoid of the mean over nodes. Defaults
    are the authors' for Cora. Training ends with the weights after the epoch of lowest loss, where the authors keep
    those before its step.
    """

    takes_augmentation = True
    defaults = {
        "encoder": {"hidden": 512, "layers": 1, "widths": "constant", "activation": "prelu"},
        "augmentation": {"name": "shuffle"},
        "training": {"epochs": 10_000, "lr": 1e-3, "weight_decay": 0.0, "patience": 20, "restore_best": True},
    }

    def __init__(self, encoder: nn.Module, augmentation: Views = None, *, spectral: Spectral = None) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.discriminator = BilinearDiscriminator(self.width)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        maps = self.encode(self.encoder, self.augmentation(data, generator), data, generator)
        h, h_corrupted = self.apply_spectral(*maps, generator=generator, observe=observe, views=1)
        s = h.mean(0).sigmoid()  # the summary of the graph
        return jensen_shannon(self.discriminator(h, s), self.discriminator(h_corrupted, s))
