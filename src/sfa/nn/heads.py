"""Heads between feature maps and losses: projectors, predictors and discriminators."""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from sfa.nn.layers import Activation, BatchNorm, PReLU, init_xavier_, make_activation
from sfa.products import DenseLinear


def projection_head(width: int, projection: int, activation: Activation = "elu") -> nn.Sequential:
    """Build a two-layer MLP ``width → projection → width``, as in GRACE (ELU) or in the paper's text (PReLU)."""
    return nn.Sequential(DenseLinear(width, projection), make_activation(activation), DenseLinear(projection, width))


def graph_projector(width: int) -> nn.Sequential:
    """Build two linear layers of one width with a ReLU between, Xavier-initialized, as in GraphCL's code and JOAO's."""
    head = projection_head(width, width, "relu")
    init_xavier_(head)
    return head


def prelu_head(width: int, hidden: int, out: int) -> nn.Sequential:
    """Build a projector or predictor of MERIT: an MLP ``width → hidden → out`` with batch normalization and PReLU."""
    return nn.Sequential(DenseLinear(width, hidden), BatchNorm(hidden), PReLU(), DenseLinear(hidden, out))


def mlp_head(widths: Sequence[int], *, batch_norm: bool = True, last_norm: bool = False) -> nn.Sequential:
    """Build linear layers with a ReLU after each but the last: ``(b, widths[0])`` to ``(b, widths[-1])``.

    Batch normalization, which makes a bias needless, comes before each ReLU if ``batch_norm``, and if ``last_norm``
    after the last layer too, without scale and shift, as in SimSiam's projector.
    """
    layers: list[nn.Module] = []
    for inner, outer in pairwise(widths[:-1]):
        layers += [DenseLinear(inner, outer, bias=not batch_norm)]
        layers += [BatchNorm(outer), nn.ReLU()] if batch_norm else [nn.ReLU()]
    layers += [DenseLinear(widths[-2], widths[-1], bias=not last_norm)]
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
        self.block = nn.Sequential(*(part for _ in range(3) for part in (DenseLinear(width, width), nn.ReLU())))
        self.shortcut = DenseLinear(width, width)
        init_xavier_(self)

    def forward(self, h: Tensor) -> Tensor:
        return self.block(h) + self.shortcut(h)  # type: ignore[no-any-return]
