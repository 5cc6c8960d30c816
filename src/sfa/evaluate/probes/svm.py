"""The probe of whole graphs: a support vector machine, with ``C`` chosen inside the training part."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np
import torch
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import InputError, unknown_name
from sfa.evaluate.probes.base import Prediction, Probe, Rows
from sfa.evaluate.probes.machines import MakeTask, Numbers, linear_task, radial_task
from sfa.evaluate.splits import Split

Kernel = Literal["rbf", "linear"]


@dataclass(frozen=True)
class SVMProbe(Probe):
    r"""A support vector machine on the rows as they are: the evaluation of InfoGraph, GraphCL, JOAO and SimGRACE.

    ``C`` is chosen by stratified folds within the training part, in its order, and the machine is fitted anew to all of
    it: what scikit-learn's ``GridSearchCV`` does. Of equally good values the first is taken. The kernel ``rbf`` is

    .. math::
        k(z, z') = e^{-\gamma \lVert z - z' \rVert_2^2}, \qquad
        \gamma = \frac1{d \operatorname{Var}(Z_{\text{train}})},

    with 1 for ``γ`` where the variance is 0. The kernel ``linear`` is liblinear's machine with squared hinge loss, one
    class against the rest. It is solved in the primal: on sums over many nodes its dual does not converge. Dense
    columns are brought to mean 0 and variance 1 of the rows it is fitted to, for their sums differ by orders of
    magnitude; sparse rows are counts and stay, as a rare kind would come to weigh as much as a common one.

    Attributes:
        kernel: ``rbf`` or ``linear``.
        cs: Inverse strengths of the penalty.
        folds: Within the training part.
        unit_rows: Whether embeddings are brought to rows of length one first.
    """

    kernel: Kernel = "rbf"
    cs: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3)
    folds: int = 5
    unit_rows: bool = False
    takes_sparse: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.kernel not in get_args(Kernel):
            raise unknown_name("kernel", self.kernel, get_args(Kernel))

    def check(self, splits: Sequence[Split], y: Numbers, items: str = "nodes") -> None:
        for split in splits:
            classes, members = np.unique(y[split.train], return_counts=True)
            if len(classes) < 2:
                raise InputError(f"A training part with {items} of one class alone has nothing to tell apart.")
            if members.min() < self.folds:
                raise InputError(
                    f"Class {classes[members.argmin()]} has {members.min()} {items} in a training part, too few for "
                    f"{self.folds}-fold cross-validation within it."
                )

    def predict(
        self, z: Tensor | sparse.csr_array, y: Numbers, splits: Sequence[Split], on_split: Callable[[], None]
    ) -> Iterator[Prediction]:
        asked = np.unique(np.concatenate([part for split in splits for part in (split.train, split.test)]))
        rows: Rows = (z.double().numpy() if isinstance(z, Tensor) else z)[asked]
        task = radial_task(rows) if self.kernel == "rbf" else linear_task(rows)
        for split in splits:
            train, test = (np.searchsorted(asked, part) for part in (split.train, split.test))
            best, validation = self.choose(task, train, y[split.train])
            with _quiet():
                predicted = task(train, test).labels(self.cs[best], y[split.train])
            on_split()
            yield Prediction(predicted, self.cs[best], validation)

    def choose(self, task: MakeTask, train: Numbers, labels: Numbers) -> tuple[int, float]:
        """Place of the best ``C`` and its mean accuracy in per cent, of training rows and labels alone."""
        folds = list(StratifiedKFold(self.folds).split(train, labels))
        slowest_first = sorted(self.cs, reverse=True)
        waiting: deque[dict[float, Future[float]]] = deque()
        found: list[list[float]] = []

        def collect() -> None:
            scores = waiting.popleft()
            found.append([scores[c].result() for c in self.cs])

        with _quiet(), ThreadPoolExecutor(torch.get_num_threads()) as pool:
            for fit, look in folds:
                score = task(train[fit], train[look]).accuracy
                waiting.append({c: pool.submit(score, c, labels[fit], labels[look]) for c in slowest_first})
                if len(waiting) == 2:  # two folds' kernels at a time: one is computed while the other's machines learn
                    collect()
            collect()
        accuracies = np.array(found).mean(0)
        best = int(accuracies.argmax())
        return best, 100 * float(accuracies[best])


@contextmanager
def _quiet() -> Iterator[None]:
    """A machine that has not converged counts as it is, as in the authors' code; a second BLAS thread would disturb."""
    with warnings.catch_warnings(), threadpool_limits(1, user_api="blas"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield
