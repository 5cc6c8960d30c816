"""SGRL: scattering graph representation learning (He et al., 2024)."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.losses import bootstrap_latent, scattering
from sfa.methods.base import Method, Observer, Spectral
from sfa.methods.bgrl import make_target, update_target_
from sfa.modes import full_precision
from sfa.nn.heads import projection_head
from sfa.nn.sparse import propagation_of
from sfa.postprocess import propagate
from sfa.ranges import FewNatural, Share, Width, check_whole
from sfa.registry import register
from sfa.tasks import num_seed_nodes


@register("method", "sgrl")
class SGRL(Method):
    r"""Scatter the embeddings of one encoder, and predict them from the neighborhoods of another: one view.

    From "Exploitation of a Latent Mechanism in Graph Contrastive Learning: Representation Scattering" (He et al.,
    NeurIPS 2024). A target encoder learns to keep the directions of its embeddings :math:`T` away from their mean by
    :func:`~sfa.losses.scattering`. The online encoder's :math:`H + \hat A^k H` predicts them by
    :func:`~sfa.losses.bootstrap_latent`, without a gradient to the target. After each step the target moves towards the
    online encoder. The embeddings are :math:`H + \hat A^k H`. Where the authors take a step of the online encoder,
    then move the target, then take a step of it, both steps are taken here before the target moves.

    Args:
        hops: Number ``k`` of propagations.
        prediction: Hidden width of the predictor.
        momentum: Momentum of the target encoder.
    """

    chance = 0.0  # two orthogonal directions, and a mean direction of length 0
    defaults = {
        "encoder": {"hidden": 1024, "layers": 1, "activation": "prelu"},
        "training": {"epochs": 700, "lr": 1e-3, "weight_decay": 0.0, "patience": None},
    }

    def __init__(
        self,
        encoder: nn.Module,
        *,
        hops: FewNatural = 1,
        prediction: Width = 1024,
        momentum: Share = 0.99,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, spectral=spectral)
        check_whole("hops", hops, 0)
        self.hops, self.momentum = hops, momentum
        self.predictor = projection_head(self.width, prediction, "prelu")
        self.target = make_target(self.encoder).requires_grad_()

    def setup(self, data: Data) -> None:
        super().setup(data)
        self.target.load_state_dict(self.encoder.state_dict())

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        count = num_seed_nodes(data)
        h = spread = self.encoder(data, generator)
        for _ in range(self.hops):
            spread = propagation_of(data, h.dtype) @ spread
        maps = (h + spread)[:count], self.target(data, generator)[:count]
        h, t = self.apply_spectral(*maps, generator=generator, observe=observe)
        with full_precision(self.predictor(h), t) as (q, t):
            return bootstrap_latent(q, t.detach()) / 2 + scattering(t)

    def after_step(self, done: float) -> None:
        update_target_(self.target, self.encoder, self.momentum)

    @torch.no_grad()
    def embeddings(self, data: Data) -> Tensor:
        h: Tensor = self.encoder.embed(data)
        spread = h
        for _ in range(self.hops):
            spread = propagate(spread, propagation_of(data, h.dtype))
        return h + spread
