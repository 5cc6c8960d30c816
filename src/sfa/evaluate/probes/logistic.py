"""Probes by logistic regression with an L2 penalty: softmax regression, and one classifier for each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import InputError, unknown_name
from sfa.evaluate.logistic_regression import logistic_regression
from sfa.evaluate.probes.base import Labels, OnSplit, Prediction, Probe, Rows, best_labels, choose, ignore_convergence
from sfa.evaluate.splits import Split

Solver = Literal["batched", "scikit-learn"]
SPARSE = 0.1
"""One-vs-rest keeps rows with a smaller share of non-zero entries sparse, as liblinear's time is theirs."""


@dataclass(frozen=True)
class LogisticProbe(Probe):
    """Softmax regression with ``C`` chosen on validation; of equally good values the smallest, the strongest penalty.

    Attributes:
        cs: Inverse strengths of the regularization.
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

    def predict(self, z: Tensor, y: Labels, splits: Sequence[Split], on_split: OnSplit) -> Iterator[Prediction]:
        if self.solver == "scikit-learn":
            yield from super().predict(z, y, splits, on_split)
            return
        cs, parts = sorted(self.cs), [torch.from_numpy(split.train) for split in splits]
        paths = logistic_regression(z, torch.from_numpy(y), parts, cs, on_part=on_split)
        for split, path in zip(splits, paths, strict=True):
            best, validation = choose(path.predict(z[split.validation]).numpy(), y[split.validation])
            scores = path.scores(z[split.test], slice(best, best + 1))
            ranked = torch.cat([best_labels(piece.squeeze(1), path.classes) for piece in scores]).numpy()
            yield Prediction(ranked[:, 0], cs[best], validation, ranked)

    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        cs = sorted(self.cs)
        train, look, test = (z[part].double().numpy() for part in (split.train, split.validation, split.test))
        with threadpool_limits(1):  # on matrices of this size a second BLAS thread costs twenty times what it saves
            fits = [LogisticRegression(C=c, max_iter=100_000, tol=1e-8).fit(train, y[split.train]) for c in cs]
        best, validation = choose(np.stack([fit.predict(look) for fit in fits]), y[split.validation])
        return Prediction(fits[best].predict(test), cs[best], validation)


@dataclass(frozen=True)
class OneVsRestProbe(Probe):
    """The probe of GRACE and BGRL: logistic regression of each class against the rest, then the highest score.

    ``C`` is chosen by cross-validation within the training part, and the classifiers are fitted anew to all of it. A
    row counts as right there if its score is positive for its own class and for no other: the authors' code passes
    labels as indicators, which scikit-learn's grid search scores so. Of equally good values the first is taken.

    Attributes:
        cs: Inverse strengths of the penalty, which holds for the intercept too.
        selection: ``5 folds`` in the order of the training part, or ``5 halves``: random halves to fit to, the rest to
            look at.
        unit_rows: Whether embeddings are brought to rows of length one first.
    """

    cs: tuple[float, ...] = tuple(2.0**power for power in range(-10, 10))
    selection: Literal["5 folds", "5 halves"] = "5 folds"
    unit_rows: bool = True

    def check(self, splits: Sequence[Split], y: Labels, items: str = "nodes") -> None:
        smallest = min(len(split.train) for split in splits)
        if smallest < 5:
            raise InputError(f"A training part of {smallest} {items} is too small for 5-fold cross-validation.")

    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        parts = (z[part].double().numpy() for part in (split.train, split.test))
        train, test = (sparse.csr_array(x) if np.count_nonzero(x) < SPARSE * x.size else x for x in parts)
        best, validation = self.choose(train, y[split.train], number)
        classes, scores = one_vs_rest(train, y[split.train], test, self.cs[best])
        return Prediction(classes[scores.argmax(1)], self.cs[best], validation)

    def choose(self, rows: Rows, labels: Labels, number: int) -> tuple[int, float]:
        """Return the place of the best ``C`` and its mean accuracy in per cent, of training rows and labels alone."""
        parts = KFold(5) if self.selection == "5 folds" else ShuffleSplit(5, test_size=0.5, random_state=number)
        folds = list(parts.split(rows))

        def score(task: tuple[float, tuple[Labels, Labels]]) -> float:
            c, (fit, look) = task
            classes, scores = one_vs_rest(rows[fit], labels[fit], rows[look], c)
            own = labels[look][:, None] == classes
            # a class that the fold's training rows lack has no score, and its rows are not right
            return float((((scores > 0) == own).all(1) & own.any(1)).mean())

        with ignore_convergence(), ThreadPoolExecutor(torch.get_num_threads()) as pool:
            found = list(pool.map(score, [(c, fold) for c in self.cs for fold in folds]))
        accuracies = np.array(found).reshape(len(self.cs), len(folds)).mean(1)
        best = int(accuracies.argmax())
        return best, 100 * float(accuracies[best])


def one_vs_rest(rows: Rows, labels: Labels, others: Rows, c: float) -> tuple[Labels, NDArray[np.float64]]:
    """Return the classes of the labels, and their scores for other rows, ``(others, k)``; a positive one means yes."""
    classes = np.unique(labels)
    if len(classes) == 1:
        return classes, np.ones((others.shape[0], 1))
    fits = (LogisticRegression(solver="liblinear", C=c).fit(rows, labels == own) for own in classes)
    return classes, np.stack([fit.decision_function(others) for fit in fits], 1)
