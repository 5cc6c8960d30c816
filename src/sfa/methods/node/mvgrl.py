"""MVGRL: contrastive multi-view representation learning on graphs (Hassani and Khasahmadi, 2020)."""

from __future__ import annotations

import copy
from typing import Annotated, Any, ClassVar, Literal

import torch
from annotated_types import Interval
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph import GCN
from sfa.graph.activations import Activation
from sfa.graph.diffusion import heat_kernel, personalised_pagerank
from sfa.losses import jensen_shannon
from sfa.methods.base import Method, Observer, roots
from sfa.methods.infomax import Discriminator, shuffled, summary
from sfa.ranges import Count, Positive
from sfa.spectral import SpectralMap


class MVGRL(Method):
    r"""Tell nodes from corrupted ones as DGI does, the nodes of one view by the summary of the other.

    View alpha is the graph, view beta its diffusion, and each has an encoder of its own. With the scores
    :math:`D(h, s) = h^\top W s`, :math:`\operatorname{sp}(x) = \log(1 + e^x)` and the corrupted maps :math:`H^-`,

    .. math::
        \mathcal{L} = \tfrac{1}{4n} \sum_i \operatorname{sp}\big( -D(\tilde h_i^\alpha, s_\beta) \big)
            + \operatorname{sp}\big( -D(\tilde h_i^\beta, s_\alpha) \big)
            + \operatorname{sp}\big( D(\tilde h_i^{\alpha-}, s_\beta) \big)
            + \operatorname{sp}\big( D(\tilde h_i^{\beta-}, s_\alpha) \big).

    This is the authors' method for nodes: the readout is DGI's, the scores are bilinear, and there are no projection
    heads. The embedding is the sum of what both encoders give. The spectral map acts on all four maps. Defaults are the
    authors' for Cora, on the whole graph where they crop 2,000 nodes at a time; of a sampled batch, the diffusion is
    that of its subgraph.

    Args:
        in_features: Number of node features.
        hidden: Width of the embeddings.
        layers: Graph convolutions of either encoder, all of the same width.
        activation: Of the encoders: ``relu``, ``prelu``, ``rrelu`` or ``elu``.
        diffusion: ``ppr``, personalised PageRank, or ``heat``.
        alpha: Of personalised PageRank: the probability of stopping.
        t: Of the heat kernel: the time.
        tolerance: Up to which entries the diffusion is exact; smaller ones are left out.
        top_k: At most so many entries of each of its rows.
        spectral: The map applied to the four feature maps while training.
    """

    defaults: ClassVar[dict[str, Any]] = {
        "training.epochs": 3000,
        "training.lr": 1e-3,
        "training.weight_decay": 0.0,
        "training.patience": 20,
    }

    def __init__(
        self,
        in_features: int,
        *,
        hidden: Count = 512,
        layers: Count = 1,
        activation: Activation = "prelu",
        diffusion: Literal["ppr", "heat"] = "ppr",
        alpha: Annotated[float, Interval(gt=0, le=1)] = 0.2,
        t: Positive = 5.0,
        tolerance: Positive = 1e-4,
        top_k: Count | None = None,
        spectral: SpectralMap | None = None,
    ) -> None:
        super().__init__(spectral, hidden)
        self.encoder = GCN(in_features, hidden, layers=layers, widths="constant", activation=activation)
        self.diffusion_encoder = GCN(in_features, hidden, layers=layers, widths="constant", activation=activation)
        self.discriminator = Discriminator(hidden)
        self.diffusion = diffusion
        self.alpha = alpha
        self.t = t
        self.tolerance = tolerance
        self.top_k = top_k

    def diffused(self, graph: Data) -> Data:
        """View beta: the same nodes, with the diffusion in place of the adjacency."""
        view = copy.copy(graph)
        if self.diffusion == "ppr":
            view.propagation = personalised_pagerank(
                graph, alpha=self.alpha, tolerance=self.tolerance, top_k=self.top_k
            )
        else:
            view.propagation = heat_kernel(graph, t=self.t, tolerance=self.tolerance, top_k=self.top_k)
        return view

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        beta = self.diffused(graph)
        corrupted = shuffled(graph, generator)
        corrupted_beta = copy.copy(corrupted)
        corrupted_beta.propagation = beta.propagation
        maps = [
            encoder(view, generator)[: roots(graph)]
            for alpha_and_beta in ((graph, beta), (corrupted, corrupted_beta))
            for encoder, view in zip((self.encoder, self.diffusion_encoder), alpha_and_beta, strict=True)
        ]
        h_alpha, h_beta, corrupted_h_alpha, corrupted_h_beta = self.augmented(
            *maps, generator=generator, observe=observe
        )
        s_alpha, s_beta = summary(h_alpha), summary(h_beta)
        return jensen_shannon(
            torch.cat([self.discriminator(h_alpha, s_beta), self.discriminator(h_beta, s_alpha)]),
            torch.cat([self.discriminator(corrupted_h_alpha, s_beta), self.discriminator(corrupted_h_beta, s_alpha)]),
        )

    def embeddings(self, graph: Data) -> Tensor:
        return self.encoder.embed(graph) + self.diffusion_encoder.embed(self.diffused(graph))
