"""How near soft clipping comes to the flow of many gentle passes, by its order: the table of docs/theory.md.

    python benchmarks/soft_clip_order.py [--iterations 1] [--volume 8.55] [--orders 2 3.5 3.6 3.7 4]

Prints the largest relative error over a spectrum. The flow is integrated by the Runge-Kutta method of order four.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from numpy.typing import NDArray

from sfa import theory
from sfa.data import load
from sfa.graph.features import normalize_features
from sfa.run import load_recipe
from sfa.spectral import soft_clip
from sfa.spectral.soft_clip import VOLUME

Array = NDArray[np.float64]


def flow(sigma: Array, iterations: int, time: float, steps: int = 64) -> Array:
    def speed(logs: Array) -> Array:
        return -theory.expectation(np.exp(logs), iterations)

    logs, step = np.log(sigma), time / steps
    for _ in range(steps):
        first = speed(logs)
        second = speed(logs + step / 2 * first)
        third = speed(logs + step / 2 * second)
        fourth = speed(logs + step * third)
        logs = logs + step / 6 * (first + 2 * second + 2 * third + fourth)
    return np.exp(logs)


def spectra_of_grace(steps: tuple[int, ...]) -> dict[str, Array]:
    """Singular values of the encoder's map while GRACE trains on Cora."""
    cora = normalize_features(load("cora"), "row")
    torch.manual_seed(0)
    method = load_recipe("demo/with-augmentation").build(cora.num_features)
    optimizer, generator = torch.optim.Adam(method.parameters(), lr=5e-4), torch.Generator().manual_seed(0)
    spectra = {}
    for step in range(max(steps) + 1):
        if step in steps:
            with torch.no_grad():
                sigma = torch.linalg.svdvals(method.encoder(cora).double()).numpy()  # type: ignore[operator]
            spectra[f"GRACE on Cora, step {step}"] = sigma[sigma > 1e-9 * sigma[0]]
        optimizer.zero_grad()
        method(cora, generator).backward()
        optimizer.step()
    return spectra


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--iterations", type=int, default=1)
    parser.add_argument("--volume", type=float, default=VOLUME)
    parser.add_argument("--orders", type=float, nargs="+", default=[2, 3.5, 3.6, 3.7, 4])
    asked = parser.parse_args()
    i = np.arange(1.0, 129.0)
    random = np.linalg.svd(np.random.default_rng(0).standard_normal((400, 128)), compute_uv=False)
    spectra = {"1/i": 1 / i, "1/√i": i**-0.5, "exp(-i/10)": np.exp(-i / 10), "random matrix": random}
    spectra |= {"10 and 127 ones": np.append(10.0, np.ones(127))} | spectra_of_grace((0, 60))
    print("| spectrum | " + " | ".join(map(str, asked.orders)) + " |\n| --- |" + " --- |" * len(asked.orders))
    for name, sigma in spectra.items():
        expected, h = flow(sigma, asked.iterations, asked.volume), torch.diag(torch.from_numpy(sigma))
        found = [soft_clip(h, order, volume=asked.volume).diagonal().numpy() for order in asked.orders]
        errors = [np.abs(one / expected - 1).max() for one in found]
        print(f"| {name} | " + " | ".join(f"{100 * error:.1f} %" for error in errors) + " |", flush=True)


if __name__ == "__main__":
    main()
