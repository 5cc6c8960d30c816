"""The linear probe: L2-regularised logistic regression, with ``C`` chosen on validation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import unknown_name
from sfa.evaluate.logistic_regression import LogisticPath, logistic_regression
from sfa.evaluate.probes.base import Prediction, Probe, accuracy, best_labels
from sfa.evaluate.splits import Split

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
        for split, fitted in zip(splits, solve(z, y, splits, cs, on_split), strict=True):
            validation = accuracy(fitted.labels(split.validation, slice(None)), y[split.validation])
            best = int(validation.argmax())
            which = slice(best, best + 1)
            (test,) = fitted.labels(split.test, which)
            yield Prediction(test, cs[best], float(validation[best]), fitted.ranked(split.test, which))


class _Fitted(ABC):
    """The classifiers of one split, one for each ``C``."""

    @abstractmethod
    def labels(self, rows: NDArray[np.int64], which: slice) -> NDArray[np.int64]:
        """Labels ``(m, rows)`` that the classifiers of some values of ``C`` give to some rows."""

    def ranked(self, rows: NDArray[np.int64], which: slice) -> NDArray[np.int64] | None:
        """The best labels of each row by one of them, where it says."""
        return None


@dataclass(frozen=True)
class _Path(_Fitted):
    z: Tensor
    path: LogisticPath

    def labels(self, rows: NDArray[np.int64], which: slice) -> NDArray[np.int64]:
        labels: NDArray[np.int64] = self.path.predict(self.z[torch.from_numpy(rows)], which).numpy()
        return labels

    def ranked(self, rows: NDArray[np.int64], which: slice) -> NDArray[np.int64]:
        pieces = self.path.scores(self.z[torch.from_numpy(rows)], which)
        ranked: NDArray[np.int64] = torch.cat([best_labels(s.squeeze(1), self.path.classes) for s in pieces]).numpy()
        return ranked


@dataclass(frozen=True)
class _Fits(_Fitted):
    z: Tensor
    fits: list[LogisticRegression]

    def labels(self, rows: NDArray[np.int64], which: slice) -> NDArray[np.int64]:
        values = _double(self.z, rows)
        return np.stack([classifier.predict(values) for classifier in self.fits[which]])


def _batched(
    z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], cs: Sequence[float], on_split: Callable[[], None]
) -> Iterator[_Fitted]:
    parts = [torch.from_numpy(split.train) for split in splits]
    for path in logistic_regression(z, torch.from_numpy(y), parts, cs, on_part=on_split):
        yield _Path(z, path)


def _by_scikit_learn(
    z: Tensor, y: NDArray[np.int64], splits: Sequence[Split], cs: Sequence[float], on_split: Callable[[], None]
) -> Iterator[_Fitted]:
    for split in splits:
        rows, labels = _double(z, split.train), y[split.train]
        with threadpool_limits(1):  # on matrices of this size a second BLAS thread costs twenty times what it saves
            fits = [LogisticRegression(C=c, max_iter=100_000, tol=1e-8).fit(rows, labels) for c in cs]
        on_split()
        yield _Fits(z, fits)


def _double(z: Tensor, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    values: NDArray[np.float64] = z[torch.from_numpy(rows)].double().numpy()
    return values
