"""GraphCL: graph contrastive learning with augmentations (You et al., 2020)."""

from torch import Tensor, nn

from sfa.losses import info_nce
from sfa.methods.base import Spectral, TwoViewMethod, Views
from sfa.nn.heads import graph_projector
from sfa.ranges import Positive, check_number
from sfa.registry import register


@register("method", "graphcl")
class GraphCL(TwoViewMethod):
    """Contrast each graph with an augmented view of itself, against the views of the other graphs of the batch.

    From `"Graph Contrastive Learning with Augmentations" <https://arxiv.org/abs/2010.13902>`_ (You et al., 2020). The
    loss is :func:`~sfa.losses.info_nce` behind a projector. As in the authors' code for the sets of TU Dortmund view
    alpha is the graphs as they are, the loss has one direction, and the positive is not in the denominator; the paper's
    text augments both views. Their rule for molecules and proteins is the augmentation ``kinds: random2``.

    Args:
        tau: Temperature.
    """

    task = "graph"
    defaults = {"augmentation": {"both_views": False}}

    def __init__(
        self, encoder: nn.Module, augmentation: Views = None, *, tau: Positive = 0.2, spectral: Spectral = None
    ) -> None:
        check_number("tau", tau, above=0)
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = self.make_head()
        self.tau = tau

    def make_head(self) -> nn.Module:
        """Build the projector between pooled feature maps and the loss."""
        return graph_projector(self.width)

    def loss(self, z_alpha: Tensor, z_beta: Tensor, *, of_each: bool = False) -> Tensor:
        return info_nce(z_alpha, z_beta, positive_in_denominator=False, tau=self.tau, of_each=of_each)
