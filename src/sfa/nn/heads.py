"""Heads between feature maps and losses: projectors, predictors, discriminators, and the prototypes of SwAV."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from sfa import distributed
from sfa.losses import sinkhorn
from sfa.nn.layers import Activation, BatchNorm, init_xavier_, make_activation


def projection_head(width: int, projection: int, activation: Activation = "elu") -> nn.Sequential:
    """Build a two-layer MLP ``width → projection → width``, as in GRACE (ELU) or in the paper's text (PReLU)."""
    return nn.Sequential(nn.Linear(width, projection), make_activation(activation), nn.Linear(projection, width))


def graph_projector(width: int) -> nn.Sequential:
    """Build two linear layers of one width with a ReLU between, Xavier-initialized, as in GraphCL's code and JOAO's."""
    head = projection_head(width, width, "relu")
    init_xavier_(head)
    return head


def prelu_head(width: int, hidden: int, out: int) -> nn.Sequential:
    """Build a projector or predictor of MERIT: an MLP ``width → hidden → out`` with batch normalization and PReLU."""
    return nn.Sequential(nn.Linear(width, hidden), BatchNorm(hidden), nn.PReLU(), nn.Linear(hidden, out))


def mlp_head(widths: Sequence[int], *, batch_norm: bool = True, last_norm: bool = False) -> nn.Sequential:
    """Build linear layers with a ReLU after each but the last: ``(b, widths[0])`` to ``(b, widths[-1])``.

    Batch normalization, which makes a bias needless, comes before each ReLU if ``batch_norm``, and if ``last_norm``
    after the last layer too, without scale and shift, as in SimSiam's projector.
    """
    layers: list[nn.Module] = []
    for inner, outer in pairwise(widths[:-1]):
        layers += [nn.Linear(inner, outer, bias=not batch_norm)]
        layers += [BatchNorm(outer), nn.ReLU()] if batch_norm else [nn.ReLU()]
    layers += [nn.Linear(widths[-2], widths[-1], bias=not last_norm)]
    layers += [BatchNorm(widths[-1], affine=False)] if last_norm else []
    return nn.Sequential(*layers)


class BilinearDiscriminator(nn.Module):
    r"""Scores :math:`h_i^\top W s` ``(n,)`` of a map ``(n, d)`` with the summary ``(d,)`` of a graph (DGI)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, width)))

    def forward(self, h: Tensor, s: Tensor) -> Tensor:
        return h @ (self.weight @ s)


class ResidualDiscriminator(nn.Module):
    """The perceptron ``(n, d) → (n, d)`` of InfoGraph: three layers with a ReLU after each, and a linear one beside."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.block = nn.Sequential(*(part for _ in range(3) for part in (nn.Linear(width, width), nn.ReLU())))
        self.shortcut = nn.Linear(width, width)
        init_xavier_(self)

    def forward(self, h: Tensor) -> Tensor:
        return self.block(h) + self.shortcut(h)  # type: ignore[no-any-return]


class Prototypes(nn.Linear):
    """Scores ``(..., count)`` of projections ``(..., width)`` with prototypes of length 1 (SwAV)."""

    across_processes: bool = False  # whether the rows of all processes are one batch: sfa.distributed

    def __init__(self, width: int, count: int, **options: Any) -> None:
        super().__init__(width, count, bias=False)
        self.options = options  # of sinkhorn
        self.normalize_()

    @torch.no_grad()
    def normalize_(self) -> None:
        """Scale all prototypes to length 1, in place."""
        self.weight.copy_(normalize(self.weight, dim=1))

    @torch.no_grad()
    def assign(self, scores: Tensor, more: Tensor | None = None) -> list[Tensor]:
        """Compute assignments ``(b, count)`` of each view from the scores ``(2, b, count)`` of both.

        Projections ``more`` ``(2, m, width)`` are assigned with them, and left out of the result.
        """
        rows = scores.shape[1]
        every = scores if more is None else torch.cat([scores, self(more)], dim=1)
        return [sinkhorn(view, **self.options, across_processes=self.across_processes)[:rows] for view in every]


class Queue(nn.Module):
    """The newest ``size`` projections of both views, with which a small batch is assigned as part of a large one.

    Several processes keep the same queue: they push their rows as one batch, and each adds its own part of it.
    """

    rows: Tensor  # (2, size, width), the newest first
    stored: Tensor  # the number of rows that are projections
    across_processes: bool = False  # whether the rows of all processes are one batch: sfa.distributed

    def __init__(self, size: int, width: int) -> None:
        super().__init__()
        self.register_buffer("rows", torch.zeros(2, size, width))
        self.register_buffer("stored", torch.zeros((), dtype=torch.int64))

    @property
    def is_full(self) -> bool:
        return int(self.stored) == self.rows.shape[1]

    @property
    def own_rows(self) -> Tensor:
        if not self.across_processes:
            return self.rows
        return self.rows.tensor_split(distributed.world_size(), dim=1)[distributed.rank()]

    @torch.no_grad()
    def push(self, z: Tensor) -> None:
        """Add the projections ``(2, b, width)`` of a batch, and drop the oldest rows for them."""
        z = distributed.gather_rows(z.transpose(0, 1))[0].transpose(0, 1) if self.across_processes else z
        size = self.rows.shape[1]
        self.rows.copy_(torch.cat([z.to(self.rows.dtype), self.rows], dim=1)[:, :size])
        self.stored.add_(z.shape[1]).clamp_(max=size)
