"""One epoch of GRACE + SFA on Cora, 256 wide, as in the paper's table: ours, the yardstick, and the limit.

    python benchmarks/epoch.py [--rounds 10]

Everything is timed in turns in one run, and reported as ratios of least times. "Limit" is the time of the matrix
products that the loss needs when tiles are kept: half of X Xᵀ and all of P X for 2n rows, as three plain products.
Losses and gradients are compared first, with the yardstick in float64.
"""

from __future__ import annotations

import argparse
import copy
import os
from collections.abc import Callable

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # as the command line does; both serve all sides alike
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
import yardstick
from timing import side_by_side
from torch import Tensor
from torch_geometric.data import Data
from yardstick import Yardstick

from sfa.data import load
from sfa.graph.features import normalize_features
from sfa.losses import nt_xent
from sfa.methods import GRACE
from sfa.products import shapes_repeat
from sfa.registry import build
from sfa.run import load_recipe
from sfa.run.parsing import GENTLE

ROUNDS = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {rounds} rounds")
    with shapes_repeat():  # as in training on a whole graph
        epoch(rounds)
        loss(rounds)


def epoch(rounds: int) -> None:
    """A whole step: views, encoder, SFA, head, loss, backward, Adam."""
    sparse = normalize_features(load("cora"), "row")
    dense = copy.copy(sparse)
    dense.x = sparse.x.to_dense()
    grace = load_recipe("paper/cora").build(sparse.num_features)
    grace.precision = "full"
    auto, default, default_auto = (copy.deepcopy(grace) for _ in range(3))
    auto.precision = default_auto.precision = "auto"
    default.spectral = default_auto.spectral = build("spectral", GENTLE)
    plain = Yardstick(grace)
    agreement(grace, sparse, dense)

    def step(model: torch.nn.Module, graph: object, mixed: bool = False) -> Callable[[], None]:
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-6)

        def run() -> None:
            optimizer.zero_grad()
            with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
                loss = model(graph, seeded())
            loss.backward()
            optimizer.step()

        return run

    n = sparse.num_nodes
    things = {"yardstick": step(plain, dense), "lean yardstick": step(Yardstick(grace, masks=False), dense)}
    things |= {"ours, float32": step(grace, sparse), "ours, auto": step(auto, sparse)}
    things |= {"ours, float32, default layer": step(default, sparse)}
    things |= {"ours, auto, default layer": step(default_auto, sparse)}
    things |= {"ours, bf16-mixed": step(auto, sparse, mixed=True)}
    things |= {"limit": products(n, torch.float32), "limit, bfloat16": products(n, torch.bfloat16)}
    times = side_by_side(things, rounds)
    print("\n## GRACE + SFA on Cora, 256 wide, one epoch\n")
    print("| | milliseconds here | yardstick / it | it / limit |\n| --- | --- | --- | --- |")
    for name, seconds in times.items():
        limit = times["limit, bfloat16" if "auto" in name or "16" in name else "limit"]
        print(f"| {name} | {1000 * seconds:.0f} | {times['yardstick'] / seconds:.2f} | {seconds / limit:.2f} |")


def loss(rounds: int, n: int = 2708, width: int = 256) -> None:
    """The loss alone, forward and backward."""
    generator = seeded()
    z = [torch.randn(n, width, generator=generator, requires_grad=True) for _ in range(2)]

    def both_ways(function: Callable[..., Tensor], **options: object) -> Callable[[], None]:
        def run() -> None:
            for one in z:
                one.grad = None
            function(*z, tau=0.4, **options).backward()

        return run

    things = {
        "yardstick": both_ways(yardstick.info_nce),
        "lean yardstick": both_ways(yardstick.lean_info_nce),
        "ours": both_ways(nt_xent),
        "ours, nothing kept": both_ways(nt_xent, keep_bytes=0),
        "ours, bfloat16": both_ways(nt_xent, precision="bfloat16"),
        "ours, cross-view": both_ways(nt_xent, intraview=False),
        "limit": products(n, torch.float32),
        "limit, bfloat16": products(n, torch.bfloat16),
    }
    times = side_by_side(things, rounds)
    print(f"\n## NT-Xent alone, forward and backward, n = {n}, d = {width}\n")
    print("| | yardstick / it | it / limit |\n| --- | --- | --- |")
    for name, seconds in times.items():
        limit = times["limit, bfloat16" if "bfloat16" in name else "limit"]
        print(f"| {name} | {times['yardstick'] / seconds:.2f} | {seconds / limit:.2f} |")


def products(n: int, dtype: torch.dtype, width: int = 256) -> Callable[[], None]:
    """X Xᵀ for half of the pairs, and P X in two halves."""
    x = torch.randn(2 * n, width, generator=seeded()).to(dtype)
    p = torch.empty(n, 2 * n, dtype=dtype)
    out = torch.empty(n, width, dtype=dtype)

    def run() -> None:
        torch.mm(x[:n], x.T, out=p)
        torch.mm(p, x, out=out)
        torch.mm(p, x, out=out)

    return run


def agreement(grace: GRACE, sparse: Data, dense: Data) -> None:
    """Relative differences of loss and gradients to the yardstick in float64, for the same draws."""
    exact_graph = copy.copy(dense)
    exact_graph.x = dense.x.double()
    exact, plain = Yardstick(grace).double(), Yardstick(grace)
    expected, gradients = differentiated(exact(exact_graph, seeded()), exact)
    print("\n| to the yardstick in float64, relative difference of | loss | gradients, the worst of all parameters |")
    print("| --- | --- | --- |")
    for name, model, graph in (("the yardstick in float32", plain, dense), ("ours in float32", grace, sparse)):
        loss, found = differentiated(model(graph, seeded()), model)
        worst = max(float((a - b).norm() / b.norm()) for a, b in zip(found, gradients, strict=True))
        print(f"| {name} | {abs(loss / expected - 1):.1e} | {worst:.1e} |")


def differentiated(loss: Tensor, model: torch.nn.Module) -> tuple[float, list[Tensor]]:
    """The loss and the gradients of all weights, in one order for both kinds of model."""
    model.zero_grad()
    loss.backward()
    is_ours = isinstance(model, GRACE)
    convolutions = model.encoder.convolutions if is_ours else model.convolutions
    weights = [one.weight.grad if is_ours else one.lin.weight.grad.T for one in convolutions]
    rest = [one.bias.grad for one in convolutions] + [one.grad for one in model.head.parameters()]
    return loss.item(), [gradient.double() for gradient in weights + rest]


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


if __name__ == "__main__":
    main()
