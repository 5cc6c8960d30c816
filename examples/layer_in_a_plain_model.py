"""The layer in a plain PyTorch model: contrastive learning on Cora, in one file and about a minute.

    python examples/layer_in_a_plain_model.py [--epochs 100]

A two-layer graph convolution written with torch alone encodes the graph; the layer augments the spectrum of the feature
map twice, independently, which makes the two views; a projector and the contrastive loss follow. The package gives the
layer, the loss, the data and the score; the model and the loop are yours.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn

import sfa
from sfa.data import load
from sfa.evaluate import effective_rank
from sfa.losses import nt_xent
from sfa.registry import resolve


class Model(nn.Module):
    """Encoder, spectral feature augmentation, projector."""

    def __init__(self, in_features: int, spectral: nn.Module, width: int = 256) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(in_features, width, bias=False), nn.Linear(width, width, bias=False)
        self.spectral = spectral  # H -> H~ while training, the identity in eval()
        self.projector = nn.Sequential(nn.Linear(width, width), nn.ELU(), nn.Linear(width, width))

    def encode(self, x: Tensor, a_hat: Tensor) -> Tensor:
        h = (a_hat @ self.first(x)).relu()
        return (a_hat @ self.second(h)).relu()

    def forward(self, x: Tensor, a_hat: Tensor) -> tuple[Tensor, Tensor]:
        h = self.encode(x, a_hat)
        return self.projector(self.spectral(h)), self.projector(self.spectral(h))


def normalised_adjacency(edge_index: Tensor, nodes: int) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 as a sparse matrix."""
    loops = torch.arange(nodes).expand(2, nodes)
    index = torch.cat([edge_index, loops], dim=1)
    scale = index[0].bincount(minlength=nodes).float().rsqrt()
    values = scale[index[0]] * scale[index[1]]
    return torch.sparse_coo_tensor(index, values, (nodes, nodes), check_invariants=True).coalesce()


def train(spectral: nn.Module, x: Tensor, a_hat: Tensor, epochs: int) -> Model:
    torch.manual_seed(0)
    model = Model(x.shape[1], spectral)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
    for _ in range(epochs):
        z_alpha, z_beta = model(x, a_hat)
        loss = nt_xent(z_alpha, z_beta, tau=0.4, intraview=False)
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
    a_hat = normalised_adjacency(cora.edge_index, cora.num_nodes)
    layers = {
        "without SFA": nn.Identity(),
        "with SFA": sfa.SpectralFeatureAugmentation.gentle(),  # recommended
        "with SFA of the paper": sfa.SpectralFeatureAugmentation.paper(),
    }
    for name, layer in layers.items():
        model = train(layer, x, a_hat, epochs)
        with torch.no_grad():
            h = model.encode(x, a_hat)
        score = resolve("protocol", "honest-10-10-80").evaluate(h, cora)
        print(f"{name}: accuracy {score}, effective rank {effective_rank(h):.0f}")
