"""The layer in a model of PyTorch Geometric: contrastive learning on Cora with its own convolutions and dropouts.

    python examples/layer_in_pyg.py [--epochs 100]

Two views of the graph, with edges and features dropped, go through one encoder of GCNConv; the layer augments the
spectrum of each feature map; a projector and the contrastive loss follow. The layer takes a plain tensor with a row a
node: any convolution can come before it.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv
from torch_geometric.utils import dropout_edge, mask_feature

import sfa
from sfa.data import load
from sfa.evaluate import effective_rank
from sfa.losses import nt_xent
from sfa.registry import resolve


class Encoder(nn.Module):
    """Two graph convolutions."""

    def __init__(self, in_features: int, width: int) -> None:
        super().__init__()
        self.first, self.second = GCNConv(in_features, 2 * width), GCNConv(2 * width, width)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index).relu()


class Model(nn.Module):
    """Encoder, spectral feature augmentation, projector."""

    def __init__(self, in_features: int, spectral: nn.Module, width: int = 128) -> None:
        super().__init__()
        self.encoder = Encoder(in_features, width)
        self.spectral = spectral  # H -> H~ while training, the identity in eval()
        self.projector = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, width))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.projector(self.spectral(self.encoder(x, edge_index)))


def train(spectral: nn.Module, x: Tensor, edge_index: Tensor, epochs: int) -> Model:
    torch.manual_seed(0)
    model = Model(x.shape[1], spectral)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4, weight_decay=1e-5)
    for _ in range(epochs):
        views = [(mask_feature(x, p=0.3)[0], dropout_edge(edge_index, p=0.3)[0]) for _ in range(2)]
        loss = nt_xent(*(model(*view) for view in views), tau=0.4)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=100)
    epochs = parser.parse_args().epochs
    cora = load("cora")
    x = cora.x.to_dense()
    x = x / x.sum(1, keepdim=True)
    layers = {
        "without SFA": nn.Identity(),
        "with SFA": sfa.SpectralFeatureAugmentation.gentle(),  # recommended
        "with SFA of the paper": sfa.SpectralFeatureAugmentation.paper(),
    }
    for name, layer in layers.items():
        model = train(layer, x, cora.edge_index, epochs)
        with torch.no_grad():
            h = model.encoder(x, cora.edge_index)
        score = resolve("protocol", "honest-10-10-80").evaluate(h, cora)
        print(f"{name}: accuracy {score}, effective rank {effective_rank(h):.0f}")
