"""Seconds of an epoch of GRACE with all negatives on the larger graphs, and hours of the published budgets.

    SFA_DATA=~/data python benchmarks/full_budget.py [--data pubmed photo computers] [--epochs 3] [--spectral gentle]

The median of a few epochs, with `precision: auto` and with `full`, times the epochs of the authors' recipe.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # both as the command line does
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch

from sfa.data import load
from sfa.run import load_recipe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", default=["photo", "computers", "pubmed"])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--spectral", default="gentle")
    asked = parser.parse_args()
    print(f"{torch.get_num_threads()} threads, spectral map {asked.spectral}, load {os.getloadavg()[0]:.1f}\n")
    print("| data | nodes | precision | seconds per epoch | published epochs | hours |\n" + "| --- " * 6 + "|")
    for name in asked.data:
        graph = load(name)
        for precision in ("auto", "full"):
            recipe = load_recipe("grace", name).updated(
                {"method.precision": precision, "spectral": asked.spectral, "sampler.name": "whole"}
            )
            seconds = median_epoch(recipe.build_for(graph), recipe.prepare(graph), asked.epochs)
            epochs = recipe.training.epochs
            row = name, graph.num_nodes, precision, f"{seconds:.2f}", epochs, f"{seconds * epochs / 3600:.1f}"
            print("| " + " | ".join(map(str, row)) + " |", flush=True)


def median_epoch(method: torch.nn.Module, graph: object, epochs: int) -> float:
    optimizer, times = torch.optim.Adam(method.parameters(), lr=1e-4), []
    for _ in range(epochs + 1):
        started = time.perf_counter()
        optimizer.zero_grad()
        method(graph, torch.Generator().manual_seed(0)).backward()
        optimizer.step()
        times.append(time.perf_counter() - started)
    return sorted(times[1:])[epochs // 2]


if __name__ == "__main__":
    main()
