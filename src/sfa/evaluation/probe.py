"""The linear probe: logistic regression on frozen embeddings, on many splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import unknown_name
from sfa.evaluation.logistic_regression import LogisticPath, logistic_regression
from sfa.evaluation.splits import Split

Solver = Literal["batched", "scikit-learn"]


@dataclass(frozen=True)
class ProbeResult:
    """Accuracies in per cent, and what was chosen."""

    test: float
    validation: float
    c: float


def linear_probe(
    z: Tensor,
    y: NDArray[np.int64],
    splits: Sequence[Split],
    cs: Sequence[float],
    *,
    solver: Solver = "batched",
    on_split: Callable[[], None] | None = None,
) -> list[ProbeResult]:
    """L2-regularised logistic regression on each split; ``C`` is chosen on validation, and the test part is read once.

    Of equally good values the smallest ``C``, the strongest regularisation, is taken.

    Args:
        z: Embeddings ``(n, d)``.
        y: Labels ``(n,)``.
        splits: Which rows train, validate and test.
        cs: Inverse strengths of the regularisation.
        solver: ``batched`` solves all splits and values of ``C`` at once; ``scikit-learn`` fits one after another, with
            a tolerance that brings it to the same optimum: its own stops well above where ``C`` is large.
        on_split: Called when a split's fits are done.
    """
    if solver not in get_args(Solver):
        raise unknown_name("solver", solver, get_args(Solver))
    cs = sorted(cs)
    solve = _batched if solver == "batched" else _by_scikit_learn
    results = []
    for split, predict in zip(splits, solve(z, y, splits, cs, on_split), strict=True):
        validation = _accuracies(predict(split.validation, slice(None)), y[split.validation])
        best = int(validation.argmax())
        (test,) = _accuracies(predict(split.test, slice(best, best + 1)), y[split.test])
        results.append(ProbeResult(float(test), float(validation[best]), cs[best]))
    return results


Predict = Callable[[NDArray[np.int64], slice], NDArray[np.int64]]
"""Labels ``(m, rows)`` that the classifiers of some values of ``C`` give to some rows."""


def _batched(
    z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], cs: Sequence[float], on_split: Callable[[], None] | None
) -> Iterator[Predict]:
    parts = [torch.from_numpy(split.train) for split in splits]
    for path in logistic_regression(z, torch.from_numpy(y), parts, cs, on_part=on_split):

        def predict(rows: NDArray[np.int64], which: slice, path: LogisticPath = path) -> NDArray[np.int64]:
            labels: NDArray[np.int64] = path.predict(z[torch.from_numpy(rows)], which).numpy()
            return labels

        yield predict


def _by_scikit_learn(
    z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], cs: Sequence[float], on_split: Callable[[], None] | None
) -> Iterator[Predict]:
    def double(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = z[torch.from_numpy(rows)].double().numpy()
        return values

    for split in splits:
        with threadpool_limits(1):  # on matrices of this size a second BLAS thread costs twenty times what it saves
            fitted = [
                LogisticRegression(C=c, max_iter=100_000, tol=1e-8).fit(double(split.train), y[split.train]) for c in cs
            ]

        def predict(rows: NDArray[np.int64], which: slice, fitted: list[Any] = fitted) -> NDArray[np.int64]:
            values = double(rows)
            return np.stack([classifier.predict(values) for classifier in fitted[which]])

        if on_split is not None:
            on_split()
        yield predict


def _accuracies(predicted: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    accuracies: NDArray[np.float64] = 100 * (predicted == labels).mean(1)
    return accuracies
