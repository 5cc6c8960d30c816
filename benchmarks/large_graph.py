"""A graph of ogbn-arxiv's size, trained in batches on this machine; and how time and memory grow with the graph.

    python benchmarks/large_graph.py [--part arxiv scaling] [--out docs/images/scaling.png]

The graph is a seeded stochastic block model: 169,343 nodes, 1.2 million edges, 128 dense features, 40 planted classes.
"arxiv" trains GRACE + SFA and G-BT + SFA and scores raw features, the untrained encoder and the embeddings by a linear
probe (10/10/80, 2 splits, C of 1 or 10 chosen on validation). "scaling" times steps on graphs of 10 thousand to 1
million nodes with 7 edges a node. Each measurement is a process of its own; "peak in all" is of training and embedding
together, libraries and graph included.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure
from peak import measured

from sfa.figures.style import SPECTRAL, save_figure, style

TRAIN = """
import torch
from sfa.data.block_model import stochastic_block_model
from sfa.evaluate import Classification
from sfa.evaluate.probes import LogisticProbe
from sfa.evaluate.splits import RandomSplits
from sfa.run import Recipe
from sfa.train import train

probe = LogisticProbe(cs=(1.0, 10.0))
protocol = Classification("short", "", 2, splits=RandomSplits(0.1, 0.1), probe=probe)
graph = stochastic_block_model()
recipe = Recipe.parse(recipe)
method = recipe.build(graph.num_features)
scores = {}
if baselines:
    scores["raw features"] = protocol.evaluate(graph.x, graph).mean()
    scores["untrained encoder"] = protocol.evaluate(method.embed(graph), graph).mean()
reset()
started = time.perf_counter()
train(method, graph, **recipe.training.arguments, sampler=recipe.make_sampler())
seconds = time.perf_counter() - started
z = method.embed(graph)
embedded, highest = time.perf_counter() - started - seconds, peak()
scores[name] = protocol.evaluate(z, graph).mean()
report(scores=scores, train=seconds, embed=embedded, highest=highest)
"""

STEPS = """
import torch
from sfa.data.block_model import stochastic_block_model
from sfa.run import Recipe
from sfa.seeding import batch_generator, plan_generator, step_generator

graph = stochastic_block_model(nodes, 7 * nodes, 128, 40)
recipe = Recipe.parse(recipe)
method = recipe.build(graph.num_features)
optimizer = torch.optim.Adam(method.parameters())
sampler = recipe.make_sampler()(graph)
plan = sampler.plan(plan_generator(0, 0))
before, seconds = reset(), []
for step in range(min(steps, len(plan))):
    started = time.perf_counter()
    batch = sampler.batch(plan[step], batch_generator(0, 0, step))
    optimizer.zero_grad()
    method(batch, step_generator(0, 0, step)).backward()
    optimizer.step()
    seconds.append(time.perf_counter() - started)
training = peak()
held = reset()
started = time.perf_counter()
method.embed(graph)
report(
    embedding=peak() - held,
    step=sorted(seconds)[len(seconds) // 2],
    steps=len(plan),
    graph=before,
    training=training - before,
    embed=time.perf_counter() - started,
)
"""

RECIPES = {
    "grace + sfa": {
        "method": {"name": "grace", "projection": 128, "tau": 0.4},
        "encoder": {"name": "gcn", "hidden": 128},
        "spectral": "sfa",
        "sampler": {"name": "random-walks", "batch_size": 1024, "length": 3},
        "training": {"epochs": 1, "lr": 1e-3, "diagnose_every": 0},
        "feature_norm": "none",
    },
    "g-bt + sfa": {
        "method": {"name": "g-bt"},
        "encoder": {"name": "gcn", "hidden": 128},
        "spectral": "sfa",
        "sampler": {"name": "random-walks", "batch_size": 1024, "length": 3},
        "training": {"epochs": 1, "lr": 1e-3, "diagnose_every": 0},
        "feature_norm": "none",
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", nargs="+", choices=["arxiv", "scaling"], default=["arxiv", "scaling"])
    parser.add_argument("--nodes", type=int, nargs="+", default=[10_000, 30_000, 100_000, 300_000, 1_000_000])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if "arxiv" in arguments.part:
        arxiv()
    if "scaling" in arguments.part:
        points = scaling(arguments.nodes, arguments.steps)
        if arguments.out is not None:
            save_figure(draw(points), arguments.out)


def arxiv() -> None:
    """Accuracy, time and peak memory on the graph of ogbn-arxiv's size."""
    print("\n| 169,343 nodes, 1.2 M edges | accuracy | training | embedding | peak in all |\n" + "| --- " * 5 + "|")
    for name, recipe in RECIPES.items():
        found = measured(TRAIN, name=name, recipe=recipe, baselines=name == next(iter(RECIPES)))
        for baseline in ("raw features", "untrained encoder"):
            if baseline in found["scores"]:
                print(f"| {baseline} | {found['scores'][baseline]:.1f} | | | |")
        memory = f"{found['highest'] / 1e9:.1f} GB"
        times = f"{found['train'] / 60:.1f} min | {found['embed']:.1f} s"
        print(f"| {name} | {found['scores'][name]:.1f} | {times} | {memory} |", flush=True)


def scaling(sizes: list[int], steps: int) -> list[tuple[int, float, float]]:
    """Time of an epoch, from the median step, and memory that training adds to the graph."""
    recipe = RECIPES["grace + sfa"]
    header = ["nodes", "edges", "an epoch (steps × median step)", "training adds", "graph and libraries"]
    header += ["embedding", "embedding adds"]
    print("\n| " + " | ".join(header) + " |\n" + "| --- " * len(header) + "|")
    points = []
    for nodes in sizes:
        found = measured(STEPS, nodes=nodes, recipe=recipe, steps=steps)
        epoch = found["step"] * found["steps"]
        points.append((nodes, epoch, found["training"] / 1e6))
        cells = [
            f"{nodes:,}",
            f"{7 * nodes:,}",
            f"{epoch:.0f} s ({found['steps']} × {1000 * found['step']:.0f} ms)",
            f"{found['training'] / 1e6:.0f} MB",
            f"{found['graph'] / 1e9:.2f} GB",
            f"{found['embed']:.1f} s",
            f"{found['embedding'] / 1e6:.0f} MB",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)
    return points


@style()
def draw(points: list[tuple[int, float, float]]) -> Figure:
    """Time of an epoch over the edges, and memory over the nodes."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    time, memory = figure.subplots(1, 2)
    nodes, epochs, added = zip(*points, strict=True)
    time.loglog([7 * n for n in nodes], epochs, color=SPECTRAL, marker="o", label="measured")
    reach = [7 * nodes[0], 7 * nodes[-1]]
    middle = len(nodes) // 2
    line = [epochs[middle] * e / (7 * nodes[middle]) for e in reach]
    time.loglog(reach, line, "--", color="grey", label="linear")
    time.set(xlabel="edges", title="an epoch of GRACE + SFA, seconds")
    time.legend()
    memory.semilogx(nodes, added, color=SPECTRAL, marker="o")
    memory.set(xlabel="nodes", title="memory that training adds to the graph, MB", ylim=(0, 1.2 * max(added)))
    for panel in (time, memory):
        panel.grid(alpha=0.3)
    return figure


if __name__ == "__main__":
    main()
