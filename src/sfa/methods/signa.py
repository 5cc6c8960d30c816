"""SIGNA: single-view graph contrastive learning with soft neighborhood awareness (Sun et al., 2025)."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph.structure import take_rows
from sfa.graph.walks import Transitions, draw_uniform
from sfa.losses import normalized_jensen_shannon
from sfa.methods.base import Method, Observer, Spectral
from sfa.methods.stored import SideBySide, encoded_spread
from sfa.modes import full_precision
from sfa.nn.heads import projection_head
from sfa.postprocess import Propagate
from sfa.ranges import FewNatural, Share, Width
from sfa.registry import register
from sfa.tasks import num_seed_nodes


@register("method", "signa")
class SIGNA(Method):
    r"""Draw a node to itself or to a neighbor, both seen through dropout, and away from other nodes: one view.

    From `"Single-View Graph Contrastive Learning with Soft Neighborhood Awareness" <https://arxiv.org/abs/2412.09261>`_
    (Sun et al., AAAI 2025). The loss is :func:`~sfa.losses.normalized_jensen_shannon`. The encoder is an MLP: training
    needs the graph only to draw neighbors, and a step costs the same in any graph. The authors train on the whole
    graph, attract all neighbors that are not masked, and embed with the encoder alone. Here a node has one positive,
    by default in batches, and the embedding is :math:`[Z, \hat A Z, \hat A^2 Z]`, each with unit rows. An encoder that
    uses edges takes the sampler ``whole``, or ``neighbours`` with as many fanouts as it has layers.

    Args:
        mask: Probability that the neighbor of a node is masked; the positive is then the node itself.
        projection: Inner width of the projector.
        hops: Number of propagated embeddings beside the encoder's; if 0, the encoder's are left as they are.
    """

    spans_processes = True
    embeds_stores = True
    chance = 1.386294  # 2 log 2
    defaults = {
        "encoder": {
            "name": "mlp",
            "hidden": 512,
            "inner": 1024,
            "dropout": 0.4,
            "activation": "prelu",
            "layer_norm": True,
            "activate_last": True,
        },
        "sampler": {"name": "neighbours", "batch_size": 1024, "fanouts": [1]},
        "training": {"epochs": 75, "optimizer": "adamw", "lr": 1e-3, "weight_decay": 0.0, "patience": None},
    }

    def __init__(
        self,
        encoder: nn.Module,
        *,
        mask: Share = 0.5,
        projection: Width = 256,
        hops: FewNatural = 2,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, spectral=spectral)
        self.mask, self.hops = mask, hops
        self.head = projection_head(self.width, projection)

    def partners(self, data: Data, generator: torch.Generator | None) -> Tensor:
        """Draw the positive ``(k,)`` of each of ``k`` roots: a random neighbor, or itself if masked or isolated."""
        own = torch.arange(num_seed_nodes(data), device=data.x.device)
        neighbor = Transitions.of(data).step(own, generator)
        return torch.where(draw_uniform(own, generator) < self.mask, own, neighbor)

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        count, partners = num_seed_nodes(data), self.partners(data, generator)
        if getattr(self.encoder, "uses_edges", True):
            maps = [self.encoder(data, generator)[rows] for rows in (slice(count), partners)]
        else:  # no other rows are needed
            rows = torch.cat([torch.arange(count, device=partners.device), partners])
            maps = list(self.encoder(Data(x=take_rows(data.x, rows)), generator).split(count))
        h_alpha, h_beta = self.apply_spectral(*maps, generator=generator, observe=observe)
        with full_precision(self.head(h_alpha), self.head(h_beta)) as (z_alpha, z_beta):
            return normalized_jensen_shannon(z_alpha, z_beta, across_processes=self.across_processes)

    @torch.no_grad()
    def embeddings(self, data: Data) -> Tensor:
        """Compute ``(n, (hops + 1) width)``."""
        if self.embeds_from_disk(data):
            parts = encoded_spread(self.encoder, data, lambda rows: rows, hops=self.hops, alpha=0.0)
            return SideBySide(len(data.x), [one.rows for one in parts]).product()
        z: Tensor = self.encoder.embed(data)
        return z if self.hops == 0 else Propagate(self.hops, concat=True)(z, data)
