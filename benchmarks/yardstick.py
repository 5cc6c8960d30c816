"""A straightforward GRACE + SFA, as the peers write it: what our speed and memory are measured against.

Dense features and dense copies of them for every view, PyTorch Geometric's GCNConv on a new list of edges, and InfoNCE
on n × 2n matrices of similarities with dense masks of positives and negatives, under autograd. A leaner form of the
loss, four n × n matrices without masks as in GRACE's own code, is here too. Same draws, same weights, same loss.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv

from sfa.methods import GRACE


class Yardstick(nn.Module):
    """The same model as a given GRACE with two layers of convolutions and one SFA iteration."""

    def __init__(self, grace: GRACE, *, masks: bool = True) -> None:
        super().__init__()
        self.loss = info_nce if masks else lean_info_nce
        views = grace.augmentation
        self.edge_drop, self.feature_drop, self.tau = views.edge_drop, views.feature_drop, grace.tau
        self.convolutions = nn.ModuleList()
        for convolution in grace.encoder.convolutions:
            self.convolutions.append(GCNConv(*convolution.weight.shape))
            self.convolutions[-1].lin.weight.data = convolution.weight.detach().T.contiguous()
            self.convolutions[-1].bias.data = convolution.bias.detach().clone()
        self.head = nn.Sequential(nn.Linear(*_sizes(grace.head[0])), nn.ELU(), nn.Linear(*_sizes(grace.head[2])))
        self.head.load_state_dict(grace.head.state_dict())

    def forward(self, graph: Data, generator: torch.Generator) -> Tensor:
        views = [
            self.view(graph, edges, features, generator)
            for edges, features in zip(self.edge_drop, self.feature_drop, strict=True)
        ]
        maps = [self.encode(*view) for view in views]
        alpha, beta = (self.head(augment(h, generator)) for h in maps)
        return self.loss(alpha, beta, self.tau)

    def view(self, graph: Data, edges: float, features: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        x = graph.x.clone()
        x[:, torch.rand(x.shape[1], generator=generator) < features] = 0
        source, target = graph.edge_index
        low, high = torch.minimum(source, target), torch.maximum(source, target)
        undirected, edge_of = torch.unique(low * graph.num_nodes + high, return_inverse=True)
        keep = torch.rand(len(undirected), generator=generator) >= edges
        return x, graph.edge_index[:, keep[edge_of]]

    def encode(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for convolution in self.convolutions:
            x = convolution(x, edge_index).relu()
        return x


def augment(h: Tensor, generator: torch.Generator) -> Tensor:
    """Algorithm 1 with k = 1, r constant."""
    r = torch.randn(h.shape[1], 1, generator=generator).to(h.dtype)
    r = (h.T @ (h @ r)).detach()
    return h - h @ r @ r.T / r.square().sum()


def lean_info_nce(z_alpha: Tensor, z_beta: Tensor, tau: float) -> Tensor:
    """Both directions of Eq. 2, four n × n matrices."""
    return 0.5 * (direction(z_alpha, z_beta, tau) + direction(z_beta, z_alpha, tau)).mean()


def direction(anchor: Tensor, other: Tensor, tau: float) -> Tensor:
    u, v = functional.normalize(anchor), functional.normalize(other)
    within, between = torch.exp(u @ u.T / tau), torch.exp(u @ v.T / tau)
    return -torch.log(between.diag() / (within.sum(1) + between.sum(1) - within.diag()))


def info_nce(z_alpha: Tensor, z_beta: Tensor, tau: float) -> Tensor:
    """Both directions of Eq. 2 with n × 2n masks, which serve any choice of positives and negatives."""
    n = len(z_alpha)
    eye = torch.eye(n, dtype=z_alpha.dtype)
    positives, negatives = torch.cat([eye, torch.zeros_like(eye)], 1), torch.cat([1 - eye, 1 - eye], 1)

    def one(anchor: Tensor, other: Tensor) -> Tensor:
        logits = functional.normalize(anchor) @ functional.normalize(torch.cat([other, anchor])).T / tau
        weights = torch.exp(logits) * (positives + negatives)
        return -((logits - torch.log(weights.sum(1, keepdim=True))) * positives).sum(1) / positives.sum(1)

    return 0.5 * (one(z_alpha, z_beta) + one(z_beta, z_alpha)).mean()


def _sizes(linear: nn.Module) -> tuple[int, int]:
    assert isinstance(linear, nn.Linear)
    return linear.in_features, linear.out_features
