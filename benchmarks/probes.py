"""The linear probe on embeddings of Cora: all fits at once, against scikit-learn's one after another.

    python benchmarks/probes.py [--rounds 3]

The embeddings are those of GRACE + SFA after 30 epochs, rows of length one. The probe has 20 splits 10/10/80 and 10
values of C from 0.01 to 10,000. Both have one thread. scikit-learn's default tolerance stops it short of the optimum,
so it is timed with a tighter one too. Times are the least of things measured in turns.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from timing import side_by_side

from sfa.data import load
from sfa.evaluate.logistic_regression import logistic_regression
from sfa.evaluate.splits import random_splits
from sfa.graph.features import normalize_features
from sfa.run import load_recipe
from sfa.train import train

CS = tuple(float(c) for c in np.logspace(-2, 4, 10))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    cora = normalize_features(load("cora"), "row")
    recipe = load_recipe("demo/with-augmentation").updated({"training.epochs": 30})
    method = recipe.build(cora.num_features)
    train(method, cora, **recipe.training.arguments, device="cpu")
    z = torch.nn.functional.normalize(method.embed(cora))
    print(f"torch {torch.__version__}, one thread, {rounds} rounds")
    probes(z, cora.y, rounds)


def probes(z: torch.Tensor, y: torch.Tensor, rounds: int) -> None:
    """Time, and how near to the optimum."""
    splits = random_splits(y.numpy(), train=0.1, validation=0.1, count=20)
    parts = [torch.from_numpy(split.train) for split in splits]
    rows, labels = z.double().numpy(), y.numpy()
    objectives: dict[str, list[float]] = {}

    def ours() -> None:
        paths = logistic_regression(z, y, parts, CS)
        objectives["batched"] = [value for path in paths for value in path.objective.tolist()]

    def theirs(name: str, tolerance: float, warm: bool) -> Callable[[], None]:
        def run() -> None:
            objectives[name] = found = []
            with threadpool_limits(1):
                for split in splits:
                    x, target = rows[split.train], labels[split.train]
                    fit = LogisticRegression(max_iter=100_000, tol=tolerance, warm_start=warm)
                    for c in CS:
                        fit.set_params(C=c).fit(x, target)
                        correct = fit.predict_log_proba(x)[np.arange(len(x)), target]
                        found.append(float(-c * correct.sum() + 0.5 * np.square(fit.coef_).sum()))

        return run

    names = {"scikit-learn": (1e-4, False), "scikit-learn, warm starts": (1e-4, True)}
    names["scikit-learn, tol = 1e-7"] = (1e-7, False)
    times = side_by_side({"batched": ours, **{name: theirs(name, *how) for name, how in names.items()}}, rounds)
    print("\n## 20 splits × 10 values of C\n\n| | time / batched | objective above the batched one, at most |")
    print("| --- | --- | --- |")
    for name, seconds in times.items():
        above = np.max(np.array(objectives[name]) / np.array(objectives["batched"]) - 1)
        print(f"| {name} | {seconds / times['batched']:.1f} | {above:.1e} |")


if __name__ == "__main__":
    main()
