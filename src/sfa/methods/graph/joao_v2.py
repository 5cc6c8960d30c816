"""JOAOv2: JOAO with a projector of its own for each augmentation (You et al., 2021)."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sfa.graph.graph_views import AUGMENTATIONS
from sfa.methods.graph.joao import JOAO
from sfa.methods.graph.projector import projector
from sfa.methods.graph.settings import TU_SETTINGS


class JOAOv2(JOAO):
    r"""JOAO whose projectors know the augmentation: strong ones need not distort the encoder.

    .. math::
        z_i = g_{k_i}(\tilde h_i)

    with the kind :math:`k_i` that graph ``i`` was augmented by; graphs as they are go by the projector of
    ``identity``. That is the paper's text, where projectors are drawn with the augmentations. The authors' code for
    the sets of TU Dortmund draws one projector for all views of an epoch, whatever their augmentations are, and
    learns the probabilities with the first alone.

    Arguments are those of :class:`~sfa.methods.graph.joao.JOAO`.
    """

    defaults: ClassVar[dict[str, Any]] = {**TU_SETTINGS, "training.epochs": 40, "training.lr": 1e-3}
    rows_are_nodes = True

    def make_head(self, width: int) -> nn.ModuleList:
        return nn.ModuleList(projector(width) for _ in AUGMENTATIONS)

    def project(self, h: Tensor, choices: Tensor) -> Tensor:
        assert isinstance(self.head, nn.ModuleList)
        order = choices.argsort(stable=True)
        ends = choices.bincount(minlength=len(AUGMENTATIONS)).cumsum(0)
        groups = h[order].tensor_split(ends[:-1].tolist())
        # A kind that no graph has takes part with no rows: its weights then have a gradient, of 0.
        z = torch.cat([head(rows) for head, rows in zip(self.head, groups, strict=True)])
        return z[order.argsort()]
