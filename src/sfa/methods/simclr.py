"""SimCLR: a simple framework for contrastive learning of visual representations (Chen et al., 2020)."""

from torch import Tensor, nn

from sfa.losses import nt_xent
from sfa.losses.nt_xent import check_temperature
from sfa.methods.base import Spectral, TwoViewMethod, Views
from sfa.nn.heads import mlp_head
from sfa.ranges import Count, Positive
from sfa.registry import register


@register("method", "simclr")
class SimCLR(TwoViewMethod):
    """Find the other view of an image among the views of all images of the batch (NT-Xent).

    From `"A Simple Framework for Contrastive Learning of Visual Representations" <https://arxiv.org/abs/2002.05709>`_
    (Chen et al., 2020). The loss is :func:`~sfa.losses.nt_xent` behind a projector of two linear layers. Widths and
    temperature are solo-learn's (da Costa et al., 2022) for CIFAR.

    Args:
        head_hidden: Hidden width of the projector.
        head_width: Width of its output.
        tau: Temperature.
    """

    task = "image"
    spans_processes = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Count = 2048,
        head_width: Count = 256,
        tau: Positive = 0.2,
        spectral: Spectral = None,
    ) -> None:
        check_temperature(tau)
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = mlp_head((self.width, head_hidden, head_width), batch_norm=False)
        self.tau = tau

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        return nt_xent(z_alpha, z_beta, tau=self.tau, across_processes=self.across_processes)
