"""What every method shares: a training loss, a spectral slot, plain embeddings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.own_features import beside_own_features
from sfa.graph.propagation import propagation_of
from sfa.graph.smoothing import smoothed
from sfa.levels import Level, num_items
from sfa.methods.precision import full_precision
from sfa.spectral import SpectralMap
from sfa.spectral.leading import without_leading


class FeatureMaps(NamedTuple):
    """The feature maps of one step, before and after the spectral map; to look at, not to differentiate."""

    h_alpha: Tensor
    h_beta: Tensor | None
    """``None``, as :attr:`h_tilde_beta`, in a method of a single view."""
    h_tilde_alpha: Tensor
    h_tilde_beta: Tensor | None


Observer = Callable[[FeatureMaps], None]
"""Is shown the feature maps of a step while it is taken: they cost no second pass."""


class Method(nn.Module, ABC):
    """A published method: calling it on a graph gives the loss of a step, :meth:`embed` the plain embeddings.

    At graph level, what it is called on is a batch of graphs: their disjoint union, with ``ptr`` and ``batch``. At
    image level it is a batch of images, ``x`` ``(b, height, width, channels)`` in uint8.

    Every feature map that enters the loss goes through :meth:`augmented`, the one slot for a spectral map, so that
    every method works with every map.

    Args:
        spectral: The map applied to the feature maps while training; none if not given.
        width: Of the feature maps.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    """Its authors' settings outside the method itself, by recipe path: ``{"training.lr": 1e-3}``."""
    level: ClassVar[Level] = "node"
    """What it embeds: the nodes of one graph, the graphs of a set, or images."""
    transductive: ClassVar[bool] = False
    """It has weights for each node: built for a number of nodes, not of features, it embeds no other graph."""
    rows_are_nodes: ClassVar[bool] = False
    """Its loss looks for nodes among the rows of a feature map, which no spectral map may then mix."""
    samplers: ClassVar[tuple[str, ...]] = ()
    """The samplers it works with, by name; any, if there are none here."""
    spans_processes: ClassVar[bool] = False
    """Whether the nodes, graphs or images of a step may be spread over several processes."""

    def __init__(self, spectral: SpectralMap | None, width: int) -> None:
        super().__init__()
        self.spectral = SpectralMap() if spectral is None else spectral
        self.spectral.check_width(width)
        self.width = width
        if self.rows_are_nodes and not self.spectral.keeps_rows:
            raise InputError(
                f"{type(self.spectral).__name__} mixes the rows of a feature map, and {type(self).__name__} needs one "
                f"row a {self.level}: choose another spectral map."
            )
        self.across_processes = False
        """Whether the nodes of all processes are one batch; see :func:`sfa.processes.synchronise`."""
        self.without_leading = 0
        """How many leading directions embeddings of nodes go without (:func:`sfa.spectral.leading.without_leading`)."""
        self.smoothing = 0
        """How often embeddings of nodes are spread over their graph (:func:`sfa.graph.smoothing.smoothed`)."""
        self.own_features = 0.0
        """Weight of a node's own features beside its embedding (:func:`sfa.graph.own_features.beside_own_features`)."""

    @abstractmethod
    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        """The scalar to minimise: the loss of one step on a graph or on a batch."""

    @abstractmethod
    def embeddings(self, graph: Data) -> Tensor:
        """Embeddings ``(n, width)`` of the uncorrupted items, as the encoder alone gives them."""

    def embed(self, graph: Data) -> Tensor:
        """:meth:`embeddings` after :attr:`without_leading`, :attr:`smoothing` and :attr:`own_features`, in turn."""
        z = self.embeddings(graph)
        if self.without_leading > 0:
            z = without_leading(z, self.without_leading)
        if self.smoothing > 0:
            adjacency = propagation_of(graph, z.dtype)
            for _ in range(self.smoothing):
                z = smoothed(z, adjacency)
        if self.own_features > 0:
            z = beside_own_features(z, graph.x, self.own_features)
        return z

    def look_at(self, data: Data) -> None:
        """Called once on a new method with the data it will be trained on; what it notes of them lives in buffers."""

    def constant_rate(self) -> Iterable[nn.Parameter]:
        """Weights whose learning rate stays at its peak, whatever the schedule."""
        return ()

    def before_step(self, epochs: float) -> None:
        """Called before each step with the epochs that are done, as a fraction within one."""

    def after_backward(self) -> None:
        """Called when the gradients of a step are there, before the optimiser uses them."""

    def after_step(self, done: float) -> None:
        """Called when the optimiser has taken its step, with the share of training that is done, in ``(0, 1]``."""

    def after_epoch(self, batches: Iterable[tuple[Data, torch.Generator]]) -> None:
        """Called at the end of an epoch with its batches once more, each with a generator that no step has used.

        They are made as they are asked for: who does not look at them pays nothing. What is learnt here and must
        survive an interruption lives in buffers.
        """

    def augmented(
        self, *maps: Tensor, generator: torch.Generator | None, observe: Observer | None = None, views: int = 2
    ) -> tuple[Tensor, ...]:
        """All feature maps of a step after the spectral map; the first ``views`` of them, 1 or 2, can be observed."""
        with full_precision(*maps) as maps:
            tilde = self.spectral.forward_all(*maps, generator=generator)
        if observe is not None:
            shown = [tuple(h.detach() for h in those[:views]) + (None,) * (2 - views) for those in (maps, tilde)]
            observe(FeatureMaps(*shown[0], *shown[1]))  # type: ignore[arg-type]
        return tilde


def roots(graph: Data) -> int:
    """How many of the first rows of a feature map count; the other nodes of a sampled batch only send messages."""
    return int(graph.get("roots", num_items(graph)))
