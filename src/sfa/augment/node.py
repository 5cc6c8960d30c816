"""Views of one graph: edges removed and feature columns masked at random (A_G of the paper)."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.base import Augmentation, both
from sfa.errors import InputError
from sfa.graph.batches import Rate, check_rate
from sfa.graph.structure import structure_of, take_rows
from sfa.ranges import Share
from sfa.registry import register


@register("augmentation", "drop-edges")
class DropEdges(Augmentation):
    """Remove each undirected edge with some probability.

    Args:
        rate: Probability of removal, for both views or ``(alpha, beta)``.
        directed: Draw the two directions of an edge independently, as the code of GRACE, BGRL and COSTA does.
    """

    def __init__(self, rate: Share | tuple[Share, Share] = 0.2, directed: bool = False) -> None:
        self.rate = both("rate", rate)
        self.directed = directed

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        return random_view(data, self.rate[index], 0.0, generator, directed=self.directed)


@register("augmentation", "mask-features")
class MaskFeatures(Augmentation):
    """Set whole columns of the node features to zero, each with some probability.

    Args:
        rate: Probability of a column, for both views or ``(alpha, beta)``.
    """

    def __init__(self, rate: Share | tuple[Share, Share] = 0.3) -> None:
        self.rate = both("rate", rate)

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        return random_view(data, 0.0, self.rate[index], generator)


@register("augmentation", "uniform")
@dataclass(repr=False, eq=False)
class UniformDrop(Augmentation):
    """Mask feature columns and remove edges, all of them at the same rate (GRACE and most methods after it).

    Args:
        edge_drop: Fraction of edges removed in view alpha and beta.
        feature_drop: Fraction of feature columns masked in view alpha and beta.
        directed: Draw the two directions of an edge independently; see :class:`DropEdges`.
    """

    edge_drop: tuple[Share, Share] = (0.2, 0.4)
    feature_drop: tuple[Share, Share] = (0.3, 0.4)
    directed: bool = False

    def __post_init__(self) -> None:
        self.edge_drop = both("edge_drop", self.edge_drop)
        self.feature_drop = both("feature_drop", self.feature_drop)

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        return random_view(data, self.edge_drop[index], self.feature_drop[index], generator, directed=self.directed)


@register("augmentation", "shuffle")
class ShuffleFeatures(Augmentation):
    """Give each node the features of another: view alpha is the graph, view beta its corruption (DGI)."""

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        if index == 0:
            return data
        order = torch.randperm(len(data.x), generator=generator, device=data.x.device)
        return copy.copy(data).update({"x": take_rows(data.x, order)})


def random_view(
    data: Data, edge_drop: Rate, feature_drop: Rate, generator: torch.Generator | None = None, directed: bool = False
) -> Data:
    """Make a view ``(X~, A~)`` of a graph: the same nodes with fewer edges and features.

    A view shares its graph's tensors and notes the changes: ``feature_mask`` ``(d,)`` is 0 for masked columns of ``x``,
    ``edge_weight`` ``(m,)`` is 0 for removed edges, and ``directed`` is true if one direction of an edge may be removed
    without the other. :func:`sfa.nn.materialize` makes a plain graph of it.
    """
    view = copy.copy(data)
    mask = mask_features(data.num_features, feature_drop, device=data.x.device, generator=generator)
    if mask is not None:
        before = data.get("feature_mask")
        view.feature_mask = mask if before is None else mask & before.bool()
    view.edge_weight = remove_edges(data, edge_drop, generator, directed=directed)
    if directed:
        view.directed = True
    return view


def remove_edges(
    data: Data, rate: Rate, generator: torch.Generator | None = None, *, directed: bool = False
) -> Tensor | None:
    """Return the weights ``(m,)`` of a graph's edges, 1 if it has none, with 0 for those that are removed.

    The rate is one for all, or one for each edge, ``(m,)``; at rate 0 the result is ``edge_weight`` itself. The two
    directions of an edge have the same rate and go or stay together, unless ``directed``.
    """
    check_rate("edge_drop", rate, data.num_edges)
    weight: Tensor | None = data.edge_weight
    device = data.edge_index.device
    if not torch.as_tensor(rate).any():
        return weight
    if directed:
        kept = torch.rand(data.num_edges, generator=generator, device=device) >= rate
    else:
        edge_of, edges = structure_of(data).undirected
        if isinstance(rate, Tensor):
            of_each = rate
            rate = rate.new_empty(edges).index_copy_(0, edge_of, of_each)
            if not torch.equal(rate[edge_of], of_each):
                raise InputError("The rates of removal are not the same in both directions of every edge.")
        kept = (torch.rand(edges, generator=generator, device=device) >= rate)[edge_of]
    return kept.to(torch.get_default_dtype()) if weight is None else weight * kept


def mask_features(
    features: int, rate: Rate, *, device: torch.device | str = "cpu", generator: torch.Generator | None = None
) -> Tensor | None:
    """Draw a mask ``(features,)``, False with probability ``rate``, one for all or for each; None if all are 0."""
    check_rate("feature_drop", rate, features)
    if not torch.as_tensor(rate).any():
        return None
    return torch.rand(features, generator=generator, device=device) >= rate
