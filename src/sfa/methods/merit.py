"""MERIT: multi-scale contrastive Siamese networks for graph representation learning (Jin et al., 2021)."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment.diffusion import require_diffusion
from sfa.losses import info_nce, nt_xent
from sfa.methods.base import Method, Observer, Spectral, Views
from sfa.methods.bgrl import make_target, update_target_
from sfa.methods.dgi import MVGRL
from sfa.nn.heads import prelu_head
from sfa.ranges import Share, Width
from sfa.registry import register


@register("method", "merit")
class MERIT(Method):
    """Contrast a node's two views with each other, and each with a slowly following network's map of the other.

    From `"Multi-Scale Contrastive Siamese Networks for Self-Supervised Graph Representation Learning"
    <https://arxiv.org/abs/2105.05682>`_ (Jin et al., 2021). View alpha lacks edges, view beta is the graph's diffusion,
    and both lack features. InfoNCE is of cosines, without a temperature; negatives are the rows of the second view and,
    between views, those of the first too. The embedding is the sum of those of the graph and of its diffusion. Defaults
    are the authors' for Cora, on the whole graph where they crop 2,000 nodes, and edges are removed but none added.

    Args:
        head_hidden: Hidden width of projector and predictor.
        head_width: Width of projections and predictions.
        beta: Weight of the contrast of views; that of networks has the rest.
        momentum: Fraction of itself that the target network keeps at each step.
    """

    takes_augmentation = True
    compares_all_pairs = True
    saves_memory = MVGRL.saves_memory
    defaults = {
        "encoder": {"hidden": 512, "layers": 1, "widths": "constant", "activation": "prelu"},
        "augmentation": {"name": "diffusion", "alpha": 0.05, "edge_drop": 0.2, "feature_drop": (0.5, 0.5)},
        "training": {"epochs": 600, "lr": 3e-4, "weight_decay": 0.0, "patience": None},
    }

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Width = 4096,
        head_width: Width = 512,
        beta: Share = 0.5,
        momentum: Share = 0.8,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.diffusion = require_diffusion(self.augmentation, self.encoder, type(self).__name__)
        self.projector = prelu_head(self.width, head_hidden, head_width)
        self.predictor = prelu_head(head_width, head_hidden, head_width)
        self.target_encoder = make_target(self.encoder)
        self.target_projector = make_target(self.projector)
        self.beta, self.momentum = beta, momentum

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        views = self.diffusion(data, generator)
        online = self.encode(self.encoder, views, data, generator)
        with torch.no_grad():
            target = self.encode(self.target_encoder, views, data, generator)
        h_alpha, h_beta, t_alpha, t_beta = self.apply_spectral(*online, *target, generator=generator, observe=observe)
        p_alpha, p_beta = (self.predictor(self.projector(h)) for h in (h_alpha, h_beta))
        with torch.no_grad():
            z_alpha, z_beta = (self.target_projector(t) for t in (t_alpha, t_beta))
        # Both contrasts are means over both directions.
        intra = info_nce(p_alpha, p_beta, negatives="anchors") + info_nce(p_beta, p_alpha, negatives="anchors")
        of_views = nt_xent(p_alpha, p_beta, tau=1.0, intraview=False) + intra / 2
        of_networks = (info_nce(p_alpha, z_beta) + info_nce(p_beta, z_alpha)) / 2
        return self.beta * of_views + (1 - self.beta) * of_networks

    def after_step(self, done: float) -> None:
        update_target_(self.target_encoder, self.encoder, self.momentum)
        update_target_(self.target_projector, self.projector, self.momentum)

    def embeddings(self, data: Data) -> Tensor:
        z: Tensor = self.encoder.embed(data) + self.encoder.embed(self.diffusion.diffuse(data))
        return z
