"""What the layer costs: in a GRACE step on Cora, and against re-balancing the spectrum by SVD.

    python benchmarks/sfa_overhead.py [--rounds 5] [--sizes 2708 20000 170000]

Every number is a ratio of medians measured in turns in one run. "SVD" clips the singular values of H to their median
and puts H together again; "randomised SVD" does so with the leading ones alone (torch.svd_lowrank with 2 iterations)
and keeps the rest of H as it is. All are timed forward and backward.
"""

from __future__ import annotations

import argparse
import os

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # as the command line does; it serves all sides alike

import torch
from timing import side_by_side
from torch import Tensor

from sfa.data import load
from sfa.graph.features import normalise_features
from sfa.recipes import load_recipe
from sfa.spectral import power_iteration

WIDTH = 256
RANKS = (16, 64)


def grace_step(rounds: int) -> None:
    """A training step with the paper's recipe, with and without the layer."""
    cora = normalise_features(load("cora"), "row")
    recipe = load_recipe("paper/cora")

    def step(spectral: str) -> object:
        method = recipe.updated({"spectral.name": spectral}).build(cora.num_features)
        optimizer = torch.optim.Adam(method.parameters(), lr=1e-4)
        generator = torch.Generator()

        def run() -> None:
            optimizer.zero_grad()
            method(cora, generator.manual_seed(0)).backward()
            optimizer.step()

        return run

    h = torch.randn(cora.num_nodes, WIDTH, requires_grad=True)

    def layer_alone() -> None:
        for _ in range(2):
            power_iteration(h).sum().backward()

    times = side_by_side({"plain": step("none"), "sfa": step("sfa"), "layer": layer_alone}, rounds)  # type: ignore[dict-item]
    print("\n## GRACE on Cora, 256 wide: time of a training step\n")
    print("| | ratio |\n| --- | --- |")
    print(f"| step with SFA / step without | {times['sfa'] / times['plain']:.3f} |")
    print(
        f"| the layer alone, both views, forward and backward / step without | {times['layer'] / times['plain']:.3f} |"
    )


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
    names = ["SVD", *(f"randomised SVD, rank {rank}" for rank in RANKS)]
    print("\n## Re-balancing an (n, 256) map: time of the rival / time of SFA, k = 1, forward and backward\n")
    print("| n | " + " | ".join(names) + " |\n| --- |" + " --- |" * len(names))
    for n in sizes:
        generator = torch.Generator().manual_seed(0)
        h = torch.randn(n, WIDTH, generator=generator) * torch.linspace(3, 0.1, WIDTH)
        h.requires_grad_()
        gradient = torch.randn(n, WIDTH, generator=generator)

        def both_ways(rebalance, h: Tensor = h, gradient: Tensor = gradient):  # type: ignore[no-untyped-def]
            def run() -> None:
                h.grad = None
                rebalance(h).backward(gradient)

            return run

        things = {"SFA": both_ways(power_iteration), "SVD": both_ways(by_svd)}
        for rank in RANKS:
            things[f"randomised SVD, rank {rank}"] = both_ways(lambda h, rank=rank: by_randomised_svd(h, rank))
        times = side_by_side(things, rounds)
        ratios = " | ".join(f"{times[name] / times['SFA']:.0f}×" for name in names)
        print(f"| {n} | {ratios} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[2708, 20_000, 170_000])
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {arguments.rounds} rounds")
    grace_step(5 * arguments.rounds)
    against_svd(arguments.sizes, arguments.rounds)
