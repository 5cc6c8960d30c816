"""What the layer costs: in a GRACE step on Cora, and against re-balancing the spectrum by SVD.

    python benchmarks/sfa_overhead.py [--rounds 5] [--sizes 2708 20000 170000]

Every number is a ratio of the least times of things measured in turns in one run. "SVD" clips the singular values of H
at their median and puts H together again; "randomised SVD" finds the leading ones (torch.svd_lowrank, 2 iterations),
clips them at their median and leaves the rest of H as it is. All are timed forward and backward. "Copy" copies H twice,
the least that any such map writes in the two directions: it shows how far the layer is from the speed of memory.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # as the command line does; it serves all sides alike

import torch
from timing import side_by_side
from torch import Tensor

from sfa.data import load
from sfa.graph.features import normalise_features
from sfa.run import load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration

WIDTH = 256
RANKS = (16, 64)


def grace_step(rounds: int) -> None:
    """A training step with the paper's recipe, with and without the layer."""
    cora = normalise_features(load("cora"), "row")
    method = load_recipe("paper/cora").build(cora.num_features)
    optimizer = torch.optim.Adam(method.parameters(), lr=1e-4)
    generator = torch.Generator()

    def step(spectral: SpectralMap) -> None:
        method.spectral = spectral  # one model for both, so that both have the same place in memory
        optimizer.zero_grad()
        method(cora, generator.manual_seed(0)).backward()
        optimizer.step()

    h = torch.randn(cora.num_nodes, WIDTH, requires_grad=True)
    layer = both_ways(power_iteration, h, torch.randn(cora.num_nodes, WIDTH))

    def both_views() -> None:
        layer()
        layer()

    things = {
        "plain": partial(step, SpectralMap()),
        "layer": both_views,
        "sfa": partial(step, SpectralFeatureAugmentation()),
    }
    times = side_by_side(things, rounds)
    print("\n## GRACE on Cora, 256 wide: what the layer adds to a training step\n")
    print("| | ratio |\n| --- | --- |")
    print(f"| the layer alone (two views, both ways) / step without it | {times['layer'] / times['plain']:.3f} |")
    print(f"| step with it / step without it | {times['sfa'] / times['plain']:.3f} |")


def both_ways(rebalance: Callable[[Tensor], Tensor], h: Tensor, gradient: Tensor) -> Callable[[], None]:
    def run() -> None:
        h.grad = None
        rebalance(h).backward(gradient)

    return run


def clipped(sigma: Tensor) -> Tensor:
    """Singular values re-balanced: none above the median."""
    return sigma.minimum(sigma.median())


def by_svd(h: Tensor) -> Tensor:
    u, sigma, vt = torch.linalg.svd(h, full_matrices=False)
    return u * clipped(sigma) @ vt


def by_randomised_svd(h: Tensor, rank: int) -> Tensor:
    u, sigma, v = torch.svd_lowrank(h, q=rank, niter=2)
    return h - u * (sigma - clipped(sigma)) @ v.mT


def against_svd(sizes: list[int], rounds: int) -> None:
    """The layer against maps that need a decomposition, forward and backward."""
    rivals = {"SVD": by_svd} | {f"randomised SVD, rank {rank}": partial(by_randomised_svd, rank=rank) for rank in RANKS}
    names = [*rivals, "copy"]
    print("\n## Re-balancing an (n, 256) map: time of others / time of SFA with k = 1, forward and backward\n")
    print("| n | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names))
    for n in sizes:
        generator = torch.Generator().manual_seed(0)
        h = (torch.randn(n, WIDTH, generator=generator) * torch.linspace(3, 0.1, WIDTH)).requires_grad_()
        gradient = torch.randn(n, WIDTH, generator=generator)
        things = {"SFA": both_ways(power_iteration, h, gradient), "copy": partial(copy_twice, h)}
        things |= {name: both_ways(rival, h, gradient) for name, rival in rivals.items()}
        times = side_by_side(things, rounds)
        print(f"| {n} | " + " | ".join(f"{times[name] / times['SFA']:.2g}×" for name in names) + " |", flush=True)


@torch.no_grad()
def copy_twice(h: Tensor) -> tuple[Tensor, Tensor]:
    return h.clone(), h.clone()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2708, 20_000, 170_000])
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {arguments.rounds} rounds")
    grace_step(5 * arguments.rounds)
    against_svd(arguments.sizes, arguments.rounds)
