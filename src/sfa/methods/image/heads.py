"""The heads of image-level methods: projectors and predictors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from torch import nn

from sfa.batch_norm import BatchNorm


def mlp(widths: Sequence[int], *, batch_norm: bool = True, last_norm: bool = False) -> nn.Sequential:
    """Linear layers from width to width, with a ReLU after each but the last: ``(b, first)`` to ``(b, last)``.

    A bias that batch normalisation would take away again is left out.

    Args:
        widths: Of the input and of each layer's output, two or more.
        batch_norm: Normalise each layer but the last over the batch, before its ReLU.
        last_norm: Normalise the last layer too, without scale and shift, as in SimSiam's projector.
    """
    layers: list[nn.Module] = []
    for inner, outer in pairwise(widths[:-1]):
        layers += [nn.Linear(inner, outer, bias=not batch_norm)]
        layers += [BatchNorm(outer), nn.ReLU()] if batch_norm else [nn.ReLU()]
    layers += [nn.Linear(widths[-2], widths[-1], bias=not last_norm)]
    layers += [BatchNorm(widths[-1], affine=False)] if last_norm else []
    return nn.Sequential(*layers)
