"""Data of a report as `sfa report` collects them, made up: any number of runs, nodes and classes."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

PAPERS = (
    "Case_Based",
    "Genetic_Algorithms",
    "Neural_Networks",
    "Probabilistic_Methods",
    "Reinforcement_Learning",
    "Rule_Learning",
    "Theory",
)
RECIPE = """\
method:
  name: grace
  tau: 0.4
encoder:
  name: gcn
  hidden: 256
spectral: {spectral}
training:
  epochs: {epochs}
  lr: 0.0005
  seed: {seed}
"""
WRONG_EACH = 5
"""Each fifth node is predicted as the next class."""


def array(values: Any, dtype: str) -> dict[str, Any]:
    found = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"dtype": dtype, "shape": list(found.shape), "base64": base64.b64encode(found.tobytes()).decode("ascii")}


def diagnostics(rng: np.random.Generator, *, epochs: int, width: int, spectral: bool) -> dict[str, Any]:
    taken = [1, *range(10, epochs + 1, 10)]
    index = np.arange(1, width + 1)
    before = [60 * np.exp(-index / (4 + 20 * epoch / epochs)) + rng.random() for epoch in taken]
    after = [sigma * np.where(index < 4, 0.6, 0.95) for sigma in before] if spectral else before
    distance = [4000 / (1 + epoch / 8) + 200 for epoch in taken]

    def ranks(spectra: list[np.ndarray]) -> list[float]:
        shares = [sigma / sigma.sum() for sigma in spectra]
        return [float(np.exp(-(share * np.log(share)).sum())) for share in shares]

    return {
        "epochs": taken,
        "spectral_map": spectral,
        "spectrum_before": [sigma.tolist() for sigma in before],
        "spectrum_after": [sigma.tolist() for sigma in after],
        "alignment_before": distance,
        "alignment_after": [value * (0.7 if spectral else 1) for value in distance],
        "relative_alignment": [0.9 * value / distance[0] for value in distance],
        "effective_rank_before": ranks(before),
        "effective_rank_after": ranks(after),
    }


def scores(rng: np.random.Generator, mean: float, *, splits: int, metrics: tuple[str, ...]) -> list[dict[str, Any]]:
    found = []
    for shift, metric in enumerate(metrics):
        for embedding, centre in (("raw features", 64.0), ("untrained encoder", 71.0), ("GRACE", mean)):
            draws = np.random.default_rng(shift) if embedding == "raw features" else rng  # the same for all runs
            values = np.round(draws.normal(centre - 2 * shift, 0.9, splits), 2)
            std = float(values.std(ddof=1)) if splits > 1 else float("nan")
            found.append(
                {
                    "embedding": embedding,
                    "own": embedding == "GRACE",
                    "protocol": "honest-10-10-80",
                    "metric": metric,
                    "values": values.tolist(),
                    "mean": float(values.mean()),
                    "std": std,
                }
            )
    return found


def example_run(
    name: str = "runs/cora-grace-sfa",
    *,
    method: str = "grace",
    spectral: str = "sfa",
    nodes: int = 300,
    classes: int = 7,
    seed: int = 0,
    epochs: int = 200,
    mean: float = 83.4,
    splits: int = 20,
    metrics: tuple[str, ...] = ("accuracy",),
    class_names: list[str] | None = None,
    ids: list[Any] | None = None,
    labelled: bool = True,
    diagnosed: bool = True,
) -> dict[str, Any]:
    """One run: classes lie on a circle, and each fifth node is taken for one of the next class."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, classes, nodes)
    angle = 2 * np.pi * label / classes
    x = 40 * np.cos(angle) + rng.normal(0, 7, nodes)
    y = 30 * np.sin(angle) + rng.normal(0, 7, nodes)
    epoch = np.arange(1, epochs + 1)
    loss = 6 + 3 * np.exp(-epoch / 30) + rng.normal(0, 0.02, epochs)
    run: dict[str, Any] = {
        "name": name,
        "method": method,
        "spectral": spectral,
        "seed": seed,
        "epochs": epochs,
        "planned": epochs,
        "seconds": 41.2 + seed,
        "state": "finished",
        "remarks": [],
        "data": {
            "name": "cora",
            "rows": [["nodes", str(nodes)], ["edges", "5278"], ["features", "1433"], ["classes", str(classes)]],
        },
        "recipe": RECIPE.format(spectral=spectral, epochs=epochs, seed=seed),
        "command": f"sfa train cora --method {method} --spectral {spectral} --seed {seed}",
        "versions": {"python": "3.11.2", "sfa": "0.2.0", "torch": "2.13.0"},
        "curve": {"epoch": array(epoch, "int32"), "loss": array(loss, "float32")},
        "diagnostics": {"epochs": []},
        "scores": [],
        "map": {"x": array(x, "float32"), "y": array(y, "float32"), "how": f"t-SNE of {nodes} nodes"},
        "ids": {"range": nodes} if ids is None else ids,
    }
    if diagnosed:
        run["diagnostics"] = diagnostics(rng, epochs=epochs, width=64, spectral=spectral != "none")
    if not labelled:
        return {**run, "no_scores": "The graph has no labels, so there is nothing to score."}
    number = np.arange(nodes)
    predicted = np.where(number % WRONG_EACH == 0, (label + 1) % classes, label)
    part = np.where(number % 10 == 1, 0, np.where(number % 10 == 2, 1, 2))
    tested = part == 2
    matrix = np.zeros((classes, classes), dtype=int)
    np.add.at(matrix, (label[tested], predicted[tested]), 1)
    names = class_names or (list(PAPERS) if classes == len(PAPERS) else [f"subject {i}" for i in range(classes)])
    return {
        **run,
        "scores": scores(rng, mean, splits=splits, metrics=metrics),
        "labels": array(label, "int32"),
        "predicted": array(predicted, "int32"),
        "part": array(part, "uint8"),
        "class_names": names,
        "how_predicted": "probe of split 1, trained on its 30 training nodes",
        "confusion": {"matrix": matrix.tolist(), "of": "test nodes of split 1"},
    }


def example_data(*runs: dict[str, Any], title: str = "cora, GRACE + SFA") -> dict[str, Any]:
    """A report of the runs, by default of one; several are compared with the first."""
    runs = runs or (example_run(),)
    data: dict[str, Any] = {
        "title": title,
        "made": "2026-11-16 15:02 UTC",
        "sfa": "0.2.0",
        "commands": [" ".join(["sfa report", *(run["name"] for run in runs)])],
        "items": "nodes",
        "runs": list(runs),
    }
    if len(runs) > 1 and all(run["scores"] for run in runs):
        data["comparison"] = [_compared(run, runs[0]) for run in runs]
    return data


def four_runs(**options: Any) -> dict[str, Any]:
    """Two methods, each without a spectral map and with SFA."""
    kinds = [("grace", "none", 82.1), ("grace", "sfa", 83.4), ("g-bt", "none", 81.7), ("g-bt", "sfa", 82.9)]
    runs = [
        example_run(f"runs/cora-{method}-{spectral}", method=method, spectral=spectral, mean=mean, seed=seed, **options)
        for seed, (method, spectral, mean) in enumerate(kinds)
    ]
    return example_data(*runs, title="cora, 4 runs")


def _compared(run: dict[str, Any], first: dict[str, Any]) -> dict[str, Any]:
    own, base = run["scores"][-1], first["scores"][-1]
    apart = np.array(own["values"]) - np.array(base["values"])
    half = 2.09 * apart.std(ddof=1) / np.sqrt(len(apart))
    mean = float(apart.mean())
    row = {"run": run["name"], "metric": own["metric"], "mean": own["mean"], "std": own["std"]}
    if run is first:
        return {**row, "difference": None, "p": None}
    return {**row, "difference": [mean, mean - float(half), mean + float(half)], "p": 0.0123}
