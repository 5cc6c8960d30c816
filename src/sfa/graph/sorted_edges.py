"""Edges in the order that views and batches keep: by row, then by column, each once."""

from __future__ import annotations

import torch
from torch import Tensor


def sorted_edges(row: Tensor, col: Tensor, num_nodes: int) -> tuple[Tensor, Tensor]:
    """The distinct edges among those given, ``(2, m)`` sorted by (row, column), and where each was given."""
    keys, given = (row * num_nodes + col).sort()
    first = keys.diff(prepend=keys.new_full((1,), -1)) > 0
    keys = keys[first]
    return torch.stack([keys // num_nodes, keys % num_nodes]), given[first]
