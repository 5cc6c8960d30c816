"""Projection heads between feature map and loss."""

from __future__ import annotations

from torch import nn

from sfa.graph.activations import Activation, make_activation


def projection_head(width: int, projection: int, activation: Activation = "elu") -> nn.Sequential:
    """Two-layer MLP ``width → projection → width``, as in GRACE (ELU) or in the paper's text (PReLU)."""
    return nn.Sequential(nn.Linear(width, projection), make_activation(activation), nn.Linear(projection, width))
