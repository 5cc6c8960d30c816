"""Time and peak memory of NT-Xent, forward and backward, for n = 1k … 64k rows of 256: ours and the yardstick's.

    python benchmarks/memory.py [--sizes 1000 2000 …] [--out docs/images/nt-xent-memory.png]

Each point is a process of its own, which has its rows and a first small loss behind it when it starts to count; memory
is what it needs beyond that at its highest. The yardstick stops where it would need more than --limit GB. Last, the
peak of a whole GRACE + SFA epoch, all negatives, on a graph of PubMed's size, the interpreter and libraries included.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure
from peak import measured

from sfa.figures.style import PLAIN, SPECTRAL, save_figure, style

LOSS = """
import torch, yardstick
from sfa.losses import nt_xent
loss = yardstick.info_nce if which == "yardstick" else nt_xent
options = {"precision": "bfloat16"} if which == "bfloat16" else {}
loss(*(torch.randn(64, 256, requires_grad=True) for _ in range(2)), tau=0.4, **options).backward()
z = [torch.randn(n, 256, generator=torch.Generator().manual_seed(i), requires_grad=True) for i in range(2)]
before, started = reset(), time.perf_counter()
value = loss(*z, tau=0.4, **options)
value.backward()
report(seconds=time.perf_counter() - started, bytes=peak() - before, loss=value.item())
"""

EPOCH = """
from sfa.data.block_model import stochastic_block_model
from sfa.run import Recipe
from sfa.train import train
graph = stochastic_block_model(19717, 44324, 500, 3)
method, encoder = {"name": "grace", "projection": 256}, {"name": "gcn", "hidden": 256}
recipe = Recipe.parse({"method": method, "encoder": encoder, "spectral": "sfa", "training": {"epochs": 2}})
train(recipe.build(graph.num_features), graph, **recipe.training.arguments)
report()
"""

NAMES = {"yardstick": "yardstick: n × 2n matrices", "full": "ours, float32", "bfloat16": "ours, bfloat16 similarities"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000 * 2**i for i in range(7)])
    parser.add_argument("--limit", type=float, default=16.0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    points: dict[str, list[tuple[int, float, float]]] = {which: [] for which in NAMES}
    print(
        "| n | " + " | ".join(f"{name}: seconds, MB" for name in NAMES.values()) + " |\n| --- |" + " --- |" * len(NAMES)
    )
    for n in arguments.sizes:
        cells = []
        for which, found in points.items():
            # By the last point's growth: four times for twice the rows.
            foreseen = found[-1][2] * (n / found[-1][0]) ** 2 if found and which == "yardstick" else 0
            if foreseen > arguments.limit * 1e9:
                cells.append("does not fit")
                continue
            point = measured(LOSS, which=which, n=n)
            found.append((n, point["seconds"], point["bytes"]))
            cells.append(f"{point['seconds']:.2f}, {point['bytes'] / 1e6:.0f}")
        print(f"| {n} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nGRACE + SFA, 19,717 nodes, all negatives, peak in all: {measured(EPOCH)['peak'] / 1e9:.2f} GB")
    if arguments.out is not None:
        save_figure(draw(points), arguments.out)


@style()
def draw(points: dict[str, list[tuple[int, float, float]]]) -> Figure:
    """Time and memory over n, in two panels with logarithmic axes."""
    figure = Figure(figsize=(9, 3.8), layout="constrained")
    panels = figure.subplots(1, 2)
    for which, colour, line in (("yardstick", PLAIN, "-"), ("full", SPECTRAL, "-"), ("bfloat16", SPECTRAL, "--")):
        sizes, seconds, size_bytes = zip(*points[which], strict=True)
        for panel, values in zip(panels, (seconds, [one / 1e6 for one in size_bytes]), strict=True):
            panel.plot(sizes, values, line, color=colour, marker="o", markersize=4, label=NAMES[which])
    for panel, title in zip(
        panels, ("seconds, forward and backward", "peak memory beyond the inputs, MB"), strict=True
    ):
        panel.set(xscale="log", yscale="log", xlabel="rows n of each view", title=title)
        panel.set_xticks([1000 * 2**i for i in range(7)], [f"{2**i}k" for i in range(7)])
        panel.minorticks_off()
        panel.grid(alpha=0.3)
    panels[0].legend()
    return figure


if __name__ == "__main__":
    main()
