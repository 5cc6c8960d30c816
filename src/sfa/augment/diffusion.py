"""Views by graph diffusion: view alpha is the graph, view beta spreads features over many steps at once."""

from __future__ import annotations

import copy
from typing import Annotated, Literal, get_args

import torch
from annotated_types import Interval
from torch_geometric.data import Data

from sfa.augment.base import Augmentation, both
from sfa.augment.node import random_view
from sfa.errors import InputError, unknown_name
from sfa.graph.diffusion import TOLERANCE, heat_kernel, personalised_pagerank
from sfa.ranges import Count, Positive, Share, check_number
from sfa.registry import register

Kernel = Literal["ppr", "heat"]


@register("augmentation", "diffusion")
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

    def __init__(
        self,
        diffusion: Kernel = "ppr",
        alpha: Annotated[float, Interval(gt=0, le=1)] = 0.2,
        t: Positive = 5.0,
        tolerance: Positive = TOLERANCE,
        top_k: Count | None = None,
        edge_drop: Share = 0.0,
        feature_drop: tuple[Share, Share] = (0.0, 0.0),
    ) -> None:
        if diffusion not in get_args(Kernel):
            raise unknown_name("diffusion", diffusion, get_args(Kernel))
        self.diffusion = diffusion
        self.alpha = alpha
        self.t = t
        self.tolerance = tolerance
        self.top_k = top_k
        check_number("edge_drop", edge_drop, at_most=1)
        self.edge_drop = edge_drop
        self.feature_drop = both("feature_drop", feature_drop)

    def view(self, data: Data, generator: torch.Generator | None = None, index: int = 0) -> Data:
        view = random_view(data, 0.0 if index else self.edge_drop, self.feature_drop[index], generator)
        return self.diffuse(data, into=view) if index else view

    def diffuse(self, data: Data, *, into: Data | None = None) -> Data:
        """Return the graph, or a view ``into`` which it goes, with its diffusion in place of its adjacency."""
        view = copy.copy(data if into is None else into)
        if self.diffusion == "ppr":
            view.propagation = personalised_pagerank(data, alpha=self.alpha, tolerance=self.tolerance, top_k=self.top_k)
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
