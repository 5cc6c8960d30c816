"""What every contrastive method shares: two views, one encoder, one spectral slot, a head, a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph import GCN
from sfa.spectral import SpectralMap


class FeatureMaps(NamedTuple):
    """The feature maps of one step, before and after the spectral map; to look at, not to differentiate."""

    h_alpha: Tensor
    h_beta: Tensor | None
    """``None``, as :attr:`h_tilde_beta`, in a method of a single view."""
    h_tilde_alpha: Tensor
    h_tilde_beta: Tensor | None


Observer = Callable[[FeatureMaps], None]
"""Is shown the feature maps of a step while it is taken: they cost no second pass."""


class ContrastiveMethod(nn.Module, ABC):
    """Views → encoder → spectral map → head → loss (the paper's framework figure).

    Calling a method on a graph gives its training loss; :meth:`embed` gives the plain embeddings. A published method
    is a subclass that builds the parts and says what its views and its loss are. The spectral map is applied here, to
    the feature maps of both views, so that every method works with every map.
    """

    def __init__(self, encoder: GCN, head: nn.Module, spectral: SpectralMap | None, hidden: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head
        self.spectral = SpectralMap() if spectral is None else spectral
        self.spectral.check_width(hidden)
        self.across_processes = False
        """Whether the nodes of all processes are one batch; see :func:`sfa.processes.synchronise`."""

    @abstractmethod
    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        """The two corrupted views, alpha and beta."""

    @abstractmethod
    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        """The scalar to minimise."""

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        alpha, beta = self.views(graph, generator)
        roots = graph.get("roots", graph.num_nodes)  # of a sampled batch, the others only send them messages
        h_alpha, h_beta = self.encoder(alpha, generator)[:roots], self.encoder(beta, generator)[:roots]
        h_tilde_alpha, h_tilde_beta = self.spectral.forward_pair(h_alpha, h_beta, generator)
        if observe is not None:
            observe(FeatureMaps(*(h.detach() for h in (h_alpha, h_beta, h_tilde_alpha, h_tilde_beta))))
        return self.loss(self.head(h_tilde_alpha), self.head(h_tilde_beta))

    def embed(self, graph: Data) -> Tensor:
        """Embeddings ``(n, hidden)`` of the uncorrupted graph: no views, no spectral map, no head."""
        embeddings: Tensor = self.encoder.embed(graph)
        return embeddings
