"""The linear probe: logistic regression on frozen embeddings, on many splits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor

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
        solver: ``batched`` solves all splits and values of ``C`` at once, to the optimum; ``scikit-learn`` fits one
            after another, as far as its own default tolerance goes.
        on_split: Called after each split.
    """
    cs = sorted(cs)
    classifiers = _batched(z, y, splits, cs) if solver == "batched" else _by_scikit_learn(z, y, splits, cs)
    results = []
    for split, predict in zip(splits, classifiers, strict=True):
        validation = [_accuracy(predict(i, split.validation), y[split.validation]) for i in range(len(cs))]
        best = int(np.argmax(validation))
        results.append(ProbeResult(_accuracy(predict(best, split.test), y[split.test]), validation[best], cs[best]))
        if on_split is not None:
            on_split()
    return results


Predict = Callable[[int, NDArray[np.int64]], NDArray[np.int64]]
"""The labels that the classifier of the i-th ``C`` gives to some rows."""


def _batched(z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], cs: Sequence[float]) -> Iterator[Predict]:
    parts = [torch.from_numpy(split.train) for split in splits]
    for path in logistic_regression(z, torch.from_numpy(y), parts, cs):

        def predict(i: int, rows: NDArray[np.int64], path: LogisticPath = path) -> NDArray[np.int64]:
            labels: NDArray[np.int64] = path.predict(z[torch.from_numpy(rows)], slice(i, i + 1))[0].numpy()
            return labels

        yield predict


def _by_scikit_learn(
    z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], cs: Sequence[float]
) -> Iterator[Predict]:
    rows_of = z.numpy()
    for split in splits:
        fitted = []
        with threadpool_limits(1):  # on matrices of this size a second BLAS thread costs twenty times what it saves
            for c in cs:
                classifier = LogisticRegression(C=c, max_iter=5000)
                fitted.append(classifier.fit(rows_of[split.train].astype(np.float64), y[split.train]))

        def predict(i: int, rows: NDArray[np.int64], fitted: list[Any] = fitted) -> NDArray[np.int64]:
            labels: NDArray[np.int64] = fitted[i].predict(rows_of[rows].astype(np.float64))
            return labels

        yield predict


def _accuracy(predicted: NDArray[np.int64], labels: NDArray[np.int64]) -> float:
    return 100 * float(np.mean(predicted == labels))
