"""What the layer costs: in a step of GRACE and of G-BT on Cora, and against re-balancing the spectrum by SVD.

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
from sfa.graph.features import normalize_features
from sfa.products import shapes_repeat
from sfa.run import load_recipe
from sfa.spectral import SpectralMap, power_iteration, soft_clip

WIDTH = 256
RANKS = (16, 64)


LAYERS: dict[str, Callable[[Tensor], Tensor]] = {
    "Algorithm 1": power_iteration,
    "gentle": partial(power_iteration, strength=0.125, passes=64),
    "soft-clip": soft_clip,
}


def training_step(recipe: str, rounds: int) -> None:
    """What layers take on both views, forward and backward, as fractions of a training step without any."""
    cora = normalize_features(load("cora"), "row")
    method = load_recipe(recipe).build(cora.num_features)
    method.spectral = SpectralMap()
    optimizer = torch.optim.Adam(method.parameters(), lr=1e-4)
    generator = torch.Generator()

    def step() -> None:
        optimizer.zero_grad()
        method(cora, generator.manual_seed(0)).backward()
        optimizer.step()

    h = torch.randn(cora.num_nodes, WIDTH, requires_grad=True)
    gradient = torch.randn(cora.num_nodes, WIDTH)
    things = {name: both_ways(layer, h, gradient) for name, layer in LAYERS.items()}
    times = side_by_side({"step": step, **things}, rounds)
    print(f"\n## {recipe}, {WIDTH} wide: time of a layer on both views / time of a training step without it\n")
    print("| " + " | ".join(things) + " |\n|" + " --- |" * len(things))
    print("| " + " | ".join(f"{2 * times[name] / times['step']:.3f}" for name in things) + " |", flush=True)


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
    with shapes_repeat():  # as in training on a whole graph
        for recipe in ("demo/with-augmentation", "tuned-g-bt/cora"):
            training_step(recipe, 3 * arguments.rounds)
    against_svd(arguments.sizes, arguments.rounds)
