"""The linear probe: L2-regularized logistic regression, with ``C`` chosen on validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import unknown_name
from sfa.evaluate.logistic_regression import logistic_regression
from sfa.evaluate.probes.base import Labels, OnSplit, Prediction, Probe, accuracy, best_labels
from sfa.evaluate.splits import Split

Solver = Literal["batched", "scikit-learn"]


@dataclass(frozen=True)
class LogisticProbe(Probe):
    """Softmax regression on each split; of equally good values the smallest ``C``, the strongest penalty, is taken.

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
        predict = self._predict_batched if self.solver == "batched" else self._predict_by_scikit_learn
        return predict(z, y, splits, on_split)

    def _predict_batched(
        self, z: Tensor, y: Labels, splits: Sequence[Split], on_split: OnSplit
    ) -> Iterator[Prediction]:
        cs, parts = sorted(self.cs), [torch.from_numpy(split.train) for split in splits]
        paths = logistic_regression(z, torch.from_numpy(y), parts, cs, on_part=on_split)
        for split, path in zip(splits, paths, strict=True):
            validation = accuracy(path.predict(z[split.validation]).numpy(), y[split.validation])
            best = int(validation.argmax())
            scores = path.scores(z[split.test], slice(best, best + 1))
            ranked = torch.cat([best_labels(piece.squeeze(1), path.classes) for piece in scores]).numpy()
            yield Prediction(ranked[:, 0], cs[best], float(validation[best]), ranked)

    def _predict_by_scikit_learn(
        self, z: Tensor, y: Labels, splits: Sequence[Split], on_split: OnSplit
    ) -> Iterator[Prediction]:
        cs = sorted(self.cs)
        for split in splits:
            train, look, test = (z[part].double().numpy() for part in (split.train, split.validation, split.test))
            with threadpool_limits(1):  # on matrices of this size a second BLAS thread costs twenty times what it saves
                fits = [LogisticRegression(C=c, max_iter=100_000, tol=1e-8).fit(train, y[split.train]) for c in cs]
            on_split()
            validation = accuracy(np.stack([fit.predict(look) for fit in fits]), y[split.validation])
            best = int(validation.argmax())
            yield Prediction(fits[best].predict(test), cs[best], float(validation[best]))
