"""SimCLR in the manner of lightly's examples, with the layer between backbone and projection head; on digits.

    python examples/simclr_with_the_layer.py [--epochs 30]

Everything is plain PyTorch but the random views, for which lightly uses torchvision. To have the same in lightly's own
SimCLR example, add three lines to it:

    import sfa                                                  # beside the other imports
    self.spectral = sfa.SpectralFeatureAugmentation.gentle()    # in __init__, beside the projection head
    x = self.spectral(x)                                        # in forward, before the projection head

The layer is the identity in ``eval()``: embeddings are those of the backbone, as ever.
"""

from __future__ import annotations

import argparse

import torch
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader

import sfa
from sfa.augment import STRENGTHS
from sfa.augment.image import random_view
from sfa.data import load
from sfa.evaluate import effective_rank
from sfa.nn.image_encoder import to_float


class SimCLR(nn.Module):
    """Backbone, spectral feature augmentation, projection head."""

    def __init__(self, spectral: nn.Module, width: int = 128) -> None:
        super().__init__()
        self.backbone = nn.Sequential(
            *(nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(32, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.AdaptiveAvgPool2d(1)),
        )
        self.spectral = spectral
        self.projection_head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 64))

    def forward(self, x: Tensor) -> Tensor:
        x = self.backbone(x).flatten(start_dim=1)
        x = self.spectral(x)  # H -> H~ while training: a draw of its own for each view
        return self.projection_head(x)


def nt_xent(z0: Tensor, z1: Tensor, tau: float = 0.2) -> Tensor:
    """Each view should be nearest to the other view of its image, among all other views of the batch."""
    z = functional.normalize(torch.cat([z0, z1]), dim=1)
    similarities = (z @ z.T / tau).fill_diagonal_(-torch.inf)
    return functional.cross_entropy(similarities, torch.arange(len(z)).roll(len(z0)))


def train(spectral: nn.Module, images: Tensor, epochs: int) -> SimCLR:
    torch.manual_seed(0)
    model = SimCLR(spectral)
    loader = DataLoader(images, batch_size=256, shuffle=True, drop_last=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    first, second = STRENGTHS["digits"]
    for _ in range(epochs):
        for batch in loader:
            loss = nt_xent(model(random_view(batch, first)), model(random_view(batch, second)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model.eval()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    epochs = parser.parse_args().epochs
    digits = load("digits")
    images, labels, learned, new = to_float(digits.x), digits.y, digits.train_mask, digits.test_mask
    layers = {
        "without SFA": nn.Identity(),
        "with SFA": sfa.SpectralFeatureAugmentation.gentle(),  # recommended
        "with SFA of the paper": sfa.SpectralFeatureAugmentation.paper(),
    }
    for name, layer in layers.items():
        model = train(layer, images[learned], epochs)
        with torch.no_grad():
            h = model.backbone(images).flatten(start_dim=1)
        classifier = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(h[learned], labels[learned])
        accuracy = 100 * classifier.score(h[new], labels[new])
        print(f"{name}: accuracy {accuracy:.1f} on new images, effective rank {effective_rank(h):.1f}")
