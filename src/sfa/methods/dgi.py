"""DGI: deep graph infomax (Veličković et al., 2019), and MVGRL, which does it between views (Hassani et al., 2020)."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment import ShuffleFeatures
from sfa.augment.diffusion import require_diffusion
from sfa.losses import jensen_shannon
from sfa.methods.base import Method, Observer, Spectral, Views
from sfa.nn.adapt import renewed
from sfa.nn.heads import BilinearDiscriminator
from sfa.registry import register


@register("method", "dgi")
class DGI(Method):
    """Tell the nodes of the graph from those of one with shuffled features, by a summary of the graph.

    From `"Deep Graph Infomax" <https://arxiv.org/abs/1809.10341>`_ (Veličković et al., 2019). The loss is
    :func:`~sfa.losses.jensen_shannon` of bilinear scores with the summary, the sigmoid of the mean over nodes. Defaults
    are the authors' for Cora. The weights after the epoch of lowest loss are kept; the authors keep those before it.
    """

    takes_augmentation = True
    chance = 0.693147  # log 2
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


@register("method", "mvgrl")
class MVGRL(Method):
    """Tell nodes from corrupted ones as DGI does, the nodes of one view by the summary of the other.

    From `"Contrastive Multi-View Representation Learning on Graphs" <https://arxiv.org/abs/2006.05582>`_ (Hassani and
    Khasahmadi, 2020). View alpha is the graph, view beta its :class:`~sfa.augment.Diffusion`, and each has an encoder
    of its own; the embedding is the sum of their outputs. This is the authors' method for nodes, without projection
    heads. Defaults are theirs for Cora, on the whole graph where they crop 2,000 nodes at a time.
    """

    takes_augmentation = True
    saves_memory = "keep fewer entries of the diffusion by --set augmentation.top_k=32, and train in --batch-size 1024"
    chance = 0.693147  # log 2
    defaults = {
        "encoder": {"hidden": 512, "layers": 1, "widths": "constant", "activation": "prelu"},
        "augmentation": {"name": "diffusion"},
        "training": {"epochs": 3000, "lr": 1e-3, "weight_decay": 0.0, "patience": 20, "restore_best": True},
    }

    def __init__(self, encoder: nn.Module, augmentation: Views = None, *, spectral: Spectral = None) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.diffusion_encoder = renewed(self.encoder)
        self.discriminator = BilinearDiscriminator(self.width)
        self.diffusion = require_diffusion(self.augmentation, self.encoder, type(self).__name__)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        alpha, beta = self.diffusion(data, generator)
        corrupted = ShuffleFeatures().view(data, generator, 1)
        maps = []
        for view, diffused in ((alpha, beta), (corrupted, self.diffusion.diffuse(data, into=corrupted))):
            maps += self.encode(self.encoder, [view], data, generator)
            maps += self.encode(self.diffusion_encoder, [diffused], data, generator)
        h_alpha, h_beta, c_alpha, c_beta = self.apply_spectral(*maps, generator=generator, observe=observe)
        s_alpha, s_beta = h_alpha.mean(0).sigmoid(), h_beta.mean(0).sigmoid()  # summaries of the views
        positive = torch.cat([self.discriminator(h_alpha, s_beta), self.discriminator(h_beta, s_alpha)])
        negative = torch.cat([self.discriminator(c_alpha, s_beta), self.discriminator(c_beta, s_alpha)])
        return jensen_shannon(positive, negative)

    def embeddings(self, data: Data) -> Tensor:
        z: Tensor = self.encoder.embed(data) + self.diffusion_encoder.embed(self.diffusion.diffuse(data))
        return z
