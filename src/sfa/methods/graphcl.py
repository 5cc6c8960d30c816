"""GraphCL (You et al., 2020) and what builds on it: JOAO and JOAOv2 (You et al., 2021), SimGRACE (Xia et al., 2022)."""

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch_geometric.data import Data

from sfa.augment.graph import A_FIFTH, AUGMENTATIONS, IDENTITY, RandomChoice
from sfa.errors import InputError, TrainingError
from sfa.losses import info_nce
from sfa.methods.base import Observer, Spectral, TwoViewMethod, Views
from sfa.modes import kept_buffers
from sfa.nn.heads import graph_projector
from sfa.ranges import NonNegative, Positive, check_number
from sfa.registry import register
from sfa.tasks import num_items


@register("method", "graphcl")
class GraphCL(TwoViewMethod):
    """Contrast each graph with an augmented view of itself, against the views of the other graphs of the batch.

    From `"Graph Contrastive Learning with Augmentations" <https://arxiv.org/abs/2010.13902>`_ (You et al., 2020). The
    loss is :func:`~sfa.losses.info_nce` behind a projector. As in the authors' code view alpha is the graphs as they
    are, the loss has one direction, and the positive is not in the denominator. For proteins they take ``random2``.

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

    def chance_loss(self, rows: int) -> float | None:
        return math.log(max(1, rows - 1))

    def loss(self, z_alpha: Tensor, z_beta: Tensor, *, of_each: bool = False) -> Tensor:
        return info_nce(z_alpha, z_beta, positive_in_denominator=False, tau=self.tau, of_each=of_each)


@register("method", "joao")
class JOAO(GraphCL):
    r"""Learn which augmentations GraphCL draws: the weights minimize its loss, the probabilities maximize it.

    From `"Graph Contrastive Learning Automated" <https://arxiv.org/abs/2106.07594>`_ (You et al., 2021). After each
    epoch the probabilities take a step of projected gradient ascent (:func:`ascend`) on

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
    those of :class:`JOAO`. Graphs as they are go through the projector of ``identity``.
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


def project_to_simplex(v: Tensor) -> Tensor:
    r"""Return the vector of probabilities that is nearest to ``v`` ``(k,)``, exactly (Held et al., 1974).

    It is :math:`\max(v - \mu, 0)` with the one :math:`\mu` that makes the sum 1: if the ``m`` largest entries of ``v``
    stay above 0, :math:`\mu = (v_{(1)} + \dots + v_{(m)} - 1) / m`; ``m`` is the largest with :math:`v_{(m)} > \mu`.
    """
    if v.dim() != 1 or len(v) == 0 or not bool(v.isfinite().all()):
        raise InputError(f"A vector of finite numbers is needed to find the nearest probabilities, not {v.tolist()}.")
    v = v - v.max()  # a common shift moves mu alone, and entries near 0 keep their digits in the sums
    descending = v.sort(descending=True).values
    thresholds = (descending.cumsum(0) - 1) / torch.arange(1, len(v) + 1, device=v.device)
    mu = thresholds[int((descending > thresholds).sum()) - 1]
    return (v - mu).clamp_min(0)


def ascend(p: Tensor, losses: Tensor, *, gamma: float, beta: float) -> Tensor:
    r"""Take a step of projected gradient ascent on the losses ``(k,)`` of choices with probabilities ``p`` ``(k,)``.

    .. math::
        p \leftarrow \Pi_\Delta \big( p + \beta\, ( \mathcal{L} - \gamma ( p - \tfrac1k \mathbf{1} ) ) \big)
    """
    return project_to_simplex(p + beta * (losses - gamma * (p - 1 / len(p))))


@register("method", "simgrace")
class SimGRACE(GraphCL):
    """Contrast the embedding of a graph with that by a perturbed encoder; no graph is augmented.

    From `"SimGRACE: A Simple Framework for Graph Contrastive Learning without Data Augmentation"
    <https://arxiv.org/abs/2202.03104>`_ (Xia et al., 2022). The loss is :class:`~sfa.methods.GraphCL`'s; as in the
    authors' code the anchors are the perturbed maps, as constants. It tunes ``eta`` among 0.1, 1, 10 and 100.

    Args:
        eta: Size of the noise, in standard deviations of each tensor of weights.
    """

    takes_augmentation = False
    defaults = {"encoder": {"layers": 5}}

    def __init__(self, encoder: nn.Module, *, eta: NonNegative = 1.0, **options: Any) -> None:
        check_number("eta", eta)
        super().__init__(encoder, **options)
        self.eta = eta

    def forward(self, data: Data, generator: torch.Generator | None = None, observe: Observer | None = None) -> Tensor:
        h = self.encoder(data, generator)
        with torch.no_grad(), kept_buffers(self.encoder):
            theta = perturbed(self.encoder, self.eta, generator)
            h_perturbed = functional_call(self.encoder, theta, (data, generator))
        h, h_perturbed = self.apply_spectral(h, h_perturbed, generator=generator, observe=observe)
        with torch.no_grad():
            anchors = self.head(h_perturbed)
        return self.loss(anchors, self.head(h))


@torch.no_grad()
def perturbed(network: nn.Module, eta: float, generator: torch.Generator | None = None) -> dict[str, Tensor]:
    """Add Gaussian noise of ``eta`` times its own standard deviation to each parameter of a network (SimGRACE)."""
    noisy = {name: theta.detach() for name, theta in network.named_parameters()}
    for name, theta in noisy.items():
        if theta.numel() > 1:  # one number has no deviation
            noise = torch.randn(theta.shape, generator=generator, dtype=theta.dtype, device=theta.device)
            noisy[name] = theta + eta * theta.std() * noise
    return noisy
