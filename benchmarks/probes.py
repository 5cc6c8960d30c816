"""The linear probe: all fits at once, against scikit-learn's one after another.

    python benchmarks/probes.py [--rounds 3] [--case cora wide]

The embeddings of ``cora`` are those of GRACE + SFA after 30 epochs, with 20 splits 10/10/80. Those of ``wide`` are
drawn: 20,000 rows, 1500 columns, 10 classes and a falling spectrum, with 2 splits, as scikit-learn takes long. All have
rows of length one and 10 values of C from 0.01 to 10,000, and all programs one thread. scikit-learn's default tolerance
stops it short of the optimum, so it is timed with a tighter one too. Times are the least of things measured in turns.
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
    parser.add_argument("--case", nargs="+", choices=("cora", "wide"), default=("cora", "wide"))
    arguments = parser.parse_args()
    rounds = arguments.rounds
    torch.set_num_threads(1)
    print(f"torch {torch.__version__}, one thread, {rounds} rounds")
    if "cora" in arguments.case:
        probes(*trained_embeddings(), rounds, 20)
    if "wide" in arguments.case:
        probes(*wide_embeddings(), rounds, 2)


def trained_embeddings() -> tuple[torch.Tensor, torch.Tensor]:
    """Return embeddings and labels of Cora."""
    cora = normalize_features(load("cora"), "row")
    recipe = load_recipe("demo/with-augmentation").updated({"training.epochs": 30})
    method = recipe.build(cora.num_features)
    train(method, cora, **recipe.training.arguments, device="cpu")
    return torch.nn.functional.normalize(method.embed(cora)), cora.y


def wide_embeddings(n: int = 20_000, d: int = 1500, k: int = 10) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw embeddings ``(n, d)`` around the means of ``k`` classes, and their labels."""
    generator = torch.Generator().manual_seed(0)
    y = torch.randint(k, (n,), generator=generator)
    means, noise = torch.randn(k, d, generator=generator), torch.randn(n, d, generator=generator)
    return torch.nn.functional.normalize((0.3 * means[y] + noise) * torch.arange(1, d + 1).rsqrt()), y


def probes(z: torch.Tensor, y: torch.Tensor, rounds: int, count: int) -> None:
    """Time, and how near to the optimum."""
    splits = random_splits(y.numpy(), train=0.1, validation=0.1, count=count)
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
    print(f"\n## {len(z)} × {z.shape[1]}, {count} splits × 10 values of C\n")
    print("| | time / batched | objective above the batched one, at most |")
    print("| --- | --- | --- |")
    for name, seconds in times.items():
        above = np.max(np.array(objectives[name]) / np.array(objectives["batched"]) - 1)
        print(f"| {name} | {seconds / times['batched']:.1f} | {above:.1e} |")


if __name__ == "__main__":
    main()
