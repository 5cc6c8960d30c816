"""The paper's framework: two views, one encoder, a spectral slot, a head, a loss."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.graph import GCN, GraphEncoder
from sfa.image.image_encoder import ImageEncoder
from sfa.methods.base import Method, Observer, roots
from sfa.methods.precision import full_precision
from sfa.spectral import SpectralMap


class TwoViewMethod(Method):
    """Views → encoder → spectral map → head → loss (the paper's framework figure).

    A published method is a subclass that builds the parts and says what its views and its loss are.
    """

    def __init__(
        self, encoder: GCN | GraphEncoder | ImageEncoder, head: nn.Module, spectral: SpectralMap | None, width: int
    ) -> None:
        super().__init__(spectral, width)
        self.encoder = encoder
        self.head = head

    @abstractmethod
    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Any, Any]:
        """The two corrupted views, alpha and beta, in the form that the encoder takes."""

    @abstractmethod
    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        """The scalar to minimise."""

    def forward(self, graph: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        maps = [self.encoder(view, generator)[: roots(graph)] for view in self.views(graph, generator)]
        h_alpha, h_beta = self.augmented(*maps, generator=generator, observe=observe)
        with full_precision(self.head(h_alpha), self.head(h_beta)) as (z_alpha, z_beta):
            return self.loss(z_alpha, z_beta)

    def embeddings(self, graph: Data) -> Tensor:
        embeddings: Tensor = self.encoder.embed(graph)
        return embeddings
