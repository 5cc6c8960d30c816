"""A method of one's own in one file: two views, any encoder, the spectral slot, and a loss that is new.

    python examples/own_loss.py [--epochs 30]

The class works in Python, on the command line and in studies, as the methods of the package do:

    sfa train cora --method examples/own_loss.py:MyMethod --set method.spread=2
    sfa study methods --datasets cora --method grace examples/own_loss.py:MyMethod
"""

from __future__ import annotations

import argparse

from torch import Tensor, nn
from torch.nn import functional

import sfa
from sfa.data import load
from sfa.methods import TwoViewMethod
from sfa.registry import resolve


class MyMethod(TwoViewMethod):
    """Pull both views of a node together, and keep the standard deviation of every column above one.

    Args:
        encoder: Any module that embeds nodes.
        augmentation: Makes two views of the graph.
        spread: Weight of the second term, which keeps the embeddings from being all the same.
    """

    defaults = {"encoder": {"hidden": 256, "batch_norm": True}, "training": {"lr": 1e-3, "epochs": 100}}  # noqa: RUF012

    def __init__(self, encoder: nn.Module, augmentation=None, *, spread: float = 1.0, spectral=None) -> None:
        super().__init__(encoder, augmentation, spectral=spectral)
        self.spread = spread

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        agreement = functional.mse_loss(z_alpha, z_beta)
        spread = sum(functional.relu(1 - z.std(dim=0)).mean() for z in (z_alpha, z_beta))
        return agreement + self.spread * spread


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    epochs = parser.parse_args().epochs
    cora = load("cora")
    protocol = resolve("protocol", "honest-10-10-80")
    for name, spectral in {"without SFA": "none", "with SFA": "gentle"}.items():
        z = sfa.NodeEmbedder(MyMethod, spectral, epochs=epochs, random_state=0).fit_transform(cora)
        print(f"{name}: accuracy {protocol.evaluate(z, cora)}")
