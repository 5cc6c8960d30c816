"""The learnt prior of LP-Info (You et al., 2022): a variational auto-encoder of graphs that draws views of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import embedding, softplus
from torch_geometric.data import Data

from sfa.errors import TrainingError
from sfa.graph.candidate_pairs import Candidates, candidate_pairs, step_chances, walked_view
from sfa.graph.pooling import sum_pool
from sfa.graph.walks import Transitions

LEAST_DEVIATION = 1e-6
"""Added to standard deviations, whose logarithm is taken."""


class Generated(NamedTuple):
    """A view of a batch, which carries no gradient, and what trains the generator that drew it, for each graph."""

    view: Data
    reconstruction: Tensor
    """``(G,)``, see :func:`reconstruction_of_each`."""
    divergence: Tensor
    """``(G,)``, see :func:`divergence_of_each`."""


class Objectives(NamedTuple):
    """Three scalars, each of which has a gradient in weights of its own."""

    contrast: Tensor
    """In the encoder and the projector."""
    bottleneck: Tensor
    """In the bottleneck's encoder and projector; 0 without them."""
    prior: Tensor
    """In the two generators."""


class ViewGenerator(nn.Module):
    r"""Encode nodes as Gaussians, decode from a sample of them which are joined, and walk along what was decoded.

    .. math::
        z_i \sim \mathcal{N}\big( \mu_i, \operatorname{diag}(\sigma_i^2) \big), \qquad
        s_{ij} = f(z_i \odot z_j), \qquad p(A_{ij} = 1) = \frac{1}{1 + e^{-s_{ij}}}, \qquad
        p(i \to j) = \frac{e^{s_{ij}}}{\sum_{k \neq i} e^{s_{ik}}}

    with perceptrons on the encoder's output for :math:`\mu` and :math:`\sigma`, and another for :math:`f`. A view is
    what some random walks on a graph pass, with the steps they take as its edges; a step goes to any other node of the
    graph by :math:`p(i \to j)`, where probabilities below ``least`` count as 0 unless all are.

    Public are the paper of LP-Info and code for semi-supervised learning and transfer: from that code are the
    generators, walks, rewards, ``delta`` and ``least``; encoder, temperature and training are GraphCL's for the sets of
    TU Dortmund. Ours are: views by the generators as they are and not as they were when the epoch began, one optimizer,
    and the weight of the divergence, which is 1 there: on MUTAG generators then forget their graph.

    The authors decode all pairs of a graph. Here they are its edges and as many others, drawn anew in every call
    (:func:`~sfa.graph.candidate_pairs.candidate_pairs`): memory is linear in nodes and edges.

    Args:
        encoder: Of nodes; their embeddings are ``encoder.width`` wide.
        hidden: Width of ``z`` and of the perceptrons.
        walks: Walks on each graph.
        length: Steps of a walk.
        least: Probability of a step.
    """

    def __init__(self, encoder: Any, hidden: int, *, walks: int, length: int, least: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.mean = nn.Sequential(nn.Linear(encoder.width, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        self.deviation = nn.Sequential(
            nn.Linear(encoder.width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.Softplus()
        )
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.walks, self.length, self.least = walks, length, least

    def forward(self, batch: Data, generator: torch.Generator | None = None) -> Generated:
        h = self.encoder.nodes(batch, generator)
        mu, sigma = self.mean(h), self.deviation(h) + LEAST_DEVIATION
        z = mu + sigma * torch.empty_like(mu).normal_(generator=generator)
        candidates = candidate_pairs(batch, generator)
        scores = self.decoder(embedding(candidates.pairs[0], z) * embedding(candidates.pairs[1], z)).squeeze(1)
        if not bool(scores.isfinite().all()):
            raise TrainingError("The scores of a view generator are no longer numbers: try a smaller learning rate.")
        transitions = Transitions(candidates.pattern, step_chances(candidates, scores.detach(), self.least))
        return Generated(
            walked_view(batch, transitions, self.walks, self.length, generator),
            reconstruction_of_each(candidates, scores, len(batch.ptr) - 1),
            divergence_of_each(mu, sigma, batch.ptr),
        )


def reconstruction_of_each(candidates: Candidates, scores: Tensor, graphs: int) -> Tensor:
    r"""``(G,)``: how badly the scores ``(k,)`` of its pairs tell each graph's edges from the others.

    .. math::
        \operatorname*{mean}_{A_{ij} = 1} \log\big( 1 + e^{-s_{ij}} \big)
            + \operatorname*{mean}_{A_{ij} = 0} \log\big( 1 + e^{s_{ij}} \big)

    A mean over no pairs is 0.
    """
    graph, joined = candidates.graph, candidates.joined
    kind = 2 * graph + joined
    share = softplus(scores.where(~joined, -scores)) / kind.bincount(minlength=2 * graphs).index_select(0, kind)
    return share.new_zeros(graphs).index_add(0, graph, share)


def divergence_of_each(mu: Tensor, sigma: Tensor, ptr: Tensor) -> Tensor:
    r"""``(G,)``: :math:`\frac{1}{n^2} \sum_i \mathrm{KL}\big( \mathcal{N}(\mu_i, \operatorname{diag} \sigma_i^2) \,\|\,
    \mathcal{N}(0, I) \big)` over the ``n`` nodes of each graph; 0 if there are none.

    The reconstruction is a mean over pairs, of which there are some :math:`n^2`.
    """
    of_node = kl_divergence(Normal(mu, sigma), Normal(torch.zeros_like(mu), torch.ones_like(sigma))).sum(1)
    return sum_pool(of_node, ptr) / ptr.diff().clamp_min(1).square()


def rewards(hardness: Tensor, delta: float) -> Tensor:
    """Return constants ``(b,)``: 1 for a graph that is harder than the mean, ``delta`` for the others."""
    return torch.where(hardness > hardness.mean(), 1.0, delta).to(hardness.dtype)
