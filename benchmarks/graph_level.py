"""GraphCL on many small graphs: what its views cost, and an epoch of it against one that goes graph by graph.

    python benchmarks/graph_level.py [--data mutag nci1] [--data-root ~/data] [--rounds 5] [--part views epoch]

Everything is timed in turns in one run, and reported as ratios of least times. "views" is the share of the augmented
view in a training step on 128 graphs. "epoch" compares with what people write first, in graph_by_graph.py: a list of
graphs in PyTorch Geometric's DataLoader, each augmented alone, as GraphCL's own repository does it or in leaner ways.
Loss and gradients on the same views are compared first.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import torch
from graph_by_graph import AS_IN_THE_REPOSITORY, WITH_LOOPS, WITH_UTILITIES, Manner, Pairs, Plain, single_graphs
from timing import side_by_side
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader

from sfa.augment.graph import RANDOM, Kinds, RandomChoice
from sfa.data import load
from sfa.methods import GraphCL
from sfa.nn import GIN
from sfa.sampling import Graphs

BATCH = 128
RIVALS = {
    "as in GraphCL's repository": AS_IN_THE_REPOSITORY,
    "graph by graph, loops": WITH_LOOPS,
    "graph by graph, PyG's utilities": WITH_UTILITIES,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["mutag"], help="graph sets by name")
    parser.add_argument("--data-root", type=Path, help="folder of the sets, by default that of SFA_DATA")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--part", nargs="+", choices=["views", "epoch"], default=["views", "epoch"])
    arguments = parser.parse_args()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads, {arguments.rounds} rounds")
    sets = {name: load(name, root=arguments.data_root) for name in arguments.data}
    if "views" in arguments.part:
        views(sets, 4 * arguments.rounds)
    if "epoch" in arguments.part:
        agreement(sets)
        epoch(sets, arguments.rounds)


def views(sets: dict[str, Data], rounds: int) -> None:
    """A step from a batch cut out of the set: view, encoder, projector, loss, backward, Adam."""
    print(f"\n## GraphCL: share of the views in a training step of {BATCH} graphs\n")
    print("| graphs | augmentation | views, milliseconds here | views / step | batch / step |")
    print("| --- | --- | --- | --- | --- |")
    for name, graphs in sets.items():
        for kind in ("random2", "random4", "node-drop", "edge-perturb", "attribute-mask", "subgraph"):
            times = side_by_side(parts_of_a_step(graphs, kind), rounds)
            seconds = times["batch and views"] - times["batch"]
            shares = f"{seconds / times['step']:.3f} | {times['batch'] / times['step']:.3f}"
            print(f"| {name} | {kind} | {1000 * seconds:.2f} | {shares} |", flush=True)


def parts_of_a_step(graphs: Data, kind: Kinds) -> dict[str, Callable[[], object]]:
    """Each from the start, with a new batch each time, about whose edges nothing is known yet."""
    sampler, generator = Graphs(graphs, batch_size=BATCH), seeded()
    seeds = torch.randperm(sampler.num_seeds, generator=generator)[:BATCH]
    method = graphcl(graphs, kind)
    step = training_step(method)

    def batch() -> Data:
        return sampler.batch(seeds, generator)

    return {
        "batch": batch,
        "batch and views": lambda: method.augmentation(batch(), generator),
        "step": lambda: step(batch(), generator),
    }


def graphcl(graphs: Data, kind: Kinds) -> GraphCL:
    """The method with its defaults, whose view alpha is the graphs as they are."""
    return GraphCL(GIN(graphs.num_features), RandomChoice(kind, both_views=False))


def epoch(sets: dict[str, Data], rounds: int) -> None:
    """Every graph once, in batches of 128: ours against one graph after the other."""
    print(f"\n## An epoch of GraphCL, batches of {BATCH}\n")
    print("| graphs | augmentation | | milliseconds here | it / ours |\n| --- | --- | --- | --- | --- |")
    for name, graphs in sets.items():
        for kind in ("random2", "random4"):
            method = graphcl(graphs, kind)
            things = {"ours": our_epoch(method, graphs)}
            things |= {rival: their_epoch(Plain(method), graphs, kind, manner) for rival, manner in RIVALS.items()}
            times = side_by_side(things, rounds)
            for thing, seconds in times.items():
                ratio = seconds / times["ours"]
                print(f"| {name} | {kind} | {thing} | {1000 * seconds:.0f} | {ratio:.1f} |", flush=True)


def our_epoch(method: GraphCL, graphs: Data) -> Callable[[], None]:
    sampler, generator, step = Graphs(graphs, batch_size=BATCH), torch.Generator(), training_step(method)

    def run() -> None:
        generator.manual_seed(0)
        for seeds in sampler.plan(generator):
            step(sampler.batch(seeds, generator), generator)

    return run


def their_epoch(plain: Plain, graphs: Data, kind: Kinds, manner: Manner) -> Callable[[], None]:
    pairs = Pairs(single_graphs(graphs), [manner.augmentations[name] for name in RANDOM[: int(kind[-1])]])
    loader, step = DataLoader(pairs, batch_size=BATCH, shuffle=True), training_step(plain)

    def run() -> None:
        for batch, view in loader:
            step(batch, manner.finish(view))

    return run


def training_step(model: nn.Module) -> Callable[..., None]:
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-6)

    def run(*arguments: object) -> None:
        optimizer.zero_grad()
        model(*arguments).backward()
        optimizer.step()

    return run


def agreement(sets: dict[str, Data]) -> None:
    """Relative differences of loss and gradients to the plain model's, on the same view, both in float64."""
    print("\n| graphs | relative difference of the loss | of gradients, the worst of all parameters |")
    print("| --- | --- | --- |")
    for name, graphs in sets.items():
        sampler = Graphs(graphs, batch_size=BATCH)
        batch = sampler.batch(sampler.plan(seeded())[0], seeded())
        batch.x = batch.x.double()
        method = graphcl(graphs, "random4").double()
        plain = Plain(method)
        ours, theirs = method(batch, seeded()), plain(*method.augmentation(batch, seeded()))
        ours.backward()
        theirs.backward()
        pairs = zip(in_one_order(method), in_one_order(plain), strict=True)
        largest = max(float(one.norm()) for one in in_one_order(plain))
        worst = max(float((a - b).norm()) / largest for a, b in pairs)
        print(f"| {name} | {abs(float((ours / theirs).detach()) - 1):.1e} | {worst:.1e} |")


def in_one_order(model: GraphCL | Plain) -> list[Tensor]:
    """Gradients of all weights."""
    if isinstance(model, GraphCL):
        linears = [linear for layer in model.encoder.layers for linear in (layer.inner, layer.outer)]
        norms = [layer.norm for layer in model.encoder.layers]
    else:
        linears = [linear for one in model.convolutions for linear in (one.nn[0], one.nn[2])]
        norms = list(model.norms)
    return [one.grad for module in (*linears, *norms, model.head) for one in module.parameters()]


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(0)


if __name__ == "__main__":
    main()
