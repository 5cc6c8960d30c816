"""BYOL: bootstrap your own latent (Grill et al., 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.image.encoders import EncoderName, make_encoder
from sfa.image.image_encoder import ImageEncoder
from sfa.image.views import Augmentation
from sfa.levels import Level
from sfa.methods.bootstrapped import BootstrappedMethod
from sfa.methods.image.heads import mlp
from sfa.methods.image.random_views import RandomViews
from sfa.methods.image.settings import IMAGE_SETTINGS
from sfa.ranges import Count, Share
from sfa.spectral import SpectralMap


class BYOL(BootstrappedMethod):
    r"""Predict, from one view, what a slowly following copy of encoder and projector makes of the other; no negatives.

    .. math::
        \mathcal{L} = \ell(q(g(\tilde H_\alpha)), \bar g(\tilde T_\beta)) +
            \ell(q(g(\tilde H_\beta)), \bar g(\tilde T_\alpha)), \qquad
        \ell(q, z) = \tfrac1b \sum_i 2 - 2 \cos(q_i, z_i)

    with the online encoder's features :math:`H`, projector :math:`g` and predictor :math:`q`, and the target's features
    :math:`T` and projector :math:`\bar g`, which learn from no gradient. The spectral map acts on all four maps of
    features. After each step the target moves towards the online network, with a momentum that rises to 1 along a
    cosine: :class:`~sfa.methods.bootstrapped.BootstrappedMethod`, which BGRL shares. The heads' widths and the momentum
    are solo-learn's (da Costa et al., 2022) for CIFAR.

    Args:
        in_features: Number of channels.
        encoder: ``small``, ``small-strided``, ``resnet18`` (of CIFAR's recipes) or ``resnet18-imagenet``.
        hidden: Channels of its first stage.
        augmentation: The strengths of the views, by name.
        head_hidden: Hidden width of the projector.
        head_width: Width of projections and predictions.
        prediction: Hidden width of the predictor.
        momentum: Of the target at the start of training.
        spectral: The map applied to the four feature maps while training.
    """

    encoder: ImageEncoder
    level: ClassVar[Level] = "image"
    defaults: ClassVar[Mapping[str, Any]] = IMAGE_SETTINGS

    def __init__(
        self,
        in_features: int,
        *,
        encoder: EncoderName = "small",
        hidden: Count = 32,
        augmentation: Augmentation = "asymmetric",
        head_hidden: Count = 4096,
        head_width: Count = 256,
        prediction: Count = 4096,
        momentum: Share = 0.99,
        spectral: SpectralMap | None = None,
    ) -> None:
        network = make_encoder(in_features, encoder=encoder, hidden=hidden)
        projector = mlp((network.width, head_hidden, head_width))
        predictor = mlp((head_width, prediction, head_width))
        super().__init__(network, predictor, momentum, spectral, network.width, projector=projector)
        self.random_views = RandomViews(augmentation)

    def look_at(self, data: Data) -> None:
        self.encoder.look_at(data)
        self.target.load_state_dict(self.encoder.state_dict())

    def views(self, graph: Data, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        return self.random_views(graph, generator)

    def loss(self, h: Tensor, t: Tensor) -> Tensor:
        # BYOL adds up both directions, where BGRL has their mean.
        return 2 * super().loss(h, t)
