"""GCA's adaptive augmentation: views that remove unimportant edges and mask unimportant features more often."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor
from torch.utils.weak import WeakIdRef
from torch_geometric.data import Data

from sfa.augment.base import Augmentation, both
from sfa.augment.node import random_view
from sfa.errors import unknown_name
from sfa.graph.structure import WeakTensorCache, structure_of
from sfa.matrices import csr_matrix, row_chunks
from sfa.ranges import Share, check_number
from sfa.registry import register

Importance = Literal["sink", "mean"]
Centrality = Literal["degree", "pagerank", "eigenvector"]


@register("augmentation", "adaptive")
@dataclass(repr=False, eq=False)
class AdaptiveDrop(Augmentation):
    r"""Remove unimportant edges and mask unimportant features more often than others.

    From `"Graph Contrastive Learning with Adaptive Augmentation" <https://arxiv.org/abs/2010.14945>`_ (Zhu et al.,
    2021). An edge or a feature of importance ``s`` goes with probability

    .. math::
        p = \min\Big( \frac{s_{\max} - s}{s_{\max} - \bar s}\; p_e,\; p_\tau \Big),

    with ``s`` of :func:`edge_weights` and :func:`feature_weights`. Defaults are the authors' for WikiCS.

    Args:
        edge_drop: :math:`p_e` of the edges, their mean rate before the cut-off, in view alpha and beta.
        feature_drop: :math:`p_e` of the feature columns, in view alpha and beta.
        centrality: Importance of a node: ``degree``, ``pagerank`` or ``eigenvector``.
        cut_off: :math:`p_\tau`, the highest rate; the authors' is 0.7.
        importance: Importance of an edge: ``sink``, that of the node it points to, and each direction is drawn
            independently, as in the authors' code; or ``mean``, that of both nodes, and both directions go together.
    """

    edge_drop: tuple[Share, Share] = (0.2, 0.3)
    feature_drop: tuple[Share, Share] = (0.1, 0.1)
    centrality: Centrality = "degree"
    cut_off: Share = 0.7
    importance: Importance = "sink"

    def __post_init__(self) -> None:
        for name, kinds in (("centrality", get_args(Centrality)), ("importance", get_args(Importance))):
            if getattr(self, name) not in kinds:
                raise unknown_name(name, getattr(self, name), kinds)
        self.edge_drop = both("edge_drop", self.edge_drop)
        self.feature_drop = both("feature_drop", self.feature_drop)
        check_number("cut_off", self.cut_off, at_most=1)

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        edges, features = _weights_of(data, self.centrality, self.importance)
        edge_drop, feature_drop = (
            mean if mean == 0 else (mean * weights).clamp_max(self.cut_off)
            for weights, mean in ((edges, self.edge_drop[index]), (features, self.feature_drop[index]))
        )
        return random_view(data, edge_drop, feature_drop, generator, directed=self.importance == "sink")


def edge_weights(edge_index: Tensor, centrality: Tensor, importance: Importance = "sink") -> Tensor:
    r"""Compute how likely each edge is to be removed, ``(m,)`` of mean 1: 0 for the most important one.

    The importance of an edge is :math:`s_{uv} = \log \varphi_v` by the authors' code (``sink``), with centralities
    :math:`\varphi` ``(n,)``, or :math:`\log( 1 + \tfrac12 (\varphi_u + \varphi_v) )` (``mean``).
    """
    source, sink = centrality[edge_index[0]], centrality[edge_index[1]]
    if importance == "sink":  # 1e-8 is the authors'; the result is as exact as the argument, also close to 0
        return _relative((sink + 1e-8).log(), scale=1.0)
    return _relative(torch.log1p((source + sink) / 2))


def feature_weights(x: Tensor, centrality: Tensor) -> Tensor:
    r"""Compute how likely each feature is to be masked, ``(d,)`` of mean 1: 0 for that of the most central nodes.

    The importance is :math:`s_i = \log( 1 + \sum_u |x_{ui}| \varphi_u )`. Of sparse features, at least half of them 0,
    :math:`|x_{ui}|` counts as 1 where it is not 0. The 1 in the logarithm, which the authors do not have, keeps the
    importance of a feature that no node has finite.
    """
    present, absolute, non_zero = _column_sums(x, centrality)
    return _relative(torch.log1p(present if 2 * non_zero <= x.numel() else absolute))


def _relative(s: Tensor, scale: float | None = None) -> Tensor:
    """Return ``(s_max - s) / (s_max - mean)``; 1 everywhere if all are the same but for rounding at this scale."""
    if len(s) == 0:
        return s
    below = s.max() - s
    mean = below.mean()
    return below / mean if bool(mean > 1e-9 * (s.abs().max() if scale is None else scale)) else torch.ones_like(s)


def _column_sums(x: Tensor, centrality: Tensor) -> tuple[Tensor, Tensor, int]:
    """Sum ``[x_ui ≠ 0] φ_u`` and ``|x_ui| φ_u`` over each column, and count the entries that are not 0."""
    present, absolute = (torch.zeros(x.shape[1], dtype=torch.float64, device=x.device) for _ in range(2))
    if x.layout == torch.sparse_csr:
        values, column = x.values().detach(), x.col_indices()
        weight = centrality.repeat_interleave(x.crow_indices().diff(), output_size=len(values))
        present.index_add_(0, column, weight * (values != 0))
        absolute.index_add_(0, column, weight * values.abs())
        return present, absolute, int((values != 0).sum())
    non_zero = 0
    for rows in row_chunks(tuple(x.shape)):  # features may lie on disk, and be larger than the memory
        part = x[rows].detach().double()
        present += centrality[rows] @ (part != 0).double()
        absolute += centrality[rows] @ part.abs()
        non_zero += int((part != 0).sum())
    return present, absolute, non_zero


_WEIGHTS: WeakTensorCache[tuple[Tensor, Tensor]] = WeakTensorCache()


def _weights_of(data: Data, centrality: Centrality, importance: Importance) -> tuple[Tensor, Tensor]:
    """Compute the weights of a graph's edges and features in float32, once while its tensors stay as they are."""
    nodes = int(data.num_nodes)

    def make() -> tuple[Tensor, Tensor]:
        phi = CENTRALITIES[centrality](data)
        if centrality == "pagerank":
            phi = phi * nodes  # of mean 1, as in the authors' code: log(1 + φ) needs a scale
        return edge_weights(data.edge_index, phi, importance).float(), feature_weights(data.x, phi).float()

    made_of = (centrality, importance, nodes, _state(data.x), _state(data.edge_weight))
    return _WEIGHTS.get(data.edge_index, make, made_of=made_of)


def _state(tensor: Tensor | None) -> object:
    """Return an object that equals an earlier state only if the tensor is the same and was not written to since."""
    if tensor is None:
        return None
    return object() if tensor.is_inference() else (WeakIdRef(tensor), tensor._version)  # the former counts no changes


def degree(graph: Data) -> Tensor:
    """Count the edges at each node, or sum their weights, in float64; 0 for an isolated node."""
    adjacency = _adjacency(graph, _weights(graph))
    return torch.segment_reduce(adjacency.values(), "sum", offsets=adjacency.crow_indices(), initial=0)


def pagerank(graph: Data, damping: float = 0.85, tolerance: float = 1e-10) -> Tensor:
    r"""Compute PageRank (Page et al., 1999): :math:`p = \alpha A D^{-1} p + (1 - \alpha + \alpha\, p_0) / n`, of sum 1.

    The damping :math:`\alpha` is the probability of following an edge, and :math:`p_0` the sum over isolated nodes.
    The error shrinks by :math:`\alpha` in each step; the last is where its sum is certain to be below the tolerance.
    """
    adjacency, sums = _adjacency(graph, _weights(graph)), degree(graph)
    if len(sums) == 0:
        return sums
    isolated = sums == 0
    p = torch.full_like(sums, 1 / len(sums))
    for _ in range(math.ceil(math.log(tolerance / 2) / math.log(damping))):  # the error is 2 at most at first
        followed = (adjacency @ (p / sums.where(~isolated, 1))[:, None])[:, 0]
        anywhere = (1 - damping + damping * p[isolated].sum()) / len(sums)
        p, before = damping * followed + anywhere, p
        if float((p - before).abs().sum()) * damping <= tolerance * (1 - damping):
            break
    return p


def eigenvector_centrality(graph: Data, tolerance: float = 1e-10, iterations: int = 10_000) -> Tensor:
    r"""Compute the leading eigenvector of the adjacency (Bonacich, 1972), :math:`A c = \lambda_{\max} c`, of length 1.

    Power iteration on :math:`A / \bar w + I`, whose shift makes it converge on bipartite graphs too, ends when a step
    changes no entry by more than the tolerance. Of a disconnected graph the component of the largest eigenvalue has all
    the centrality; without any edge all nodes are alike.
    """
    n, weight = graph.num_nodes, _weights(graph)
    c = weight.new_full((n,), 1 / math.sqrt(max(1, n)))
    if not bool((weight > 0).any()):
        return c
    adjacency = _adjacency(graph, weight / weight.mean())
    for _ in range(iterations):
        following = c + (adjacency @ c[:, None])[:, 0]
        c, before = following / torch.linalg.vector_norm(following), c
        if float((c - before).abs().max()) <= tolerance:
            break
    return c


CENTRALITIES: dict[Centrality, Callable[[Data], Tensor]] = {
    "degree": degree,
    "pagerank": pagerank,
    "eigenvector": eigenvector_centrality,
}


def _weights(graph: Data) -> Tensor:
    if graph.edge_weight is None:
        return torch.ones(graph.num_edges, dtype=torch.float64, device=graph.edge_index.device)
    weight: Tensor = graph.edge_weight.detach().double()
    return weight


def _adjacency(graph: Data, weight: Tensor) -> Tensor:
    structure = structure_of(graph)
    shape = (structure.num_nodes, structure.num_nodes)
    return csr_matrix(structure.edge_rowptr, structure.edge_col, structure.sorted(weight), shape)
