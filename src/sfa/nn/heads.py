"""Heads between feature maps and losses: projectors and predictors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from sfa.nn.activations import Activation, make_activation
from sfa.nn.batch_norm import BatchNorm


def projection_head(width: int, projection: int, activation: Activation = "elu") -> nn.Sequential:
    """Build a two-layer MLP ``width → projection → width``, as in GRACE (ELU) or in the paper's text (PReLU)."""
    return nn.Sequential(nn.Linear(width, projection), make_activation(activation), nn.Linear(projection, width))


def graph_projector(width: int) -> nn.Sequential:
    """Build two linear layers of one width with a ReLU between, Xavier-initialized, as in GraphCL's code and JOAO's."""
    head = projection_head(width, width, "relu")
    for layer in head:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return head


def prelu_head(width: int, hidden: int, out: int) -> nn.Sequential:
    """Build a projector or predictor of MERIT: an MLP ``width → hidden → out`` with batch normalization and PReLU."""
    return nn.Sequential(nn.Linear(width, hidden), BatchNorm(hidden), nn.PReLU(), nn.Linear(hidden, out))


def mlp_head(widths: Sequence[int], *, batch_norm: bool = True, last_norm: bool = False) -> nn.Sequential:
    """Build linear layers from width to width, with a ReLU after each but the last: ``(b, first)`` to ``(b, last)``.

    A bias that batch normalization would take away again is left out.

    Args:
        widths: Of the input and of each layer's output, two or more.
        batch_norm: Normalize each layer but the last over the batch, before its ReLU.
        last_norm: Normalize the last layer too, without scale and shift, as in SimSiam's projector.
    """
    layers: list[nn.Module] = []
    for inner, outer in pairwise(widths[:-1]):
        layers += [nn.Linear(inner, outer, bias=not batch_norm)]
        layers += [BatchNorm(outer), nn.ReLU()] if batch_norm else [nn.ReLU()]
    layers += [nn.Linear(widths[-2], widths[-1], bias=not last_norm)]
    layers += [BatchNorm(widths[-1], affine=False)] if last_norm else []
    return nn.Sequential(*layers)
