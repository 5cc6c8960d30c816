"""What each spectral map costs beside SFA.

    python benchmarks/spectral_maps.py [--rounds 5] [--sizes 2708 20000]

Times of a map on an (n, 256) map in float32, forward and backward, divided by that of SFA with k = 1. All are the least
times of things measured in turns in one run.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # as the command line does; it serves all sides alike

import torch
from timing import side_by_side

from sfa.registry import registered
from sfa.spectral import Grassmann, SpectralFeatureAugmentation, SpectralMap

WIDTH = 256


def maps() -> dict[str, SpectralMap]:
    """All by name with their defaults, and the two variants that change the work."""
    by_name = {name: map_() for name, map_ in registered("spectral").items() if name != "none"}
    return by_name | {
        "sfa, 8 directions": SpectralFeatureAugmentation(directions=8),
        "grassmann, randomised": Grassmann(method="randomised"),
    }


def both_ways(layer: SpectralMap, n: int) -> Callable[[], None]:
    """One forward and one backward pass."""
    generator = torch.Generator().manual_seed(0)
    h = (torch.randn(n, WIDTH, generator=generator) * torch.linspace(3, 0.1, WIDTH)).requires_grad_()

    def run() -> None:
        h.grad = None
        layer(h, generator).square().sum().backward()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2708, 20000])
    arguments = parser.parse_args()
    times = [
        side_by_side({name: both_ways(m, n) for name, m in maps().items()}, arguments.rounds) for n in arguments.sizes
    ]
    print(f"Time / time of sfa, forward and backward, (n, {WIDTH}), {torch.get_num_threads()} threads\n")
    print("| map | " + " | ".join(f"n = {n}" for n in arguments.sizes) + " |\n| --- |" + " --- |" * len(times))
    for name in times[0]:
        print(f"| {name} | " + " | ".join(f"{seconds[name] / seconds['sfa']:.1f}" for seconds in times) + " |")


if __name__ == "__main__":
    main()
