"""Views by graph diffusion: view alpha is the graph, view beta spreads features over many steps at once."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
import torch
from annotated_types import Interval
from scipy.sparse import csr_array
from scipy.special import ive
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.base import Augmentation, both
from sfa.augment.node import random_view
from sfa.errors import InputError, unknown_name
from sfa.graph.structure import WeakTensorCache, csr_structure
from sfa.matrices import csr_matrix
from sfa.nn.sparse import normalized_adjacency
from sfa.ranges import Count, Positive, Share, check_number, check_whole
from sfa.registry import register

Kernel = Literal["ppr", "heat"]

TOLERANCE = 1e-4
BLOCK_BYTES = 1 << 22  # of one of the three matrices that a block of rows is computed with: what a cache holds
SERIES_SHARE = 0.1  # of the tolerance, for breaking off the series; the rest is for leaving out small entries


@register("augmentation", "diffusion")
@dataclass(repr=False, eq=False)
class Diffusion(Augmentation):
    """Contrast the graph (view alpha) with its diffusion (view beta), as MVGRL and MERIT do.

    View beta has the diffusion matrix in place of the normalized adjacency, as ``propagation``. Of a sampled batch, the
    diffusion is that of its subgraph. Defaults are MVGRL's for Cora.

    Args:
        diffusion: ``ppr``, personalized PageRank, or ``heat``.
        alpha: Of personalized PageRank: the probability of stopping.
        t: Of the heat kernel: the time.
        tolerance: Up to which entries the diffusion is exact; smaller ones are left out.
        top_k: At most so many entries of each of its rows.
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
        """Return the graph, or a view ``into`` which it goes, with its diffusion in place of its adjacency."""
        view = copy.copy(data if into is None else into)
        if self.diffusion == "ppr":
            view.propagation = personalized_pagerank(data, alpha=self.alpha, tolerance=self.tolerance, top_k=self.top_k)
        else:
            view.propagation = heat_kernel(data, t=self.t, tolerance=self.tolerance, top_k=self.top_k)
        return view


def require_diffusion(augmentation: object, encoder: object, method: str) -> Diffusion:
    """Return the augmentation of a method that embeds a graph and its diffusion; raise if one of its parts cannot."""
    if not isinstance(augmentation, Diffusion):
        raise InputError(
            f"{method} contrasts a graph with its diffusion, and takes the augmentation `diffusion` "
            f"(sfa.augment.Diffusion), not {augmentation!r}."
        )
    if not getattr(encoder, "takes_propagation", False):
        name = type(getattr(encoder, "module", encoder)).__name__
        raise InputError(f"{method} embeds the diffusion of a graph, which {name} cannot: take the encoder gcn.")
    return augmentation


def personalized_pagerank(
    graph: Data,
    *,
    alpha: float,
    tolerance: float = TOLERANCE,
    top_k: int | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:
    r"""Compute personalized PageRank: where a walk ends that stops with probability ``alpha`` before every step.

    .. math::
        S = \alpha \big( I - (1 - \alpha) T \big)^{-1}, \qquad T = \hat D^{-1/2} (A + I) \hat D^{-1/2}

    (Klicpera, Weißenberger and Günnemann, 2019), the diffusion of MVGRL and MERIT.

    Args:
        graph: An undirected graph, with ``edge_weight`` if it has any.
        alpha: Probability of stopping, above 0 and at most 1.
        tolerance: No entry is further than this from the exact one. Smaller ones are left out, and those that are kept
            are within a tenth of it; rounding comes on top.
        top_k: Of each row no more than its ``k`` largest entries, and those that are among another row's by symmetry.
        dtype: Of the result; PyTorch's default if not given. The work is done in float64.

    Returns:
        A symmetric CSR tensor ``(n, n)``, worked out once for a tensor of edges and of weights, as long as they live
        and are not written to. No dense matrix of that shape is ever held.
    """
    check_number("alpha", alpha, above=0, at_most=1)
    root = math.sqrt(alpha * (2 - alpha))
    ratio = (1 - alpha) / (1 + root)
    settings = ("ppr", alpha, tolerance, top_k, dtype or torch.get_default_dtype())
    return _diffusion(graph, lambda k: alpha / root * (2 * ratio**k if k else 1), *settings)


def heat_kernel(
    graph: Data, *, t: float, tolerance: float = TOLERANCE, top_k: int | None = None, dtype: torch.dtype | None = None
) -> Tensor:
    r"""Compute the heat kernel :math:`S = \exp\big( -t (I - T) \big)`: where heat has flowed after a time ``t``.

    Arguments and result are those of :func:`personalized_pagerank`, with the time ``t``, 0 or more, for ``alpha``.
    """
    check_number("t", t)
    settings = ("heat", t, tolerance, top_k, dtype or torch.get_default_dtype())
    return _diffusion(graph, lambda k: float(ive(k, t)) * (2 if k else 1), *settings)


_KNOWN: WeakTensorCache[Tensor] = WeakTensorCache()


def _diffusion(
    graph: Data,
    coefficient: Callable[[int], float],
    kernel: str,
    parameter: float,
    tolerance: float,
    top_k: int | None,
    dtype: torch.dtype,
) -> Tensor:
    r"""Compute a kernel as a Chebyshev series :math:`f(T) = \sum_k c_k T_k(T)` of the normalized adjacency.

    The eigenvalues of ``T`` lie in ``[-1, 1]``, where no polynomial of Chebyshev's exceeds 1. For both kernels
    :math:`c_k \ge 0` and :math:`\sum_k c_k = f(1) = 1`, so that what the coefficients taken lack of 1 bounds the error
    of every entry. With alpha 0.05 that takes 30 products for five digits where a power iteration takes 200.
    """
    check_number("tolerance", tolerance, above=1e-10)  # below that float64 cannot tell
    if top_k is not None:
        check_whole("top_k", top_k, 1)

    def make() -> Tensor:
        adjacency = normalized_adjacency(graph, torch.float64, directed=False).matrix
        coefficients: list[float] = []
        while not coefficients or 1 - math.fsum(coefficients) > SERIES_SHARE * tolerance:
            coefficients.append(coefficient(len(coefficients)))
        kept = _kept_rows(adjacency, coefficients, (1 - SERIES_SHARE) * tolerance, top_k, dtype)
        symmetric = kept.maximum(kept.T).tocsr()
        rowptr, col, values = map(torch.from_numpy, (symmetric.indptr, symmetric.indices, symmetric.data))
        return csr_matrix(rowptr, col, values, kept.shape).to(graph.edge_index.device)

    structure = csr_structure(graph.edge_index, graph.num_nodes)
    key = graph.edge_index if graph.edge_weight is None else graph.edge_weight
    return _KNOWN.get(key, make, made_of=(structure, kernel, parameter, tolerance, top_k, dtype))


def _kept_rows(
    adjacency: Tensor, coefficients: list[float], least: float, top_k: int | None, dtype: torch.dtype
) -> csr_array:
    """Compute the entries that count, of every row on its own if ``top_k`` is given, else of the upper triangle."""
    n = len(adjacency)
    size = min(n, max(1, BLOCK_BYTES // (8 * n)))
    buffers = adjacency.values().new_empty(3, n * size)  # fresh ones would leave holes among what is kept
    counts, columns, values = [np.zeros(1, np.int64)], [], []
    for start in range(0, n, size):
        rows = _rows(adjacency, coefficients, start, min(start + size, n), buffers)
        keep = rows >= least
        if top_k is None:
            keep = keep.triu(start)
        elif top_k < n:
            largest = rows.topk(top_k, dim=1).indices
            keep &= torch.zeros_like(keep).scatter_(1, largest, torch.ones_like(keep))
        counts.append(keep.sum(1).cpu().numpy())
        columns.append(keep.nonzero()[:, 1].to(torch.int32).cpu().numpy())
        values.append(rows[keep].to(dtype).cpu().numpy())
    rowptr = np.concatenate(counts).cumsum()
    rowptr = rowptr.astype(np.int32) if rowptr[-1] < 1 << 31 else rowptr
    return csr_array((np.concatenate(values), np.concatenate(columns), rowptr), shape=(n, n))


def _rows(adjacency: Tensor, coefficients: list[float], start: int, stop: int, buffers: Tensor) -> Tensor:
    """Compute some rows ``(stop - start, n)`` of the series by Chebyshev's recurrence: columns, by symmetry."""
    shape = len(adjacency), stop - start
    before, now, total = (buffer[: shape[0] * shape[1]].view(shape) for buffer in buffers)
    before.zero_()[start:stop].fill_diagonal_(1)
    torch.mul(before, coefficients[0], out=total)
    now.zero_().addmm_(adjacency, before)
    for coefficient in coefficients[1:]:
        total.add_(now, alpha=coefficient)
        before, now = now, before.addmm_(adjacency, now, beta=-1, alpha=2)
    rows: Tensor = total.mT
    return rows
