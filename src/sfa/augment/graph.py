"""Views of many small graphs: the augmentations of GraphCL (You et al., 2020, Table 1), all graphs of a batch at once.

A batch is the disjoint union of its graphs, as torch_geometric makes it: ``x`` ``(N, d)``, ``edge_index`` ``(2, m)``
with both directions, ``ptr`` ``(G + 1,)`` and ``batch`` ``(N,)``. A view is a new batch of as many graphs in the same
order, which shares with the old one what has not changed. A rate is one for all graphs or one for each, ``(G,)``; how
many nodes or edges it makes of a graph is exact, and which ones is drawn at random. A graph without nodes stays so.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal, get_args

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.base import Augmentation
from sfa.augment.growth import grown
from sfa.errors import InputError, unknown_name
from sfa.graph.batches import check_batch, induced, random_ranks, shares, undirected_edges, with_edges, with_features
from sfa.graph.rates import Rate, check_rate
from sfa.graph.rewiring import rewired
from sfa.levels import num_items
from sfa.ranges import Share, check_whole
from sfa.registry import register

AUGMENTATIONS = ("identity", "node-drop", "edge-perturb", "attribute-mask", "subgraph")
"""What can happen to a graph; a choice is a place in this tuple."""
IDENTITY, NODE_DROP, EDGE_PERTURB, ATTRIBUTE_MASK, SUBGRAPH = range(len(AUGMENTATIONS))

NOISE = (0.5, 0.5)
"""Mean and standard deviation of the features of a masked node."""


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
            check_rate(field.name, getattr(self, field.name), 1)


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
    subgraph is the paper's, grown node by node (:func:`sfa.augment.growth.grown`); the authors' code takes it from the
    neighbors of the first node alone. GraphRates are those of their code for the sets of TU Dortmund.

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

    level = "graph"

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
        rates = ", ".join(f"{field.name}={getattr(self.rates, field.name)!r}" for field in fields(self.rates))
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


def drop_nodes(batch: Data, rate: Rate, generator: torch.Generator | None = None) -> Data:
    """Without ``floor(rate · n_g)`` nodes of each graph and their edges; one node at least is left, at rate 1 too."""
    check_batch(batch)
    return induced(batch, _kept_nodes(batch, shares("node_drop", rate, batch.ptr.diff()), generator))


def perturb_edges(batch: Data, drop: Rate, add: Rate, generator: torch.Generator | None = None) -> Data:
    """Without ``floor(drop · e_g)`` of the ``e_g`` undirected edges of each graph, with ``floor(add · e_g)`` new ones.

    New edges join different nodes of one graph that had none; see :func:`~sfa.graph.rewiring.rewired`.
    """
    check_batch(batch)
    edges = undirected_edges(batch)
    return rewired(batch, shares("edge_drop", drop, edges), shares("edge_add", add, edges), generator)


def mask_attributes(batch: Data, rate: Rate, generator: torch.Generator | None = None) -> Data:
    """With Gaussian noise, :data:`NOISE`, for the features of ``floor(rate · n_g)`` nodes of each graph."""
    check_batch(batch)
    return with_features(batch, _masked(batch, shares("attribute_mask", rate, batch.ptr.diff()), generator))


def subgraph(batch: Data, keep: Rate, generator: torch.Generator | None = None) -> Data:
    """A connected piece of ``floor(keep · n_g)`` nodes of each graph, at least one, grown from a random node.

    See :func:`~sfa.augment.growth.grown`. A piece stays within a connected component, and has no more nodes than that.
    """
    check_batch(batch)
    return induced(batch, grown(batch, _piece_sizes(keep, batch), generator))


def augment(batch: Data, choices: Tensor, rates: GraphRates, generator: torch.Generator | None = None) -> Data:
    """Each graph by the augmentation chosen for it, all in one pass; what is not chosen is not computed.

    Args:
        batch: Of ``G`` graphs.
        choices: ``(G,)`` int64, places in :data:`AUGMENTATIONS`.
        rates: Of the augmentations.
        generator: Source of randomness.
    """
    check_batch(batch)
    number = _numbers(choices, len(batch.ptr) - 1)
    nodes = batch.ptr.diff()

    def chosen(kind: int, counts: Tensor) -> Tensor:
        return counts.where(choices == kind, 0)

    view, keep = with_edges(batch, batch.edge_index, batch.edge_weight), None
    if number[EDGE_PERTURB]:
        edges = undirected_edges(batch)
        drop, add = shares("edge_drop", rates.edge_drop, edges), shares("edge_add", rates.edge_add, edges)
        view = rewired(batch, chosen(EDGE_PERTURB, drop), chosen(EDGE_PERTURB, add), generator)
    if number[ATTRIBUTE_MASK]:
        count = shares("attribute_mask", rates.attribute_mask, nodes)
        view.x = _masked(batch, chosen(ATTRIBUTE_MASK, count), generator)
    if number[NODE_DROP]:
        keep = _kept_nodes(batch, chosen(NODE_DROP, shares("node_drop", rates.node_drop, nodes)), generator)
    if number[SUBGRAPH]:
        inside = grown(batch, chosen(SUBGRAPH, _piece_sizes(rates.subgraph_keep, batch)), generator)
        others = (choices != SUBGRAPH).index_select(0, batch.batch)
        keep = inside | (others if keep is None else others & keep)
    return view if keep is None else induced(view, keep)


def draw_choices(probabilities: Tensor, count: int, generator: torch.Generator | None = None) -> Tensor:
    """``(count,)``: an augmentation for each graph, drawn with these probabilities ``(5,)``, or weights, of each."""
    kinds = len(AUGMENTATIONS)
    if probabilities.shape != (kinds,) or not bool((probabilities >= 0).all() and 0 < probabilities.sum() < torch.inf):
        raise InputError(f"Augmentations have {kinds} probabilities, 0 or more and not all 0, not {probabilities}.")
    check_whole("count", count, 1)
    return torch.multinomial(probabilities, count, replacement=True, generator=generator)


def _kept_nodes(batch: Data, counts: Tensor, generator: torch.Generator | None) -> Tensor:
    nodes = batch.ptr.diff()
    counts = counts.minimum((nodes - 1).clamp_min(0))
    kept: Tensor = random_ranks(batch.batch, nodes, generator) >= counts.index_select(0, batch.batch)
    return kept


def _masked(batch: Data, counts: Tensor, generator: torch.Generator | None) -> Tensor:
    ranks = random_ranks(batch.batch, batch.ptr.diff(), generator)
    rows = (ranks < counts.index_select(0, batch.batch)).nonzero().squeeze(1)
    mean, deviation = NOISE
    noise = batch.x.new_empty(len(rows), batch.x.shape[1]).normal_(mean, deviation, generator=generator)
    masked: Tensor = batch.x.index_copy(0, rows, noise)
    return masked


def _piece_sizes(keep: Rate, batch: Data) -> Tensor:
    nodes = batch.ptr.diff()
    return shares("subgraph_keep", keep, nodes).maximum(nodes.clamp_max(1))


def _numbers(choices: Tensor, graphs: int) -> list[int]:
    """How many graphs each augmentation is chosen for."""
    if choices.dtype != torch.int64 or choices.shape != (graphs,):
        raise InputError(
            f"Choices are one int64 number for each of the {graphs} graphs, not {choices.dtype} {tuple(choices.shape)}."
        )
    wrong = choices[(choices < 0) | (choices >= len(AUGMENTATIONS))]
    if len(wrong):
        raise InputError(f"Choices are from 0 to {len(AUGMENTATIONS) - 1}, not {int(wrong[0])}.")
    numbers: list[int] = choices.bincount(minlength=len(AUGMENTATIONS)).tolist()
    return numbers
