"""SimSiam: exploring simple Siamese representation learning (Chen and He, 2021)."""

from collections.abc import Iterable

from torch import Tensor, nn

from sfa.losses import bootstrap_latent
from sfa.methods.base import Spectral, TwoViewMethod, Views
from sfa.nn.heads import mlp_head
from sfa.ranges import Count
from sfa.registry import register


@register("method", "simsiam")
class SimSiam(TwoViewMethod):
    """Predict the projection of one view from that of the other, which counts as a constant; no negatives.

    From `"Exploring Simple Siamese Representation Learning" <https://arxiv.org/abs/2011.10566>`_ (Chen and He, 2021).
    The loss is minus the mean cosine of predictions and projections, over both directions. The projector is three
    linear layers with batch normalization after each; the predictor's learning rate does not decay.

    Args:
        head_hidden: Width of the projector's two hidden layers.
        head_width: Width of projections and predictions.
        prediction: Hidden width of the predictor.
    """

    task = "image"
    defaults = {"augmentation": {"strength": "weak"}}
    spans_processes = True

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        head_hidden: Count = 2048,
        head_width: Count = 2048,
        prediction: Count = 512,
        spectral: Spectral = None,
    ) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = mlp_head((self.width, head_hidden, head_hidden, head_width), last_norm=True)
        self.predictor = mlp_head((head_width, prediction, head_width))

    def constant_rate(self) -> Iterable[nn.Parameter]:
        return self.predictor.parameters()

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        p_alpha, p_beta = self.predictor(z_alpha), self.predictor(z_beta)
        return (self.distance(p_alpha, z_beta) + self.distance(p_beta, z_alpha)) / 2

    def distance(self, p: Tensor, z: Tensor) -> Tensor:
        """Compute ``D``, minus the mean cosine of predictions and constants: the bootstrap loss in other units."""
        return bootstrap_latent(p, z.detach(), across_processes=self.across_processes) / 2 - 1
