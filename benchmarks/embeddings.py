"""Measure the default embeddings of nodes beside baselines, with many and with few labels, and by clustering.

    python benchmarks/embeddings.py --data-root ~/data --datasets cora photo --out embeddings.json

Settings are the defaults, whatever the data set. Results are written after each embedding; what is in the file already
is not measured again. Accuracies are means over the splits of a protocol, in per cent. The last line of each embedding
gives the mean over seeds and its standard deviation.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

import sfa
from sfa.atomic import write_text
from sfa.evaluate.baselines import propagated_features
from sfa.graph.features import normalize_features
from sfa.registry import resolve
from sfa.run import Recipe

METRICS = {"honest-10-10-80": "accuracy", "honest-1-10-89": "accuracy", "few-5": "accuracy", "clustering": "nmi"}
DATASETS = ("cora", "citeseer", "pubmed", "computers", "photo")


def embed_by(method: str) -> Callable[[Data, int], Tensor]:
    """Return a function that trains a method with its defaults and embeds."""

    def embed(data: Data, seed: int) -> Tensor:
        return torch.from_numpy(sfa.NodeEmbedder(method, random_state=seed, device="cpu").fit_transform(data))

    return embed


def untrained(data: Data, seed: int) -> Tensor:
    """Embed by the encoder of GRACE before training."""
    recipe = Recipe.parse({"method": "grace", "training": {"seed": seed}})
    return recipe.build_for(data).embed(recipe.prepare(data))


EMBEDDINGS: dict[str, Callable[[Data, int], Tensor]] = {
    "raw features": lambda data, seed: data.x,
    "propagated features": lambda data, seed: propagated_features(normalize_features(data, "row")),
    "untrained encoder": untrained,
    "propagate": embed_by("propagate"),
    "neighbor-contrast": embed_by("neighbor-contrast"),
    "grace": embed_by("grace"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", help="folder of data sets")
    parser.add_argument("--datasets", nargs="+", default=["cora"], help=f"for instance {' '.join(DATASETS)}")
    parser.add_argument("--embeddings", nargs="+", default=list(EMBEDDINGS)[:-1], choices=EMBEDDINGS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[10, 11, 12, 13, 14])
    parser.add_argument("--out", type=Path, default=Path("embeddings.json"))
    given = parser.parse_args()
    results = json.loads(given.out.read_text()) if given.out.exists() else {}
    for name in given.datasets:
        data = sfa.data.load(name, root=given.data_root)
        for kind in given.embeddings:
            for seed in given.seeds:
                key = f"{name} | {kind} | seed {seed}"
                if key not in results:
                    start = time.process_time()
                    z = EMBEDDINGS[kind](data, seed)
                    results[key] = {"cpu_seconds": time.process_time() - start}
                    for protocol, metric in METRICS.items():
                        score = resolve("protocol", protocol).evaluate(z, data)
                        results[key][protocol] = float(np.mean(score.values[metric]))
                    write_text(given.out, json.dumps(results, indent=1) + "\n")
                print(key, *(f"{number:.2f}" for number in results[key].values()), flush=True)
            rows = np.array([[results[f"{name} | {kind} | seed {seed}"][p] for p in METRICS] for seed in given.seeds])
            spread = rows.std(0, ddof=1) if len(rows) > 1 else np.zeros(len(METRICS))
            print(f"{name} | {kind}:", *(f"{m:.2f} ± {s:.2f}" for m, s in zip(rows.mean(0), spread, strict=True)))


if __name__ == "__main__":
    main()
