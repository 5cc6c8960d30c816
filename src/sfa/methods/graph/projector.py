"""The head between pooled feature maps and a contrastive loss of graphs."""

from __future__ import annotations

from torch import nn

from sfa.methods.heads import projection_head


def projector(width: int) -> nn.Sequential:
    """Two linear layers of one width with a ReLU between, Xavier-initialised, as in GraphCL's code and in JOAO's."""
    head = projection_head(width, width, "relu")
    for layer in head:
        if isinstance(layer, nn.Linear):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
    return head
