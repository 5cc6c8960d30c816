"""How far apart several processes and one drive the weights of a method in five steps on Cora, by optimizer.

    python benchmarks/processes.py

It starts itself under torchrun with 1, 2 and 3 processes.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from sfa.data import load
from sfa.distributed import rank
from sfa.run import Recipe
from sfa.sampling import WholeGraph
from sfa.train import train

PLAIN = {"edge_drop": [0.0, 0.0], "feature_drop": [0.0, 0.0]}  # random views differ from process to process
COUNTS = 1, 2, 3


def save_weights(path: str) -> None:
    """Train, and save the weights and the loss of each method and optimizer."""
    cora, kept = load("cora"), {}
    for method in ("g-bt", "grace"):
        for optimizer in ("sgd", "adam", "adamw"):
            training = {"epochs": 5, "optimizer": optimizer, "lr": 0.01, "warmup": 0, "patience": None}
            given = {"method": method, "encoder": {"hidden": 64}, "augmentation": PLAIN, "spectral": "none"}
            recipe = Recipe.parse({**given, "training": training})
            trained = recipe.build_for(cora)
            progress = train(
                trained, recipe.prepare(cora), **recipe.training.arguments, sampler=WholeGraph, device="cpu"
            )
            weights = {name: value.detach() for name, value in trained.named_parameters()}
            kept[method, optimizer] = {**weights, "loss": torch.tensor(progress.loss)}
    if rank() == 0:
        torch.save(kept, path)


def main() -> None:
    """Print the largest differences from one process, of the biases, of the other weights and of the loss."""
    with TemporaryDirectory() as folder:
        found = {}
        for count in COUNTS:
            path = Path(folder, str(count))
            torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(count)]
            subprocess.run([*torchrun, __file__, str(path)], check=True)
            found[count] = torch.load(path, weights_only=True)
    print("| method | optimizer | biases | other weights | loss |\n| --- | --- | --- | --- | --- |")
    for key, alone in found[1].items():
        largest = {"bias": 0.0, "weight": 0.0, "loss": 0.0}
        for count in COUNTS[1:]:
            for name, value in found[count][key].items():
                kind = name.rpartition(".")[2]
                largest[kind] = max(largest[kind], float((value - alone[name]).abs().max()))
        print("|", " | ".join([*key, *(f"{value:.1e}" for value in largest.values())]), "|")


if __name__ == "__main__":
    save_weights(sys.argv[1]) if len(sys.argv) > 1 else main()
