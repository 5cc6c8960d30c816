"""JOAOv2: JOAO with a projector of its own for each augmentation (You et al., 2021)."""

import torch
from torch import Tensor, nn

from sfa.augment.graph import AUGMENTATIONS
from sfa.methods.joao import JOAO
from sfa.nn.heads import graph_projector
from sfa.registry import register


@register("method", "joao-v2")
class JOAOv2(JOAO):
    """Learn augmentations as JOAO does, with a projector for each, so that strong ones need not distort the encoder.

    From `"Graph Contrastive Learning Automated" <https://arxiv.org/abs/2106.07594>`_ (You et al., 2021). Arguments are
    those of :class:`~sfa.methods.JOAO`. Graphs as they are go through the projector of ``identity``.
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
