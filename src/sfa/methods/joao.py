"""JOAO and JOAOv2: graph contrastive learning automated (You et al., 2021)."""

from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment.graph import A_FIFTH, AUGMENTATIONS, IDENTITY, RandomChoice
from sfa.errors import InputError, TrainingError
from sfa.losses.simplex import ascend
from sfa.methods.base import Observer, Views
from sfa.methods.graphcl import GraphCL
from sfa.modes import kept_buffers
from sfa.nn.heads import graph_projector
from sfa.ranges import NonNegative, Positive, check_number
from sfa.registry import register
from sfa.tasks import num_items


@register("method", "joao")
class JOAO(GraphCL):
    r"""Learn which augmentations GraphCL draws: the weights minimize its loss, the probabilities maximize it.

    From `"Graph Contrastive Learning Automated" <https://arxiv.org/abs/2106.07594>`_ (You et al., 2021). After each
    epoch the probabilities take a step of projected gradient ascent (:func:`~sfa.losses.simplex.ascend`) on

    .. math::
        \sum_k p_k\, \mathcal{L}_k(\theta) - \tfrac{\gamma}{2} \lVert p - \tfrac15 \mathbf{1} \rVert^2

    with the loss :math:`\mathcal{L}_k` of :class:`~sfa.methods.GraphCL` over every fifth batch when all graphs are
    augmented by kind ``k`` of the five. The authors tune ``gamma`` among 0.01, 0.1 and 1.

    Args:
        gamma: How much uniform probabilities are preferred.
        beta: Length of the step that the probabilities take after each epoch.
    """

    defaults = {"augmentation": {**A_FIFTH, "kinds": "all", "both_views": False}}
    probabilities: Tensor  # (5,), of the augmentations

    def __init__(
        self,
        encoder: nn.Module,
        augmentation: Views = None,
        *,
        gamma: NonNegative = 0.1,
        beta: Positive = 1.0,
        **options: Any,
    ) -> None:
        check_number("gamma", gamma)
        check_number("beta", beta, above=0)
        super().__init__(encoder, augmentation, **options)
        if not isinstance(self.augmentation, RandomChoice) or self.augmentation.both_views:
            raise InputError(f"JOAO takes a RandomChoice with both_views=False, not {self.augmentation!r}.")
        self.register_buffer("probabilities", self.augmentation.probabilities)
        self.gamma, self.beta = gamma, beta

    def project(self, h: Tensor, choices: Tensor) -> Tensor:
        """Apply the head to the map ``(b, width)`` of graphs that were augmented by the kinds ``choices`` ``(b,)``."""
        return self.head(h)  # type: ignore[no-any-return]

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        choices = self.probabilities.multinomial(num_items(data), True, generator=generator)
        return self.contrast(data, self.encoder(data, generator), choices, generator, observe)

    def contrast(
        self, data: Data, h: Tensor, choices: Tensor, generator: torch.Generator | None, observe: Observer | None = None
    ) -> Tensor:
        """Compute the loss of graphs, whose pooled map is ``h``, against their views by the kinds ``choices``."""
        h_view = self.encoder(self.augmentation.apply(data, choices, generator), generator)
        h_alpha, h_beta = self.apply_spectral(h, h_view, generator=generator, observe=observe)
        return self.loss(self.project(h_alpha, torch.full_like(choices, IDENTITY)), self.project(h_beta, choices))

    @torch.no_grad()
    def losses(self, batches: Iterable[tuple[Data, torch.Generator]]) -> Tensor:
        """Compute the loss of each augmentation when it is the only one, ``(5,)``, a mean over the graphs."""
        total, count = torch.zeros_like(self.probabilities), 0
        with kept_buffers(self):
            for data, generator in batches:
                h, graphs = self.encoder(data, generator), num_items(data)
                for kind in range(len(AUGMENTATIONS)):
                    choices = torch.full((graphs,), kind, device=h.device)
                    total[kind] += graphs * self.contrast(data, h, choices, generator)
                count += graphs
        return total / count

    def after_epoch(self, batches: Iterable[tuple[Data, torch.Generator]]) -> None:
        losses = self.losses(islice(batches, 0, None, 5))  # the authors look at a fifth of them, and the first
        if not losses.isfinite().all():
            raise TrainingError("The loss of an augmentation is no longer a number: try a smaller learning rate.")
        self.probabilities.copy_(ascend(self.probabilities, losses, gamma=self.gamma, beta=self.beta))


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
