"""Two views, an online encoder with a predictor, and a target that follows: BGRL, of nodes and of graphs, and BYOL."""

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.losses import bootstrap_latent
from sfa.methods.base import Method, Observer, Spectral, Views
from sfa.modes import full_precision
from sfa.nn.heads import mlp_head
from sfa.nn.momentum import cosine_momentum, make_target, update_target_


class BootstrappedMethod(Method):
    r"""Predict, from one view, what a slowly following copy of the encoder makes of the other; no negatives.

    .. math::
        \mathcal{L} = \tfrac{1}{2} \big( \ell(p(g(\tilde H_\alpha)), \bar g(\tilde T_\beta)) +
        \ell(p(g(\tilde H_\beta)), \bar g(\tilde T_\alpha)) \big), \qquad
        \ell(q, z) = \tfrac{1}{n} \sum_i 2 - 2 \cos(q_i, z_i)

    with the online encoder's maps :math:`H`, the target encoder's :math:`T`, which are constants, the predictor
    :math:`p`, and the projectors :math:`g` and :math:`\bar g`, online and target, which BGRL does without. The spectral
    map acts on all four maps. After each step the target's weights move towards the online ones, with a momentum that
    rises to 1 along a cosine. A method is a subclass that sets its ``predictor``.

    Args:
        projector: Widths of the projector's layers; there is none if not given.
        momentum: Of the target at the start of training.
    """

    takes_augmentation = True
    spans_processes = True
    predictor: nn.Module

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        projector: tuple[int, ...] = (),
        momentum: float = 0.99,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.momentum = momentum
        self.target = make_target(self.encoder)
        self.projector = mlp_head((self.width, *projector)) if projector else nn.Identity()
        self.target_projector = make_target(self.projector)

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
