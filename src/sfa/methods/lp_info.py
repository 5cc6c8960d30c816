"""LP-Info: bringing your own view, by learned priors (You et al., 2022)."""

from typing import Any, Literal, NamedTuple, get_args

import torch
from torch import Tensor, nn
from torch.distributions import Normal, kl_divergence
from torch.nn.functional import embedding, softplus
from torch_geometric.data import Data
from torch_geometric.utils import softmax

from sfa.errors import TrainingError, unknown_name
from sfa.graph.batches import induce, rewire, sum_pool, undirected_edges, with_edges
from sfa.graph.structure import CSRStructure, expand_rowptr, sort_edges, structure_of
from sfa.graph.walks import Transitions, draw_below, random_walks
from sfa.methods.base import Observer
from sfa.methods.graphcl import GraphCL
from sfa.nn.adapt import renewed
from sfa.ranges import FewCount, NonNegative, Share, Width
from sfa.registry import register

Principle = Literal["min", "bn", "both"]


@register("method", "lp-info")
class LPInfo(GraphCL):
    r"""Contrast two views of each graph that two generators draw, and train these to draw views that are hard.

    From `"Bringing Your Own View: Graph Contrastive Learning without Prefabricated Data Augmentations"
    <https://arxiv.org/abs/2201.01702>`_ (You et al., 2022). The encoder minimizes the loss of
    :class:`~sfa.methods.GraphCL` between both views, and each generator (:class:`ViewGenerator`)

    .. math::
        \frac1b \sum_g \big( r_g\, \mathcal{R}_g + \beta\, \mathcal{D}_g \big), \qquad
        r_g = 1 \text{ if } c_g > \tfrac1b \sum_{g'} c_{g'} \text{ else } \delta

    with its reconstruction :math:`\mathcal{R}`, its divergence :math:`\mathcal{D}` and the hardness ``c``: by
    ``principle``, the loss of the views (``min``), that of another encoder that learns to find the embedding of a view
    (``bn``), or both. With the authors' weight of the divergence, 1, generators forget their graph.

    Args:
        latent: Width of the generators' latent space.
        principle: ``min``, ``bn`` or ``both``.
        walks: Walks by which a view is drawn (the authors take 4, of 10 steps, for the dense graphs of COLLAB).
        length: Steps of a walk.
        least: Probability of a step; less likely ones are not taken.
        delta: Reward for a graph that was easier than the mean.
        divergence: Weight :math:`\beta` of the generators' divergence.
    """

    takes_augmentation = False  # but draws them itself
    requires_row_identity = True  # of graphs, each of which has a reward

    def __init__(
        self,
        encoder: nn.Module,
        *,
        latent: Width = 32,
        principle: Principle = "min",
        walks: FewCount = 16,
        length: FewCount = 20,
        least: Share = 0.1,
        delta: Share = 0.01,
        divergence: NonNegative = 0.1,
        **options: Any,
    ) -> None:
        if principle not in get_args(Principle):
            raise unknown_name("principle", principle, get_args(Principle))
        super().__init__(encoder, **options)
        walk: dict[str, Any] = {"walks": walks, "length": length, "least": least}
        self.generators = nn.ModuleList(ViewGenerator(renewed(self.encoder), latent, **walk) for _ in range(2))
        if principle != "min":
            self.bottleneck = renewed(self.encoder)
            self.bottleneck_head = self.make_head()
        self.principle, self.delta, self.divergence = principle, delta, divergence

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        contrast, bottleneck, prior = self.objectives(data, generator, observe)
        return contrast + bottleneck + prior

    def objectives(
        self, data: Data, generator: torch.Generator | None, observe: Observer | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the objectives of encoder and projector, of the bottleneck's (or 0), and of the generators."""
        generated = [draw(data, generator) for draw in self.generators]
        networks = [self.encoder] if self.principle == "min" else [self.encoder, self.bottleneck]
        maps = [network(one.view, generator) for network in networks for one in generated]
        h_alpha, h_beta, *h_bottleneck = self.apply_spectral(*maps, generator=generator, observe=observe)
        z_alpha, z_beta = self.head(h_alpha), self.head(h_beta)
        contrast = self.loss(z_alpha, z_beta, of_each=True)  # (b,)
        bottleneck = torch.zeros_like(contrast)
        for h, z in zip(h_bottleneck, (z_alpha, z_beta), strict=False):
            bottleneck = bottleneck + self.loss(self.bottleneck_head(h), z.detach(), of_each=True)
        hardness = bottleneck if self.principle == "bn" else contrast + bottleneck
        reward = torch.where(hardness > hardness.mean(), 1.0, self.delta).to(hardness.dtype)
        priors = [reward * one.reconstruction + self.divergence * one.divergence for one in generated]
        return contrast.mean(), bottleneck.mean(), torch.stack(priors).sum(0).mean()


class Generated(NamedTuple):
    """A view of a batch, without gradient, and the two losses of its generator for each graph."""

    view: Data
    reconstruction: Tensor  # (G,), see reconstruction_of_each
    divergence: Tensor  # (G,), see divergence_of_each


class Candidates(NamedTuple):
    """``k`` undirected pairs of nodes of the same graph, in the order of (smaller, larger) node."""

    pairs: Tensor  # (2, k), the smaller node first
    graph: Tensor  # (k,): the graph of each
    joined: Tensor  # (k,): whether it is an edge of the batch
    stands_for: Tensor  # (k,): 1 for an edge; for another pair, how many of its graph there are to each that was drawn
    structure: CSRStructure  # the pairs in both directions, as entries of a matrix


class ViewGenerator(nn.Module):
    r"""Encode nodes as Gaussians, decode edges from a sample of them, and draw a view by walks on the decoded edges.

    .. math::
        z_i \sim \mathcal{N}\big( \mu_i, \operatorname{diag}(\sigma_i^2) \big), \qquad
        s_{ij} = f(z_i \odot z_j), \qquad p(A_{ij} = 1) = \frac{1}{1 + e^{-s_{ij}}}, \qquad
        p(i \to j) = \frac{e^{s_{ij}}}{\sum_{k \neq i} e^{s_{ik}}}

    with perceptrons on the encoder's output for :math:`\mu` and :math:`\sigma`, and another for :math:`f`. A view has
    the nodes that so many ``walks`` of a ``length`` pass and the steps that they take as its edges; a step goes to any
    other node of the graph by :math:`p(i \to j)`, where probabilities below ``least`` count as 0 unless all are. The
    authors decode all pairs of a graph; here they are the :func:`candidate_pairs`, so that memory is linear.
    """

    def __init__(self, encoder: Any, hidden: int, *, walks: int, length: int, least: float) -> None:
        super().__init__()
        self.encoder = encoder
        self.mean = nn.Sequential(nn.Linear(encoder.width, hidden), nn.ReLU(), nn.Linear(hidden, hidden))
        layers = nn.Linear(encoder.width, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.Softplus()
        self.deviation = nn.Sequential(*layers)
        self.decoder = nn.Sequential(nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        self.walks, self.length, self.least = walks, length, least

    def forward(self, batch: Data, generator: torch.Generator | None = None) -> Generated:
        h = self.encoder.nodes(batch, generator)
        mu, sigma = self.mean(h), self.deviation(h) + 1e-6  # the divergence takes its logarithm
        z = mu + sigma * torch.empty_like(mu).normal_(generator=generator)
        candidates = candidate_pairs(batch, generator)
        scores = self.decoder(embedding(candidates.pairs[0], z) * embedding(candidates.pairs[1], z)).squeeze(1)
        if not bool(scores.isfinite().all()):
            raise TrainingError("The scores of a view generator are no longer numbers: try a smaller learning rate.")
        transitions = Transitions(candidates.structure, step_chances(candidates, scores.detach(), self.least))
        return Generated(
            walked_view(batch, transitions, self.walks, self.length, generator),
            reconstruction_of_each(candidates, scores, len(batch.ptr) - 1),
            divergence_of_each(mu, sigma, batch.ptr),
        )


def candidate_pairs(batch: Data, generator: torch.Generator | None = None) -> Candidates:
    """Return all edges of a batch of graphs and, in each graph, a uniform sample of as many pairs that are none."""
    edges = undirected_edges(batch)
    union = rewire(with_edges(batch, batch.edge_index, None), torch.zeros_like(edges), edges, generator).edge_index
    pairs = union[:, union[0] < union[1]]
    graph = batch.batch.index_select(0, pairs[0])
    joined = Transitions(structure_of(batch)).joins(*pairs)
    nodes = batch.ptr.diff()
    others, drawn = nodes * (nodes - 1) // 2 - edges, graph[~joined].bincount(minlength=len(nodes))
    weight = (others / drawn.clamp_min(1)).to(batch.x.dtype).index_select(0, graph).where(~joined, 1)
    return Candidates(pairs, graph, joined, weight, CSRStructure(union, batch.num_nodes))


def step_chances(candidates: Candidates, scores: Tensor, least: float) -> Tensor:
    r"""Compute :math:`p(i \to j) \propto w_{ij}\, e^{s_{ij}}` from scores ``(k,)``, ``(2 k,)`` in both directions.

    The number :math:`w` of pairs that a candidate stands for makes the sum an estimate of that over all pairs. Pairs
    that each have less than ``least`` of it are left out, unless a node would be left with none.
    """
    structure = candidates.structure
    number, n = structure.undirected[0], structure.num_nodes
    row = expand_rowptr(structure.edge_rowptr)
    weight = candidates.stands_for.index_select(0, number)
    chances: Tensor = softmax(scores.index_select(0, number) + weight.log(), row, num_nodes=n)
    kept = chances >= least * weight
    some = torch.zeros(n, dtype=torch.bool, device=row.device).index_fill(0, row[kept], True)
    return chances.where(kept | ~some.index_select(0, row), 0)


def walked_view(
    batch: Data, transitions: Transitions, walks: int, length: int, generator: torch.Generator | None = None
) -> Data:
    """Return the nodes and, without weights, the steps of ``walks`` random walks of ``length`` steps on each graph."""
    nodes = batch.ptr.diff()
    first, size = batch.ptr[:-1][nodes > 0, None], nodes[nodes > 0, None]
    seeds = first + draw_below(size.expand(-1, walks), generator)
    paths = random_walks(transitions, seeds.flatten(), length, generator)  # (length + 1, G walks)
    passed = torch.zeros(batch.num_nodes, dtype=torch.bool, device=paths.device).index_fill(0, paths.flatten(), True)
    here, there = paths[:-1].flatten(), paths[1:].flatten()
    here, there = here[here != there], there[here != there]
    steps, _ = sort_edges(torch.cat([here, there]), torch.cat([there, here]), batch.num_nodes)
    return induce(with_edges(batch, steps, None), passed)


def reconstruction_of_each(candidates: Candidates, scores: Tensor, graphs: int) -> Tensor:
    r"""Compute how badly the scores ``(k,)`` of its pairs tell each graph's edges from other pairs, ``(G,)``.

    It is the mean of :math:`\log( 1 + e^{-s} )` over edges plus that of :math:`\log( 1 + e^s )` over other pairs.
    """
    graph, joined = candidates.graph, candidates.joined
    kind = 2 * graph + joined
    share = softplus(scores.where(~joined, -scores)) / kind.bincount(minlength=2 * graphs).index_select(0, kind)
    return share.new_zeros(graphs).index_add(0, graph, share)


def divergence_of_each(mu: Tensor, sigma: Tensor, ptr: Tensor) -> Tensor:
    r"""Sum :math:`\mathrm{KL}(\mathcal{N}(\mu_i, \sigma_i^2) \| \mathcal{N}(0, I)) / n^2` over each graph's nodes."""
    of_node = kl_divergence(Normal(mu, sigma), Normal(torch.zeros_like(mu), torch.ones_like(sigma))).sum(1)
    return sum_pool(of_node, ptr) / ptr.diff().clamp_min(1).square()
