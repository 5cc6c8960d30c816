"""The linear probe: L2-regularised logistic regression, with ``C`` chosen on validation."""

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
from sfa.evaluation.probes.base import Prediction, Probe, accuracy
from sfa.evaluation.splits import Split

Solver = Literal["batched", "scikit-learn"]


@dataclass(frozen=True)
class LogisticProbe(Probe):
    """Softmax regression on each split; of equally good values the smallest ``C``, the strongest penalty, is taken.

    Attributes:
        cs: Inverse strengths of the regularisation.
        solver: ``batched`` solves all splits and values of ``C`` at once; ``scikit-learn`` fits one after another, with
            a tolerance that brings it to the same optimum: its own stops well above where ``C`` is large.
        unit_rows: Whether embeddings are brought to rows of length one first.
    """

    cs: tuple[float, ...] = (1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4)
    solver: Solver = "batched"
    unit_rows: bool = True

    def __post_init__(self) -> None:
        if self.solver not in get_args(Solver):
            raise unknown_name("solver", self.solver, get_args(Solver))

    def predict(
        self, z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], on_split: Callable[[], None]
    ) -> Iterator[Prediction]:
        cs = sorted(self.cs)
        solve = _batched if self.solver == "batched" else _by_scikit_learn
        for split, classify in zip(splits, solve(z, y, splits, cs, on_split), strict=True):
            validation = accuracy(classify(split.validation, slice(None)), y[split.validation])
            best = int(validation.argmax())
            (test,) = classify(split.test, slice(best, best + 1))
            yield Prediction(test, cs[best], float(validation[best]))


Classify = Callable[[NDArray[np.int64], slice], NDArray[np.int64]]
"""Labels ``(m, rows)`` that the classifiers of some values of ``C`` give to some rows."""


def _batched(
    z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], cs: Sequence[float], on_split: Callable[[], None]
) -> Iterator[Classify]:
    parts = [torch.from_numpy(split.train) for split in splits]
    for path in logistic_regression(z, torch.from_numpy(y), parts, cs, on_part=on_split):

        def classify(rows: NDArray[np.int64], which: slice, path: LogisticPath = path) -> NDArray[np.int64]:
            labels: NDArray[np.int64] = path.predict(z[torch.from_numpy(rows)], which).numpy()
            return labels

        yield classify


def _by_scikit_learn(
    z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], cs: Sequence[float], on_split: Callable[[], None]
) -> Iterator[Classify]:
    def double(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        values: NDArray[np.float64] = z[torch.from_numpy(rows)].double().numpy()
        return values

    for split in splits:
        with threadpool_limits(1):  # on matrices of this size a second BLAS thread costs twenty times what it saves
            fitted = [
                LogisticRegression(C=c, max_iter=100_000, tol=1e-8).fit(double(split.train), y[split.train]) for c in cs
            ]

        def classify(rows: NDArray[np.int64], which: slice, fitted: list[Any] = fitted) -> NDArray[np.int64]:
            values = double(rows)
            return np.stack([classifier.predict(values) for classifier in fitted[which]])

        on_split()
        yield classify
