"""BGRL: bootstrapped graph latents (Thakoor et al., 2022), and what it shares with BYOL."""

import copy
import math
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.losses import bootstrap_latent
from sfa.methods.base import Method, Observer, Spectral, Views
from sfa.modes import full_precision
from sfa.nn.heads import projection_head
from sfa.ranges import Share, Width, check_number
from sfa.registry import register


def make_target(online: nn.Module) -> Any:
    """Copy a network with weights of its own, equal at first, that no optimizer trains.

    In training mode its batch normalization normalizes with the batch at hand, as in the code of BGRL's authors.
    """
    return copy.deepcopy(online).requires_grad_(False)


@torch.no_grad()
def update_target_(target: nn.Module, online: nn.Module, momentum: float) -> None:
    r"""Move a target's parameters towards an online network's: :math:`\phi \leftarrow m \phi + (1 - m) \theta`.

    Buffers stay: a batch normalization keeps the running statistics of the batches that the target itself has seen.
    """
    check_number("momentum", momentum, at_most=1)
    for phi, theta in zip(target.parameters(), online.parameters(), strict=True):
        phi.lerp_(theta, 1 - momentum)


def cosine_momentum(done: float, start: float) -> float:
    """Compute the momentum when a fraction ``done`` of training is done: it rises from ``start`` to 1 along a cosine.

    >>> [round(cosine_momentum(done, 0.99), 4) for done in (0.0, 0.5, 1.0)]
    [0.99, 0.995, 1.0]
    """
    return 1 - (1 - start) * (math.cos(math.pi * done) + 1) / 2


class BootstrappedMethod(Method):
    """Predict, from one view, the target network's feature map of the other: BGRL, of nodes and of graphs, and BYOL.

    The loss is :func:`~sfa.losses.bootstrap_latent`, a mean over both directions. After each step the target moves
    towards the online network. A subclass sets its ``predictor``, and its projectors if it has any.

    Args:
        momentum: Momentum of the target network at the start of training.
    """

    takes_augmentation = True
    spans_processes = True
    predictor: nn.Module

    def __init__(
        self, encoder: nn.Module, augmentation: Views = None, *, momentum: Share = 0.99, spectral: Spectral = None
    ) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.momentum = momentum
        self.target = make_target(self.encoder)
        self.projector: nn.Module = nn.Identity()
        self.target_projector: nn.Module = nn.Identity()

    def setup(self, data: Data) -> None:
        super().setup(data)
        self.target.load_state_dict(self.encoder.state_dict())

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        views = self.augmentation(data, generator)
        online = self.encode(self.encoder, views, data, generator)
        with torch.no_grad():
            target = self.encode(self.target, views, data, generator)
        h_alpha, h_beta, t_alpha, t_beta = self.apply_spectral(*online, *target, generator=generator, observe=observe)
        return (self.loss(h_alpha, t_beta) + self.loss(h_beta, t_alpha)) / 2

    def loss(self, h: Tensor, t: Tensor) -> Tensor:
        """Compute how badly the online map ``h`` of one view predicts the target's map ``t`` of the other."""
        with torch.no_grad():
            z = self.target_projector(t)
        with full_precision(self.predictor(self.projector(h)), z) as (q, z):
            return bootstrap_latent(q, z, across_processes=self.across_processes)

    def after_step(self, done: float) -> None:
        momentum = cosine_momentum(done, self.momentum)
        update_target_(self.target, self.encoder, momentum)
        update_target_(self.target_projector, self.projector, momentum)


@register("method", "bgrl")
class BGRL(BootstrappedMethod):
    """Predict, from one view, the embedding of the other by a slowly following copy of the encoder; no negatives.

    From `"Large-Scale Representation Learning on Graphs via Bootstrapping" <https://arxiv.org/abs/2102.06514>`_
    (Thakoor et al., 2022). The target starts as a copy of the online encoder, where the authors' code draws it anew.
    Defaults are the authors' for WikiCS.

    Args:
        prediction: Hidden width of the predictor.
    """

    defaults = {
        "encoder": {"hidden": 256, "activation": "prelu", "batch_norm": True},
        "augmentation": {"edge_drop": (0.2, 0.3), "feature_drop": (0.2, 0.1)},
        "training": {
            "epochs": 10_000,
            "optimizer": "adamw",
            "lr": 5e-4,
            "weight_decay": 1e-5,
            "warmup": 1000,
            "cosine": True,
            "patience": None,
        },
    }

    def __init__(
        self, encoder: nn.Module, augmentation: Views = None, *, prediction: Width = 512, **options: Any
    ) -> None:
        super().__init__(encoder, augmentation, **options)
        self.predictor = projection_head(self.width, prediction, "prelu")
