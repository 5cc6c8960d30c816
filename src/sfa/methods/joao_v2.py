"""JOAOv2: JOAO with a projector of its own for each augmentation (You et al., 2021)."""

import torch
from torch import Tensor, nn

from sfa.augment.graph import AUGMENTATIONS
from sfa.methods.joao import JOAO
from sfa.nn.heads import graph_projector
from sfa.registry import register


@register("method", "joao-v2")
class JOAOv2(JOAO):
    r"""Learn augmentations as JOAO does, by projectors that know them: strong ones need not distort the encoder.

    From `"Graph Contrastive Learning Automated" <https://arxiv.org/abs/2106.07594>`_ (You et al., 2021).

    .. math::
        z_i = g_{k_i}(\tilde h_i)

    with the kind :math:`k_i` that graph ``i`` was augmented by; graphs as they are go by the projector of
    ``identity``. That is the paper's text, where projectors are drawn with the augmentations. The authors' code for
    the sets of TU Dortmund draws one projector for all views of an epoch, whatever their augmentations are, and
    learns the probabilities with the first alone.

    Arguments are those of :class:`~sfa.methods.JOAO`.
    """

    defaults = {**JOAO.defaults, "training": {"epochs": 40, "lr": 1e-3}}
    requires_row_identity = True

    def make_head(self) -> nn.Module:
        return nn.ModuleList(graph_projector(self.width) for _ in AUGMENTATIONS)

    def project(self, h: Tensor, choices: Tensor) -> Tensor:
        assert isinstance(self.head, nn.ModuleList)
        order = choices.argsort(stable=True)
        ends = choices.bincount(minlength=len(AUGMENTATIONS)).cumsum(0)
        groups = h[order].tensor_split(ends[:-1].tolist())
        # A kind that no graph has takes part with no rows: its weights then have a gradient, of 0.
        z = torch.cat([head(rows) for head, rows in zip(self.head, groups, strict=True)])
        return z[order.argsort()]
