"""The probe of GRACE and BGRL: one liblinear classifier a class, with ``C`` chosen inside the training part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, ShuffleSplit
from torch import Tensor

from sfa.errors import InputError
from sfa.evaluate.probes.base import Labels, OnSplit, Prediction, Probe, Rows, ignore_convergence
from sfa.evaluate.splits import Split

Selection = Literal["5 folds", "5 halves"]
SPARSE = 0.1
"""Rows with a smaller share of entries that are not 0 are kept sparse: liblinear's time is theirs."""


@dataclass(frozen=True)
class OneVsRestProbe(Probe):
    """L2-regularized logistic regression of each class against the rest, then the class with the highest score.

    ``C`` is chosen by cross-validation within the training part, and the classifiers are fitted anew to all of it. What
    counts there is how many rows have a positive score for their own class and for no other: the authors' code passes
    labels as indicators, and that is what scikit-learn's grid search makes of them. Of equally good values the first
    is taken.

    Attributes:
        cs: Inverse strengths of the penalty, which holds for the intercept too.
        selection: ``5 folds`` in the order of the training part, or ``5 halves``: random halves to fit to, the rest to
            look at.
        unit_rows: Whether embeddings are brought to rows of length one first.
    """

    cs: tuple[float, ...] = tuple(2.0**power for power in range(-10, 10))
    selection: Selection = "5 folds"
    unit_rows: bool = True

    def predict(self, z: Tensor, y: Labels, splits: Sequence[Split], on_split: OnSplit) -> Iterator[Prediction]:
        for number, split in enumerate(splits):
            rows, labels = _rows(z, split.train), y[split.train]
            best, validation = self.choose(rows, labels, number)
            classes, scores = one_vs_rest(rows, labels, _rows(z, split.test), self.cs[best])
            on_split()
            yield Prediction(classes[scores.argmax(1)], self.cs[best], validation)

    def check(self, splits: Sequence[Split], y: Labels, items: str = "nodes") -> None:
        smallest = min(len(split.train) for split in splits)
        if smallest < 5:
            raise InputError(f"A training part of {smallest} {items} is too small for 5-fold cross-validation.")

    def choose(self, rows: Rows, labels: Labels, number: int) -> tuple[int, float]:
        """Return the place of the best ``C`` and its mean accuracy in per cent, of training rows and labels alone."""
        parts = KFold(5) if self.selection == "5 folds" else ShuffleSplit(5, test_size=0.5, random_state=number)
        folds = list(parts.split(rows))

        def exact(task: tuple[float, tuple[Labels, Labels]]) -> float:
            c, (fit, look) = task
            classes, scores = one_vs_rest(rows[fit], labels[fit], rows[look], c)
            own = labels[look][:, None] == classes
            # a class that the fold's training rows lack has no score, and its rows are not right
            return float((((scores > 0) == own).all(1) & own.any(1)).mean())

        with ignore_convergence(), ThreadPoolExecutor(torch.get_num_threads()) as pool:
            found = list(pool.map(exact, [(c, fold) for c in self.cs for fold in folds]))
        accuracies = np.array(found).reshape(len(self.cs), len(folds)).mean(1)
        best = int(accuracies.argmax())
        return best, 100 * float(accuracies[best])


def one_vs_rest(rows: Rows, labels: Labels, others: Rows, c: float) -> tuple[Labels, NDArray[np.float64]]:
    """Return the classes of the labels, and the score of each for other rows, ``(others, k)``; positive is a yes."""
    classes = np.unique(labels)
    if len(classes) == 1:
        return classes, np.ones((others.shape[0], 1))
    scores = [
        LogisticRegression(solver="liblinear", C=c).fit(rows, labels == own).decision_function(others)
        for own in classes
    ]
    return classes, np.stack(scores, 1)


def _rows(z: Tensor, part: Labels) -> Rows:
    rows = z[part].double().numpy()
    return sparse.csr_array(rows) if np.count_nonzero(rows) < SPARSE * rows.size else rows
