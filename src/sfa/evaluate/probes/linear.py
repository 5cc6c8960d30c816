"""Linear probes: penalized logistic regression, one classifier a class, training by Adam or SGD, ridge regression."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from joblib import parallel_config  # type: ignore[import-untyped]
from scipy import sparse
from sklearn import config_context
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits
from torch import Tensor, nn
from torch.nn.functional import one_hot

from sfa.errors import InputError, unknown_name
from sfa.evaluate.logistic_regression import PARTS_TOGETHER, ROWS_TOGETHER, linear_scores, logistic_regression
from sfa.evaluate.probes.base import Labels, OnSplit, Prediction, Probe, accuracy, best_labels, choose, ignore_warnings
from sfa.evaluate.splits import Split
from sfa.ranges import check_number, check_whole
from sfa.seeding import derive_seed

Solver = Literal["batched", "scikit-learn"]
BATCH_BYTES = 2**28  # of the training parts that Adam's steps take together
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
        pairs = [(path, split.validation) for path, split in zip(paths, splits, strict=True)]
        chosen = [choose(path.predict(z[part]).numpy(), y[part]) for path, part in pairs]
        best = [(path.coefficients[i], path.intercepts[i]) for path, (i, _) in zip(paths, chosen, strict=True)]
        w, b = (torch.stack(tensors) for tensors in zip(*best, strict=True))  # (splits, k, d) and (splits, k)
        rows = np.unique(np.concatenate([split.test for split in splits]))
        scores = linear_scores(z[rows], w, b)  # one product for the test parts of all splits, as most rows are in most
        ranked = torch.cat([best_labels(piece.flatten(0, 1), paths[0].classes) for piece in scores]).numpy()
        ranked = ranked.reshape(len(rows), len(splits), -1)
        for number, (split, (i, validation)) in enumerate(zip(splits, chosen, strict=True)):
            own = ranked[np.searchsorted(rows, split.test), number]
            yield Prediction(own[:, 0], cs[i], validation, own)

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


@dataclass(frozen=True)
class AdamProbe(Probe):
    r"""PyGCL's probe: softmax regression by full-batch Adam, the first step with the best validation accuracy.

    .. math::
        \min_{W, b} \; -\frac1n \sum_i \log \operatorname{softmax}(W z_i + b)_{y_i}

    There is no penalty: early stopping is the regularization. ``W`` starts from Xavier's uniform distribution, ``b``
    from torch's own, both drawn for each split anew. Every ``every`` steps the validation part is predicted.
    """

    steps: int = 5000
    lr: float = 0.01
    every: int = 20
    unit_rows: bool = False
    seed: int = 0

    def predict(self, z: Tensor, y: Labels, splits: Sequence[Split], on_split: OnSplit) -> Iterator[Prediction]:
        z, sizes = z.float(), {len(split.train) for split in splits}
        most = max(1, min(PARTS_TOGETHER, BATCH_BYTES // (4 * max(sizes) * z.shape[1])))
        together = most if len(sizes) == 1 else 1  # training parts that differ in size are no batch
        for first in range(0, len(splits), together):
            for prediction in self._predict_batch(z, y, splits[first : first + together], first):
                on_split()
                yield prediction

    @torch.no_grad()
    def _predict_batch(self, z: Tensor, y: Labels, splits: Sequence[Split], first: int) -> list[Prediction]:
        classes = np.unique(y[y >= 0])
        x = torch.stack([z[split.train] for split in splits])
        labels = torch.from_numpy(np.searchsorted(classes, np.stack([y[split.train] for split in splits])))
        target = one_hot(labels, len(classes)).float()
        w, b = initial_weights(z.shape[1], len(classes), [(self.seed, first + i) for i in range(len(splits))])
        optimizer = torch.optim.Adam([w, b], lr=self.lr)
        chosen = [Prediction(np.empty(0, np.int64), 0, -1.0) for _ in splits]
        for step in range(1, self.steps + 1):
            w.grad, b.grad = softmax_gradients(w, b, x, target)
            optimizer.step()
            if step % self.every != 0:
                continue
            side_by_side = w.movedim(0, 1).flatten(1)  # (d, splits · k): one product for all splits
            scores = ((rows @ side_by_side).view(-1, *w.shape[::2]) for rows in torch.split(z, ROWS_TOGETHER))
            likeliest = torch.cat([piece.add_(b[:, 0]).argmax(2) for piece in scores]).mT.numpy()  # (splits, n)
            for i, (split, found) in enumerate(zip(splits, classes[likeliest], strict=True)):
                validation = float(accuracy(found[split.validation], y[split.validation]))
                if validation > chosen[i].validation:
                    chosen[i] = Prediction(found[split.test], step, validation)
        return chosen


def initial_weights(features: int, classes: int, seeds: Sequence[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    """Draw weights ``(splits, d, k)`` after Glorot and Bengio (2010), biases ``(splits, 1, k)`` within ``± 1/√d``."""
    w, b = torch.empty(len(seeds), features, classes), torch.empty(len(seeds), 1, classes)
    for i, seed in enumerate(seeds):
        generator = torch.Generator().manual_seed(derive_seed(*seed))
        torch.nn.init.xavier_uniform_(w[i], generator=generator)
        b[i].uniform_(-1 / math.sqrt(features), 1 / math.sqrt(features), generator=generator)
    return w, b


def softmax_gradients(w: Tensor, b: Tensor, x: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return the gradients of the mean cross-entropy, ``Xᵀ (p - y) / n`` and ``1ᵀ (p - y) / n``, a split each."""
    residual = torch.baddbmm(b, x, w).softmax(2).sub_(target).div_(x.shape[1])  # (splits, n, k)
    return x.mT @ residual, residual.sum(1, keepdim=True)


@dataclass(frozen=True)
class SgdProbe(Probe):
    """Softmax regression on the rows as they are by SGD with momentum, without a penalty; the last weights count.

    The offline linear evaluation of image encoders with the settings of `"solo-learn: A Library of Self-supervised
    Methods for Visual Representation Learning" <https://arxiv.org/abs/2108.01775>`_ (da Costa et al., 2022), but on
    features that are computed once, without augmentation. As the sizes of features differ between methods, all rates
    are trained side by side on the same batches, from the same weights; of equally good ones the smallest is taken. At
    each of the ``milestones`` in epochs the rate falls to a tenth.
    """

    lrs: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
    epochs: int = 100
    batch_size: int = 256
    momentum: float = 0.9
    milestones: tuple[int, ...] = (60, 80)
    unit_rows: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("epochs", self.epochs, 1)
        check_whole("batch_size", self.batch_size, 1)
        for lr in self.lrs:
            check_number("lrs", lr, above=0)

    @torch.no_grad()
    def predict_split(self, z: Tensor, y: Labels, split: Split, number: int) -> Prediction:
        z, lrs = z.float(), sorted(self.lrs)
        classes, target = np.unique(y[split.train], return_inverse=True)
        generator = torch.Generator().manual_seed(derive_seed(self.seed, number))
        fitted = self.fit(z[split.train], torch.from_numpy(target), len(classes), lrs, generator)
        pieces = torch.split(z[split.validation], ROWS_TOGETHER)
        labels = classes[torch.cat([fitted.scores(piece).argmax(2) for piece in pieces]).mT.numpy()]
        best, validation = choose(labels, y[split.validation])
        pieces, known = torch.split(z[split.test], ROWS_TOGETHER), torch.from_numpy(classes)
        ranked = torch.cat([best_labels(fitted.scores(piece)[:, best], known) for piece in pieces]).numpy()
        return Prediction(ranked[:, 0], lrs[best], validation, ranked)

    def fit(
        self, x: Tensor, target: Tensor, classes: int, lrs: Sequence[float], generator: torch.Generator
    ) -> LinearClassifiers:
        """Fit a classifier for each rate to rows ``(n, d)`` and their classes ``(n,)``."""
        fitted = LinearClassifiers(x.shape[1], len(lrs), classes, momentum=self.momentum, generator=generator)
        for epoch in range(self.epochs):
            rates = torch.tensor(lrs).unsqueeze(1) * 0.1 ** sum(epoch >= milestone for milestone in self.milestones)
            for batch in torch.split(torch.randperm(len(x), generator=generator), self.batch_size):
                w, b = fitted.gradients(x[batch], fitted.scores(x[batch]), target[batch])
                fitted.step((w / len(batch), b / len(batch)), rates)
        return fitted


class LinearClassifiers(nn.Module):
    """Several softmax classifiers of the same rows, by SGD with the momentum of ``torch.optim.SGD``.

    A step of all is two matrix products. They begin with the same weights, uniform within ``± 1/√d`` as those of
    ``torch.nn.Linear``.
    """

    def __init__(self, features: int, count: int, classes: int, *, momentum: float, generator: torch.Generator) -> None:
        super().__init__()
        bound = 1 / math.sqrt(features)
        first = torch.empty(features + 1, classes).uniform_(-bound, bound, generator=generator)
        self.w = nn.Buffer(first[:-1].unsqueeze(1).repeat(1, count, 1))  # (d, m, k)
        self.b = nn.Buffer(first[-1].repeat(count, 1))  # (m, k)
        self.velocity_w, self.velocity_b = nn.Buffer(torch.zeros_like(self.w)), nn.Buffer(torch.zeros_like(self.b))
        self.momentum = momentum

    def scores(self, x: Tensor) -> Tensor:
        """Return the scores ``(n, m, k)`` of rows ``(n, d)``."""
        return torch.addmm(self.b.flatten(), x, self.w.flatten(1)).view(-1, *self.b.shape)

    def gradients(self, x: Tensor, scores: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Return the gradients of the summed cross-entropy by weights and biases: ``Xᵀ (p - y)`` and ``1ᵀ (p - y)``."""
        residual = scores.softmax(2)
        residual[torch.arange(len(x), device=x.device), :, target] -= 1
        return (x.mT @ residual.flatten(1)).view_as(self.w), residual.sum(0)

    def step(self, gradients: tuple[Tensor, Tensor], lrs: Tensor) -> None:
        """Take a step down mean gradients, at a rate for each classifier, ``(m, 1)``."""
        velocities = self.velocity_w, self.velocity_b
        for parameter, velocity, gradient in zip((self.w, self.b), velocities, gradients, strict=True):
            velocity.mul_(self.momentum).add_(gradient)
            parameter.sub_(lrs * velocity)


@dataclass(frozen=True)
class RidgeProbe(Probe):
    """Ridge regression with the penalty ``alpha`` chosen on validation; of equally good values the largest.

    Dense columns are standardized by the training part. Sparse rows are counts, and only centered: a rare kind would
    come to weigh as much as a common one.
    """

    alphas: tuple[float, ...] = (1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5)
    unit_rows: bool = False
    takes_sparse: ClassVar[bool] = True

    def predict_split(self, z: Any, y: Any, split: Split, number: int) -> Prediction:
        scaler, alphas = StandardScaler(with_std=not sparse.issparse(z)), sorted(self.alphas, reverse=True)
        rows = [z[part] for part in (split.train, split.validation, split.test)]
        rows = [part.toarray() if sparse.issparse(part) else part.double().numpy() for part in rows]
        train, look, test = scaler.fit_transform(rows[0]), *map(scaler.transform, rows[1:])
        targets = np.repeat(y[split.train, None], len(alphas), axis=1)  # one penalty each, of one matrix of products
        with threadpool_limits(1):
            model = Ridge(alpha=alphas).fit(train, targets)
        shares = [r2_score(y[split.validation], column) for column in model.predict(look).T]
        best = int(np.argmax(shares))
        return Prediction(model.predict(test)[:, best], alphas[best], float(shares[best]))
