"""Discriminators: what scores nodes by the summary of a graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def summary(h: Tensor) -> Tensor:
    r"""Compute the readout of DGI, :math:`s = \sigma\big( \tfrac1n \sum_i h_i \big)`, ``(d,)`` of a map ``(n, d)``."""
    return h.mean(0).sigmoid()


class BilinearDiscriminator(nn.Module):
    r"""Scores :math:`h_i^\top W s` of nodes with the summary of a graph (DGI); their sigmoid is a probability.

    Args:
        width: ``d``.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, width)))

    def forward(self, h: Tensor, s: Tensor) -> Tensor:
        """Compute scores ``(n,)`` of a feature map ``(n, d)`` with a summary ``(d,)``."""
        return h @ (self.weight @ s)


class ResidualDiscriminator(nn.Module):
    """The perceptron ``(n, d) → (n, d)`` of InfoGraph: three layers with a ReLU after each, and a linear one beside.

    Args:
        width: ``d``.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.block = nn.Sequential(*(part for _ in range(3) for part in (nn.Linear(width, width), nn.ReLU())))
        self.shortcut = nn.Linear(width, width)
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)
                nn.init.zeros_(part.bias)

    def forward(self, h: Tensor) -> Tensor:
        out: Tensor = self.block(h) + self.shortcut(h)
        return out
