"""The diffusion of small graphs as dense matrices, by the formulas, and a convolution with any such matrix."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.nn import GCN


def dense_adjacency(graph: Data) -> Tensor:
    """``T = D^-1/2 (A + I) D^-1/2``, entry by entry."""
    a = torch.eye(graph.num_nodes, dtype=torch.float64)
    weights = [1.0] * graph.edge_index.shape[1] if graph.edge_weight is None else graph.edge_weight.tolist()
    for (i, j), weight in zip(graph.edge_index.T.tolist(), weights, strict=True):
        a[i, j] += weight
    degree = a.sum(1)
    return a / (degree[:, None] * degree[None, :]).sqrt()


def dense_pagerank(graph: Data, alpha: float) -> Tensor:
    t = dense_adjacency(graph)
    return alpha * torch.linalg.inv(torch.eye(len(t), dtype=torch.float64) - (1 - alpha) * t)


def dense_heat(graph: Data, time: float) -> Tensor:
    t = dense_adjacency(graph)
    return torch.linalg.matrix_exp(-time * (torch.eye(len(t), dtype=torch.float64) - t))


def dense_encoder(encoder: GCN, matrix: Tensor, x: Tensor) -> Tensor:
    """An encoder of one layer: ``PReLU(M X Θ + b)``."""
    (convolution,), (activation,) = encoder.convolutions, encoder.activations
    out = matrix @ x @ convolution.weight + convolution.bias
    return torch.where(out > 0, out, activation.weight * out)
