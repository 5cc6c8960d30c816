"""SUGRL: simple unsupervised graph representation learning (Mo et al., 2022)."""

import copy
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph.walks import sampled_means
from sfa.losses import multiplet
from sfa.losses.negative_sampling import Form
from sfa.methods.base import Method, Observer, Spectral
from sfa.nn.adapt import read_old_name
from sfa.nn.layers import dropout as drop_entries
from sfa.nn.sparse import propagation_of
from sfa.ranges import FewCount, NonNegative, Share
from sfa.registry import register
from sfa.tasks import num_seed_nodes


@register("method", "sugrl")
class SUGRL(Method):
    r"""Draw a node's own embedding to that of its surroundings, away from other nodes': no views, no discriminator.

    From "Simple Unsupervised Graph Representation Learning" (Mo et al., AAAI 2022). Anchors are the encoder's output
    :math:`H`, structural positives :math:`\hat D^{-1/2} (A + I) \hat D^{-1/2} H`, neighbor positives means over draws
    from a node and its neighbors, negatives the anchors in random order; the loss is :func:`~sfa.losses.multiplet`. The
    embeddings are the structural positives, as in the authors' code. Defaults are the authors' for Cora.

    Args:
        dropout: Rate at which features are dropped.
        structural_dropout: Rate at which anchors are dropped before they are propagated.
        neighbours: Draws of a neighbor positive.
        negatives: Number of random orders.
        alpha: Margin by which positives are nearer than negatives.
        beta: How much farther negatives may lie.
        weights: Weights of the structural, the neighbor and the upper-bound loss.
        form: Form of the loss: that of the authors' ``code``, to which their weights belong, or of the ``paper``.
    """

    defaults = {
        "encoder": {"name": "mlp"},
        "training": {"epochs": 500, "lr": 5e-3, "weight_decay": 5e-5, "patience": None},
    }

    def __init__(
        self,
        encoder: nn.Module,
        *,
        dropout: Share = 0.3,
        structural_dropout: Share = 0.2,
        neighbours: FewCount = 5,
        negatives: FewCount = 4,
        alpha: NonNegative = 0.8,
        beta: NonNegative = 0.2,
        weights: tuple[NonNegative, NonNegative, NonNegative] = (10.0, 10.0, 1.0),
        form: Form = "code",
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, spectral=spectral)
        self.dropout, self.structural_dropout = dropout, structural_dropout
        self.neighbours, self.negatives = neighbours, negatives
        self.margins: dict[str, Any] = {"alpha": alpha, "beta": beta, "weights": weights, "form": form}
        read_old_name(self, "mlp", "encoder")

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        rates = (self.dropout, self.structural_dropout) if self.training else (0.0, 0.0)
        count, dropped = num_seed_nodes(data), copy.copy(data)
        dropped.x = drop_entries(data.x, rates[0], generator)
        h = self.encoder(dropped, generator)
        structural = propagation_of(data, h.dtype) @ drop_entries(h, rates[1], generator)
        neighbor = sampled_means(h, data, count, self.neighbours, generator)
        maps = (h[:count], structural[:count], neighbor)
        h, structural, neighbor = self.apply_spectral(*maps, generator=generator, observe=observe)
        orders = [torch.randperm(len(h), generator=generator, device=h.device) for _ in range(self.negatives)]
        return multiplet(h, structural, neighbor, torch.stack(orders), **self.margins)

    @torch.no_grad()
    def embeddings(self, data: Data) -> Tensor:
        h: Tensor = self.encoder.embed(data)
        return propagation_of(data, h.dtype) @ h
