"""What methods share that tell a graph's own nodes from corrupted ones by a summary of the graph: DGI and MVGRL."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def summary(h: Tensor) -> Tensor:
    r"""Compute the readout of DGI, :math:`s = \sigma\big( \tfrac1n \sum_i h_i \big)`, ``(d,)`` of a map ``(n, d)``."""
    return h.mean(0).sigmoid()


class Discriminator(nn.Module):
    r"""Scores :math:`h_i^\top W s` of nodes with the summary of a graph; their sigmoid is a probability.

    Args:
        width: ``d``.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, width)))

    def forward(self, h: Tensor, s: Tensor) -> Tensor:
        """Compute scores ``(n,)`` of a feature map ``(n, d)`` with a summary ``(d,)``."""
        return h @ (self.weight @ s)
