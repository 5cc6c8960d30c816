"""Probes by logistic regression with an L2 penalty: softmax regression, and one classifier for each class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from joblib import parallel_config  # type: ignore[import-untyped]
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import InputError, unknown_name
from sfa.evaluate.logistic_regression import logistic_regression
from sfa.evaluate.probes.base import Labels, OnSplit, Prediction, Probe, best_labels, choose, ignore_warnings
from sfa.evaluate.splits import Split

Solver = Literal["batched", "scikit-learn"]
SPARSE = 0.1  # one-vs-rest makes rows with fewer non-zero entries sparse, as liblinear's time is theirs


@dataclass(frozen=True)
class LogisticProbe(Probe):
    """Softmax regression with ``C`` chosen on validation; of equally good values the smallest, the strongest penalty.

    The solver ``batched`` fits all splits and values of ``C`` at once; ``scikit-learn`` fits one after another, with a
    tolerance that brings it to the same optimum: its own stops well above where ``C`` is large.
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
    labels as indicators, which scikit-learn's grid search scores so. Of equally good values the first is taken. The
    penalty holds for the intercept too. The folds are ``5 folds`` in the order of the training part, or ``5 halves``:
    random halves to fit to, the rest to look at.
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
        classes, target = np.unique(y[split.train], return_inverse=True)
        folds = KFold(5) if self.selection == "5 folds" else ShuffleSplit(5, test_size=0.5, random_state=number)
        model = OneVsRestClassifier(LogisticRegression(solver="liblinear"))
        search = GridSearchCV(model, {"estimator__C": self.cs}, cv=folds, n_jobs=torch.get_num_threads())
        fast = config_context(assume_finite=True, skip_parameter_validation=True)  # all of it was checked before
        with fast, ignore_warnings(), parallel_config("threading"):
            search.fit(train, np.eye(len(classes), dtype=bool)[target])
        predicted = classes[search.best_estimator_.decision_function(test).argmax(1)]
        return Prediction(predicted, search.best_params_["estimator__C"], 100 * float(search.best_score_))
