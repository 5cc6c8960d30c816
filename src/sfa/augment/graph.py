"""Views of many small graphs: the augmentations of GraphCL, for all graphs of a batch at once."""

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.base import Augmentation
from sfa.errors import unknown_name
from sfa.graph import batches
from sfa.graph.batches import rewire
from sfa.graph.walks import draw_below
from sfa.ranges import Share
from sfa.registry import register
from sfa.tasks import num_items

AUGMENTATIONS = ("identity", "node-drop", "edge-perturb", "attribute-mask", "subgraph")
IDENTITY, NODE_DROP, EDGE_PERTURB, ATTRIBUTE_MASK, SUBGRAPH = range(5)
RANDOM = ("node-drop", "subgraph", "edge-perturb", "attribute-mask")  # in the order of GraphCL's code
Kinds = Literal[
    "identity", "node-drop", "edge-perturb", "attribute-mask", "subgraph", "random2", "random3", "random4", "all"
]
A_FIFTH = {"node_drop": 0.2, "edge_drop": 0.2, "attribute_mask": 0.2, "subgraph_keep": 0.8}
"""The rates of GraphCL's semi-supervised experiments and of JOAO: every kind changes a fifth of a graph."""


@register("augmentation", "random-choice")
@dataclass(repr=False, eq=False)
class RandomChoice(Augmentation):
    """Augment every graph of a batch by one kind of augmentation, drawn for it alone (GraphCL).

    From `"Graph Contrastive Learning with Augmentations" <https://arxiv.org/abs/2010.13902>`_ (You et al., 2020). A
    subgraph is the paper's, grown node by node (:func:`grow`); the authors' code takes it from the neighbors of the
    first node alone. Rates are those of their code for the sets of TU Dortmund.

    Args:
        kinds: ``random2`` (a node drop or a subgraph), ``random3`` (or an edge perturbation), ``random4`` (or an
            attribute mask) or ``all`` (or nothing), each as likely; or one of ``identity``, ``node-drop``,
            ``edge-perturb``, ``attribute-mask`` and ``subgraph`` for all graphs.
        node_drop: Fraction of nodes that a node drop removes.
        edge_drop: Fraction of edges that an edge perturbation removes.
        edge_add: Fraction of edges that it adds.
        attribute_mask: Fraction of nodes whose features an attribute mask replaces by noise.
        subgraph_keep: Fraction of nodes that a subgraph keeps.
        both_views: Augment view alpha too; otherwise it is the graphs as they are.
    """

    task = "graph"

    kinds: Kinds = "random4"
    node_drop: Share = 0.1
    edge_drop: Share = 0.1
    edge_add: Share = 0.0
    attribute_mask: Share = 0.1
    subgraph_keep: Share = 0.2
    both_views: bool = True

    def __post_init__(self) -> None:
        if self.kinds not in get_args(Kinds):
            raise unknown_name("augmentation", self.kinds, get_args(Kinds))
        for name in ("node_drop", "edge_drop", "edge_add", "attribute_mask", "subgraph_keep"):
            batches.check_rate(name, getattr(self, name), 1)

    @property
    def probabilities(self) -> Tensor:
        """Return how likely each of the :data:`AUGMENTATIONS` is to be drawn, ``(5,)``."""
        groups = {"all": AUGMENTATIONS, "random2": RANDOM[:2], "random3": RANDOM[:3], "random4": RANDOM}
        among = groups.get(self.kinds, (self.kinds,))
        return torch.tensor([float(name in among) / len(among) for name in AUGMENTATIONS])

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        if index == 0 and not self.both_views:
            return data
        probabilities = self.probabilities.to(data.x.device)
        return self.apply(data, probabilities.multinomial(num_items(data), True, generator=generator), generator)

    def apply(self, data: Data, choices: Tensor, generator: torch.Generator | None = None) -> Data:
        """Augment each graph by the kind chosen for it, a place in :data:`AUGMENTATIONS`: ``choices`` are ``(G,)``.

        A rate is that of ``floor(rate · n)`` nodes or undirected edges; a node drop and a subgraph leave one node at
        least. Noise has mean and deviation 0.5. A view shares with the batch what has not changed.
        """
        batches.check_batch(data)
        nodes, graph = data.ptr.diff(), data.batch
        chosen = choices.bincount(minlength=5).tolist()

        def counts_of(kind: int, rate: float, sizes: Tensor) -> Tensor:
            return batches.rate_counts(rate, sizes).where(choices == kind, 0)

        view, keep = batches.with_edges(data, data.edge_index, data.edge_weight), None
        if chosen[EDGE_PERTURB]:
            edges = batches.undirected_edges(data)
            drop, add = (counts_of(EDGE_PERTURB, rate, edges) for rate in (self.edge_drop, self.edge_add))
            view = rewire(data, drop, add, generator)
        if chosen[ATTRIBUTE_MASK]:
            masked = counts_of(ATTRIBUTE_MASK, self.attribute_mask, nodes).index_select(0, graph)
            rows = (batches.random_ranks(graph, nodes, generator) < masked).nonzero().squeeze(1)
            noise = data.x.new_empty(len(rows), data.x.shape[1]).normal_(0.5, 0.5, generator=generator)
            view.x = data.x.index_copy(0, rows, noise)
        if chosen[NODE_DROP]:
            dropped = counts_of(NODE_DROP, self.node_drop, nodes).minimum((nodes - 1).clamp_min(0))
            keep = batches.random_ranks(graph, nodes, generator) >= dropped.index_select(0, graph)
        if chosen[SUBGRAPH]:
            sizes = batches.rate_counts(self.subgraph_keep, nodes).maximum(nodes.clamp_max(1))
            inside = grow(data, sizes.where(choices == SUBGRAPH, 0), generator)
            others = (choices != SUBGRAPH).index_select(0, graph)
            keep = inside | (others if keep is None else others & keep)
        return view if keep is None else batches.induce(view, keep)


def grow(data: Data, counts: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""Grow a connected piece of so many nodes ``(G,)`` in each graph: ``(N,)``, true for the nodes that are in one.

    A piece starts at a node drawn uniformly, and a node drawn uniformly from the neighbors of the piece is added until
    it is large enough or there are none (GraphCL, Section 3.2). Instead of a step for every node, every node :math:`v`
    has a clock, :math:`e_v \sim \mathrm{Exp}(1)`, which starts when its first neighbor is added, so that it rings at
    :math:`T_v = e_v + \min_{u \sim v} T_u`. An exponential clock forgets how long it has run: the next to ring is any
    of those that run, each as likely. :math:`T` is a shortest path, found by relaxing all edges at once.
    """
    nodes = data.batch
    clock = torch.empty(len(nodes), dtype=torch.float64, device=counts.device).exponential_(generator=generator)
    start = data.ptr[:-1] + draw_below(data.ptr.diff(), generator)
    time = torch.full_like(clock, torch.inf).index_fill_(0, start[counts > 0], 0)
    growing = (counts > 1).index_select(0, nodes.index_select(0, data.edge_index[0]))
    row, col = data.edge_index.index_select(1, growing.nonzero().squeeze(1))
    wait = clock.index_select(0, col)
    for _ in range(int(counts.max()) - 1 if len(counts) else 0):
        sooner = time.scatter_reduce(0, col, time.index_select(0, row) + wait, "amin")
        if torch.equal(sooner, time):
            break
        time = sooner
    reached = time.isfinite().nonzero().squeeze(1)
    reached = reached[time.index_select(0, reached).argsort()]
    reached = reached[nodes.index_select(0, reached).argsort(stable=True)]
    graph = nodes.index_select(0, reached)
    rank = batches.rank_in_group(graph, graph.bincount(minlength=len(counts)))
    first = rank < counts.index_select(0, graph)
    return torch.zeros_like(nodes, dtype=torch.bool).index_fill_(0, reached[first], True)
