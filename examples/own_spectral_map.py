"""A spectral map of one's own: checked, and put into the slot of a method.

    python examples/own_spectral_map.py [--epochs 30]

The map subtracts a random share of the mean row, which is close to the strongest direction of most feature maps. It
works on the command line too:

    sfa train cora --method grace --spectral examples/own_spectral_map.py:RemoveMean --set spectral.most=0.5
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor

import sfa
from sfa.data import load
from sfa.registry import resolve
from sfa.spectral import SpectralMap
from sfa.spectral.feature_map import on_unit_scale
from sfa.testing import check_spectral_map


class RemoveMean(SpectralMap):
    """Subtract a random share of its mean row from a feature map.

    Args:
        most: The largest share.
    """

    deterministic = False  # it draws random numbers

    def __init__(self, most: float = 1.0) -> None:
        super().__init__()
        self.most = most

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        def subtract(unit: Tensor, scale: Tensor) -> Tensor:
            share = self.most * torch.rand(*h.shape[:-2], 1, 1, generator=generator, device=h.device)
            return (unit - share * unit.mean(dim=-2, keepdim=True)) * scale

        return on_unit_scale(h, subtract)  # in float64, on maps whose largest entry is 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--epochs", type=int, default=30)
    epochs = parser.parse_args().epochs
    check_spectral_map(RemoveMean())  # raises an error that says what to change
    print("RemoveMean passes all checks.")
    cora = load("cora")
    protocol = resolve("protocol", "honest-10-10-80")
    slots = {"no map": "none", "RemoveMean": RemoveMean, "RemoveMean, then SFA": [RemoveMean(0.5), "gentle"]}
    for name, spectral in slots.items():
        z = sfa.NodeEmbedder("grace", spectral, epochs=epochs, random_state=0).fit_transform(cora)
        print(f"{name}: accuracy {protocol.evaluate(z, cora)}")
