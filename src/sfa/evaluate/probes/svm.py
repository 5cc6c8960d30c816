"""The probe of whole graphs: a support vector machine, with ``C`` chosen inside the training part."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import pairwise_distances_chunked
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import InputError, unknown_name
from sfa.evaluate.probes.base import Labels, OnSplit, Prediction, Probe, Rows, ignore_convergence
from sfa.evaluate.splits import Split

Kernel = Literal["rbf", "linear"]
MOST_DISTANCES = 10_000
"""Up to so many rows all distances are kept, 0.8 GB; of more, libsvm computes each whenever it needs it."""
CHUNK_MB = 128
"""Distances that are computed at a time."""
CACHE_MB = 1000
"""What the machines that learn at once may keep of their kernels together, in single precision."""


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
        folds: Folds within the training part.
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

    def check(self, splits: Sequence[Split], y: Labels, items: str = "nodes") -> None:
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
        self, z: Tensor | sparse.csr_array, y: Labels, splits: Sequence[Split], on_split: OnSplit
    ) -> Iterator[Prediction]:
        used = np.unique(np.concatenate([part for split in splits for part in (split.train, split.test)]))
        rows: Rows = (z.double().numpy() if isinstance(z, Tensor) else z)[used]
        make_task = radial_task(rows) if self.kernel == "rbf" else linear_task(rows)
        for split in splits:
            train, test = (np.searchsorted(used, part) for part in (split.train, split.test))
            with ignore_convergence(), threadpool_limits(1, user_api="blas"):  # a second BLAS thread would disturb
                best, validation = self.choose(make_task, train, y[split.train])
                predicted = make_task(train, test).predict(self.cs[best], y[split.train])
            on_split()
            yield Prediction(predicted, self.cs[best], validation)

    def choose(self, make_task: MakeTask, train: Labels, labels: Labels) -> tuple[int, float]:
        """Return the place of the best ``C`` and its mean accuracy in per cent, of training rows and labels alone."""
        slowest_first = sorted(self.cs, reverse=True)
        waiting: deque[dict[float, Future[float]]] = deque()
        found: list[list[float]] = []

        def collect() -> None:
            scores = waiting.popleft()
            found.append([scores[c].result() for c in self.cs])

        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            for fit, look in StratifiedKFold(self.folds).split(train, labels):
                score = make_task(train[fit], train[look]).score
                waiting.append({c: pool.submit(score, c, labels[fit], labels[look]) for c in slowest_first})
                if len(waiting) == 2:  # two folds' kernels at a time: one is computed while the other's machines learn
                    collect()
            collect()
        accuracies = np.array(found).mean(0)
        best = int(accuracies.argmax())
        return best, 100 * float(accuracies[best])


@dataclass(frozen=True)
class Task:
    """What to learn from and what to classify, in the form that a machine takes: rows, or values of a kernel."""

    machine: Any
    train: Any
    others: Any

    def predict(self, c: float, labels: Labels) -> Labels:
        """Return the labels that the machine with this ``C``, fitted to these labels, gives to the others."""
        predicted: Labels = clone(self.machine).set_params(C=c).fit(self.train, labels).predict(self.others)
        return predicted

    def score(self, c: float, labels: Labels, of_others: Labels) -> float:
        """Return the share of the others that get their own label."""
        return float((self.predict(c, labels) == of_others).mean())


MakeTask = Callable[[Labels, Labels], Task]
"""Takes the numbers of the rows to learn from, and of those to classify; what depends on no ``C`` is computed once."""


def linear_task(rows: Rows) -> MakeTask:
    """Use liblinear, solved in the primal, on dense columns of mean 0 and variance 1 or sparse rows as given."""

    def make(train: Labels, others: Labels) -> Task:
        machine = LinearSVC(dual=False)
        if sparse.issparse(rows):
            return Task(machine, rows[train], rows[others])
        scaler = StandardScaler().fit(rows[train])
        return Task(machine, scaler.transform(rows[train]), scaler.transform(rows[others]))

    return make


def radial_task(rows: Rows) -> MakeTask:
    """Use libsvm with a Gaussian kernel: all share the distances, and the machines of a training part its kernel."""
    distances = squared_distances(rows) if rows.shape[0] <= MOST_DISTANCES else None
    cache = CACHE_MB / torch.get_num_threads()

    def make(train: Labels, others: Labels) -> Task:
        gamma = scale(rows[train])
        if distances is None:
            return Task(SVC(gamma=gamma, cache_size=cache), rows[train], rows[others])
        kernels = [distances[np.ix_(part, train)] for part in (train, others)]
        for kernel in kernels:
            kernel *= -gamma
            np.exp(kernel, out=kernel)
        return Task(SVC(kernel="precomputed", cache_size=cache), *kernels)

    return make


def squared_distances(rows: Rows) -> NDArray[np.float64]:
    """Compute the squared distances of all rows from each other, ``(n, n)``."""
    if not sparse.issparse(rows):
        rows = rows - rows.mean(0)  # differences of large numbers lose digits
    return np.vstack(list(pairwise_distances_chunked(rows, working_memory=CHUNK_MB, squared=True)))


def scale(rows: Rows) -> float:
    r"""Compute scikit-learn's ``γ`` of rows ``(n, d)``, by their width and the variance of all entries; 1 if that is 0.

    .. math::
        \gamma = \frac1{d \operatorname{Var}(Z)}
    """
    variance = (rows * rows).mean() - rows.mean() ** 2 if sparse.issparse(rows) else rows.var()
    return 1 / (rows.shape[1] * float(variance)) if variance > 0 else 1.0
