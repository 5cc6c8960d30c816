"""What image-level methods of one encoder share: two random views of each image, a head, and a loss of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.image.encoders import EncoderName, make_encoder
from sfa.image.image_encoder import ImageEncoder
from sfa.image.views import Augmentation
from sfa.levels import Level
from sfa.methods.image.random_views import RandomViews
from sfa.methods.image.settings import IMAGE_SETTINGS
from sfa.methods.two_views import TwoViewMethod
from sfa.spectral import SpectralMap


class TwoImageViewMethod(TwoViewMethod):
    """Random views → encoder → spectral map → head → loss, where a row is an image.

    A published method is a subclass that builds the head and says what its loss is.

    Args:
        in_features: Number of channels.
        encoder: ``small``, ``small-strided``, ``resnet18`` (of CIFAR's recipes) or ``resnet18-imagenet``.
        hidden: Channels of its first stage.
        augmentation: The strengths of the views, by name.
        make_head: From the width of the embeddings to the head.
        spectral: The map applied to both feature maps while training.
    """

    encoder: ImageEncoder
    level: ClassVar[Level] = "image"
    defaults: ClassVar[Mapping[str, Any]] = IMAGE_SETTINGS
    spans_processes = True

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName,
        hidden: int,
        augmentation: Augmentation,
        make_head: Callable[[int], nn.Module],
        spectral: SpectralMap | None,
    ) -> None:
        network = make_encoder(in_features, encoder=encoder, hidden=hidden)
        super().__init__(network, make_head(network.width), spectral, network.width)
        self.random_views = RandomViews(augmentation)

    def look_at(self, data: Data) -> None:
        self.encoder.look_at(data)

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        return self.random_views(graph, generator)
