"""Views by graph diffusion: view alpha is the graph, view beta spreads features over many steps at once."""

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

import torch
from annotated_types import Interval
from scipy.sparse import csr_array, vstack
from scipy.special import ive
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.base import Augmentation, both
from sfa.augment.node import random_view
from sfa.errors import InputError, unknown_name
from sfa.graph.structure import WeakTensorCache, structure_of
from sfa.matrices import csr_matrix
from sfa.nn.sparse import normalized_adjacency
from sfa.ranges import Count, Positive, Share, check_number, check_whole
from sfa.registry import register

Kernel = Literal["ppr", "heat"]

TOLERANCE = 1e-4
BLOCK_BYTES = 1 << 22  # of one of the three matrices that a block of rows is computed with: what a cache holds
SAMPLE = 16  # rows that entries are counted in
SERIES_SHARE = 0.1  # of the tolerance, for breaking off the series; the rest is for leaving out small entries


@register("augmentation", "diffusion")
@dataclass(repr=False, eq=False)
class Diffusion(Augmentation):
    """Contrast the graph (view alpha) with its diffusion (view beta), as MVGRL and MERIT do.

    From `"Diffusion Improves Graph Learning" <https://arxiv.org/abs/1911.05485>`_ (Klicpera et al., 2019). View beta
    has the diffusion matrix in place of the normalized adjacency, as ``propagation``. Defaults are MVGRL's for Cora.

    Args:
        diffusion: ``ppr``, personalized PageRank, or ``heat``.
        alpha: Probability of stopping, of personalized PageRank.
        t: Time of the heat kernel.
        tolerance: Greatest error of an entry of the diffusion; smaller entries are left out.
        top_k: Greatest number of entries of each of its rows.
        edge_drop: Fraction of edges removed in view alpha (MERIT).
        feature_drop: Fraction of feature columns masked in view alpha and beta (MERIT).
    """

    diffusion: Kernel = "ppr"
    alpha: Annotated[float, Interval(gt=0, le=1)] = 0.2
    t: Positive = 5.0
    tolerance: Positive = TOLERANCE
    top_k: Count | None = None
    edge_drop: Share = 0.0
    feature_drop: tuple[Share, Share] = (0.0, 0.0)

    def __post_init__(self) -> None:
        if self.diffusion not in get_args(Kernel):
            raise unknown_name("diffusion", self.diffusion, get_args(Kernel))
        check_number("edge_drop", self.edge_drop, at_most=1)
        self.feature_drop = both("feature_drop", self.feature_drop)

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        view = random_view(data, 0.0 if index else self.edge_drop, self.feature_drop[index], generator)
        return self.diffuse(data, into=view) if index else view

    def diffuse(self, data: Data, *, into: Data | None = None) -> Data:
        """Return a copy of the graph, or of the view ``into``, with the graph's diffusion as its ``propagation``."""
        return copy.copy(data if into is None else into).update({"propagation": self._compute(data)})

    def memory(self, data: Data) -> float:
        """Estimate the bytes that the diffusion of a graph takes, 16 for each entry, of which some rows are counted."""
        return 16.0 * self._compute(data, of=count_entries)  # type: ignore[no-any-return]

    def _compute(self, data: Data, **options: Any) -> Any:
        options |= {"tolerance": self.tolerance, "top_k": self.top_k}
        if self.diffusion == "ppr":
            return personalized_pagerank(data, alpha=self.alpha, **options)
        return heat_kernel(data, t=self.t, **options)


def require_diffusion(augmentation: object, encoder: object, method: str) -> Diffusion:
    """Return the augmentation of a method that embeds a graph and its diffusion; raise if one of its parts cannot."""
    if not isinstance(augmentation, Diffusion):
        needed = "contrasts a graph with its diffusion, and takes the augmentation `diffusion`"
        raise InputError(f"{method} {needed}, not {augmentation!r}.")
    if not getattr(encoder, "takes_propagation", False):
        name = type(getattr(encoder, "module", encoder)).__name__
        raise InputError(f"{method} embeds the diffusion of a graph, which {name} cannot: take the encoder gcn.")
    return augmentation


def personalized_pagerank(data: Data, *, alpha: float, of: Callable[..., Any] | None = None, **options: Any) -> Any:
    r"""Compute :math:`\alpha ( I - (1 - \alpha) T )^{-1}`, with the other arguments of :func:`chebyshev_series`."""
    check_number("alpha", alpha, above=0, at_most=1)
    root = math.sqrt(alpha * (2 - alpha))
    ratio = (1 - alpha) / (1 + root)
    of = of or chebyshev_series
    return of(data, lambda k: alpha / root * (2 * ratio**k if k else 1), ("ppr", alpha), **options)


def heat_kernel(data: Data, *, t: float, of: Callable[..., Any] | None = None, **options: Any) -> Any:
    r"""Compute the heat kernel :math:`\exp\big( -t (I - T) \big)`; otherwise as :func:`personalized_pagerank`."""
    check_number("t", t)
    return (of or chebyshev_series)(data, lambda k: float(ive(k, t)) * (2 if k else 1), ("heat", t), **options)


def count_entries(
    data: Data, coefficient: Callable[[int], float], kernel: object, *, tolerance: float, top_k: int | None
) -> float:
    """Estimate how many entries :func:`chebyshev_series` keeps, from some of its rows."""
    adjacency, coefficients, least = _series(data, coefficient, tolerance)
    nodes = torch.linspace(0, len(adjacency) - 1, min(SAMPLE, len(adjacency)), device=adjacency.device).long()
    rows = _rows(adjacency, coefficients, nodes, adjacency.values().new_empty(3, len(adjacency) * len(nodes)))
    kept = (rows >= least).sum(dim=1)
    return float((kept if top_k is None else kept.clamp_max(2 * top_k)).double().mean()) * len(adjacency)


_KNOWN: WeakTensorCache[Tensor] = WeakTensorCache()


def chebyshev_series(
    data: Data,
    coefficient: Callable[[int], float],
    kernel: tuple[str, float],
    *,
    tolerance: float = TOLERANCE,
    top_k: int | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Compute a series :math:`f(T) = \sum_k c_k T_k(T)` of the normalized adjacency ``T``, symmetric CSR ``(n, n)``.

    The eigenvalues of ``T`` lie in ``[-1, 1]``, where no Chebyshev polynomial exceeds 1. For both kernels
    :math:`c_k \ge 0` and :math:`\sum_k c_k = f(1) = 1`, so that 1 minus the sum of the coefficients taken bounds the
    error of every entry. With alpha 0.05, five digits take 30 products, where a power iteration takes 200. The result
    is computed once, in float64, while edges and weights do not change; no dense matrix is ever held.

    Args:
        coefficient, kernel: The function :math:`k \mapsto c_k`, and the name and parameter that identify it.
        tolerance: Greatest error of an entry before rounding; smaller entries are left out.
        top_k: Keep the ``k`` largest entries of each row, and those that are among another row's by symmetry.
    """
    check_number("tolerance", tolerance, above=1e-10)  # below that float64 cannot tell
    if top_k is not None:
        check_whole("top_k", top_k, 1)
    dtype = dtype or torch.get_default_dtype()

    def make() -> Tensor:
        kept = _kept_rows(*_series(data, coefficient, tolerance), top_k, dtype)
        symmetric = kept.maximum(kept.T).tocsr()
        rowptr, col, values = map(torch.from_numpy, (symmetric.indptr, symmetric.indices, symmetric.data))
        return csr_matrix(rowptr, col, values, kept.shape).to(data.edge_index.device)

    structure = structure_of(data)
    key = data.edge_index if data.edge_weight is None else data.edge_weight
    return _KNOWN.get(key, make, made_of=(structure, kernel, tolerance, top_k, dtype))


def _series(data: Data, coefficient: Callable[[int], float], tolerance: float) -> tuple[Tensor, list[float], float]:
    """Return the adjacency, the coefficients that are taken, and the least entry that is kept."""
    coefficients: list[float] = []
    while not coefficients or 1 - math.fsum(coefficients) > SERIES_SHARE * tolerance:
        coefficients.append(coefficient(len(coefficients)))
    adjacency = normalized_adjacency(data, torch.float64, directed=False).matrix
    return adjacency, coefficients, (1 - SERIES_SHARE) * tolerance


def _kept_rows(
    adjacency: Tensor, coefficients: list[float], least: float, top_k: int | None, dtype: torch.dtype
) -> csr_array:
    """Compute the entries that count, of every row on its own if ``top_k`` is given, else of the upper triangle."""
    n = len(adjacency)
    size = min(n, max(1, BLOCK_BYTES // (8 * n)))
    buffers = adjacency.values().new_empty(3, n * size)  # fresh ones would fragment the memory
    blocks = []
    for start in range(0, n, size):
        nodes = torch.arange(start, min(start + size, n), device=adjacency.device)
        rows = _rows(adjacency, coefficients, nodes, buffers)
        keep = rows >= least
        if top_k is None:
            keep = keep.triu(start)
        elif top_k < n:
            largest = rows.topk(top_k, dim=1).indices
            keep &= torch.zeros_like(keep).scatter_(1, largest, torch.ones_like(keep))
        blocks.append(csr_array(rows.where(keep, 0).to(dtype).cpu().numpy()))
    return vstack(blocks, format="csr")


def _rows(adjacency: Tensor, coefficients: list[float], nodes: Tensor, buffers: Tensor) -> Tensor:
    """Compute the rows ``(k, n)`` of some nodes of the series by Chebyshev's recurrence: columns, by symmetry."""
    shape = len(adjacency), len(nodes)
    before, now, total = (buffer[: shape[0] * shape[1]].view(shape) for buffer in buffers)
    before.zero_()[nodes, torch.arange(len(nodes))] = 1
    torch.mul(before, coefficients[0], out=total)
    now.zero_().addmm_(adjacency, before)
    for coefficient in coefficients[1:]:
        total.add_(now, alpha=coefficient)
        before, now = now, before.addmm_(adjacency, now, beta=-1, alpha=2)
    return total.mT  # type: ignore[no-any-return]
