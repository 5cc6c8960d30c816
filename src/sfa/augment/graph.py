"""Views of many small graphs: the augmentations of GraphCL (You et al., 2020, Table 1), all graphs of a batch at once.

A batch is the disjoint union of its graphs, as torch_geometric makes it: ``x`` ``(N, d)``, ``edge_index`` ``(2, m)``
with both directions, ``ptr`` ``(G + 1,)`` and ``batch`` ``(N,)``. A view is a new batch of as many graphs in the same
order, which shares with the old one what has not changed. How many nodes or edges a rate makes of a graph is exact, and
which ones is drawn at random. A graph without nodes stays so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.base import Augmentation
from sfa.errors import InputError, unknown_name
from sfa.graph import batches
from sfa.graph.draws import draw_below
from sfa.graph.rewiring import rewire
from sfa.ranges import Share, check_whole
from sfa.registry import register
from sfa.tasks import num_items

AUGMENTATIONS = ("identity", "node-drop", "edge-perturb", "attribute-mask", "subgraph")
"""What can happen to a graph; a choice is a place in this tuple."""
IDENTITY, NODE_DROP, EDGE_PERTURB, ATTRIBUTE_MASK, SUBGRAPH = range(len(AUGMENTATIONS))

NOISE = (0.5, 0.5)  # mean and standard deviation of the features of a masked node


@dataclass(frozen=True)
class GraphRates:
    """How far each augmentation goes; the defaults are the authors' for TUDataset."""

    node_drop: float = 0.1
    edge_drop: float = 0.1
    edge_add: float = 0.0
    attribute_mask: float = 0.1
    subgraph_keep: float = 0.2

    def __post_init__(self) -> None:
        for field in fields(self):
            batches.check_rate(field.name, getattr(self, field.name), 1)


Kinds = Literal[
    "identity", "node-drop", "edge-perturb", "attribute-mask", "subgraph", "random2", "random3", "random4", "all"
]
"""One augmentation for all graphs; or each graph by one of the first two, three or four of :data:`RANDOM`, or of all
five of :data:`AUGMENTATIONS`."""

RANDOM = ("node-drop", "subgraph", "edge-perturb", "attribute-mask")
"""What ``random2``, ``random3`` and ``random4`` choose among, each as likely, in the order of GraphCL's code."""

A_FIFTH = {"node_drop": 0.2, "edge_drop": 0.2, "attribute_mask": 0.2, "subgraph_keep": 0.8}
"""The rates of GraphCL's semi-supervised experiments and of JOAO: every kind changes a fifth of a graph."""


@register("augmentation", "random-choice")
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

    def __init__(
        self,
        kinds: Kinds = "random4",
        node_drop: Share = 0.1,
        edge_drop: Share = 0.1,
        edge_add: Share = 0.0,
        attribute_mask: Share = 0.1,
        subgraph_keep: Share = 0.2,
        both_views: bool = True,
    ) -> None:
        self.kinds = kinds
        self.probabilities = probabilities_of(kinds)
        """``(5,)``, how likely each of the :data:`AUGMENTATIONS` is to be drawn."""
        self.rates = GraphRates(node_drop, edge_drop, edge_add, attribute_mask, subgraph_keep)
        self.both_views = both_views

    def __repr__(self) -> str:
        rates = ", ".join(f"{name}={rate!r}" for name, rate in vars(self.rates).items())
        return f"{type(self).__name__}(kinds={self.kinds!r}, {rates}, both_views={self.both_views!r})"

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        if index == 0 and not self.both_views:
            return data
        choices = draw_choices(self.probabilities.to(data.x.device), num_items(data), generator)
        return self.apply(data, choices, generator)

    def apply(self, data: Data, choices: Tensor, generator: torch.Generator | None = None) -> Data:
        """Augment each graph by the kind that is chosen for it; see :func:`augment`."""
        return augment(data, choices, self.rates, generator)


def probabilities_of(kinds: Kinds) -> Tensor:
    """Return how likely each of the :data:`AUGMENTATIONS` is to be chosen, ``(5,)``."""
    if kinds not in get_args(Kinds):
        raise unknown_name("augmentation", kinds, get_args(Kinds))
    among: tuple[str, ...] = (kinds,)
    if kinds == "all":
        among = AUGMENTATIONS
    elif kinds.startswith("random"):
        among = RANDOM[: int(kinds[-1])]
    return torch.tensor([float(name in among) / len(among) for name in AUGMENTATIONS])


def draw_choices(probabilities: Tensor, count: int, generator: torch.Generator | None = None) -> Tensor:
    """Draw an augmentation for each graph, ``(count,)``, with these probabilities ``(5,)``, or weights, of each."""
    kinds = len(AUGMENTATIONS)
    if probabilities.shape != (kinds,) or not bool((probabilities >= 0).all() and 0 < probabilities.sum() < torch.inf):
        raise InputError(f"Augmentations have {kinds} probabilities, 0 or more and not all 0, not {probabilities}.")
    check_whole("count", count, 1)
    return torch.multinomial(probabilities, count, replacement=True, generator=generator)


def augment(batch: Data, choices: Tensor, rates: GraphRates, generator: torch.Generator | None = None) -> Data:
    """Augment each graph by the kind chosen for it, all in one pass; what is not chosen is not computed.

    - A node drop removes ``floor(rate · n)`` nodes and their edges; one node at least is left, at rate 1 too.
    - An edge perturbation removes and adds so many of the undirected edges; new ones join different nodes of one graph
      that had none (:func:`~sfa.graph.rewiring.rewire`).
    - An attribute mask puts Gaussian noise, :data:`NOISE`, for the features of so many nodes.
    - A subgraph is a connected piece of so many nodes, at least one, grown from a random node (:func:`grow`). It stays
      within a connected component, and has no more nodes than that.

    ``choices`` ``(G,)`` int64 are places in :data:`AUGMENTATIONS`.
    """
    batches.check_batch(batch)
    nodes, graph = batch.ptr.diff(), batch.batch
    if choices.dtype != torch.int64 or choices.shape != nodes.shape:
        raise InputError(
            f"Choices are one int64 number for each of the {len(nodes)} graphs, not {choices.dtype} "
            f"{tuple(choices.shape)}."
        )
    wrong = choices[(choices < 0) | (choices >= len(AUGMENTATIONS))]
    if len(wrong):
        raise InputError(f"Choices are from 0 to {len(AUGMENTATIONS) - 1}, not {int(wrong[0])}.")
    chosen = choices.bincount(minlength=len(AUGMENTATIONS)).tolist()

    def counts_of(kind: int, rate: str, sizes: Tensor) -> Tensor:
        return batches.rate_counts(getattr(rates, rate), sizes).where(choices == kind, 0)

    view, keep = batches.with_edges(batch, batch.edge_index, batch.edge_weight), None
    if chosen[EDGE_PERTURB]:
        edges = batches.undirected_edges(batch)
        drop, add = (counts_of(EDGE_PERTURB, rate, edges) for rate in ("edge_drop", "edge_add"))
        view = rewire(batch, drop, add, generator)
    if chosen[ATTRIBUTE_MASK]:
        masked = counts_of(ATTRIBUTE_MASK, "attribute_mask", nodes).index_select(0, graph)
        rows = (batches.random_ranks(graph, nodes, generator) < masked).nonzero().squeeze(1)
        noise = batch.x.new_empty(len(rows), batch.x.shape[1]).normal_(*NOISE, generator=generator)
        view.x = batch.x.index_copy(0, rows, noise)
    if chosen[NODE_DROP]:
        dropped = counts_of(NODE_DROP, "node_drop", nodes).minimum((nodes - 1).clamp_min(0))
        keep = batches.random_ranks(graph, nodes, generator) >= dropped.index_select(0, graph)
    if chosen[SUBGRAPH]:
        sizes = batches.rate_counts(rates.subgraph_keep, nodes).maximum(nodes.clamp_max(1))
        inside = grow(batch, sizes.where(choices == SUBGRAPH, 0), generator)
        others = (choices != SUBGRAPH).index_select(0, graph)
        keep = inside | (others if keep is None else others & keep)
    return view if keep is None else batches.induce(view, keep)


def grow(batch: Data, counts: Tensor, generator: torch.Generator | None = None) -> Tensor:
    r"""Grow a connected piece of so many nodes ``(G,)`` in each graph: ``(N,)``, true for the nodes that are in one.

    A piece starts at a node drawn uniformly, and a node drawn uniformly from the neighbors of the piece comes in until
    it is large enough or there are none (GraphCL: You et al., 2020, Section 3.2). Instead of a step for every node,
    every node :math:`v` has a clock, :math:`e_v \sim \mathrm{Exp}(1)`, which starts when its first neighbor is in:

    .. math::
        T_{\text{start}} = 0, \qquad T_v = e_v + \min_{u \sim v} T_u .

    An exponential clock forgets how long it has run, so that the next to ring is any of those that run, each as likely,
    and the nodes of least :math:`T` are the piece exactly as it grows by single nodes. :math:`T` is a shortest path,
    found by relaxing all edges at once; of a node among the ``k`` first the path has fewer than ``k`` edges, so that
    fewer than ``k`` rounds are needed whatever the graph.
    """
    nodes = batch.batch
    clock = torch.empty(len(nodes), dtype=torch.float64, device=counts.device).exponential_(generator=generator)
    start = batch.ptr[:-1] + draw_below(batch.ptr.diff(), generator)
    time = torch.full_like(clock, torch.inf).index_fill_(0, start[counts > 0], 0)
    growing = (counts > 1).index_select(0, nodes.index_select(0, batch.edge_index[0]))
    row, col = batch.edge_index.index_select(1, growing.nonzero().squeeze(1))
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
