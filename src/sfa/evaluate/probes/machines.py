"""Support vector machines made ready for many values of ``C``: what does not depend on it is computed once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from sfa.evaluate.distances import squared_distances
from sfa.evaluate.probes.base import Rows

Numbers = NDArray[np.int64]
MOST_DISTANCES = 10_000
"""Up to so many rows all distances are kept, 0.8 GB; of more, libsvm computes each whenever it needs it."""
CACHE_MB = 1000
"""What the machines that learn at once may keep of their kernels together, in single precision."""


@dataclass(frozen=True)
class Task:
    """What to learn from and what to tell, in the form that a machine takes: rows, or values of a kernel."""

    machine: Any
    train: Any
    others: Any

    def labels(self, c: float, labels: Numbers) -> Numbers:
        """Those that the machine with this ``C``, fitted to these labels, gives to the others."""
        predicted: Numbers = clone(self.machine).set_params(C=c).fit(self.train, labels).predict(self.others)
        return predicted

    def accuracy(self, c: float, labels: Numbers, of_others: Numbers) -> float:
        """The share of the others that get their own label."""
        return float((self.labels(c, labels) == of_others).mean())


MakeTask = Callable[[Numbers, Numbers], Task]
"""Numbers of the rows to learn from, and of those to tell."""


def linear_task(rows: Rows) -> MakeTask:
    """liblinear's machine, solved in the primal, on dense columns of mean 0 and variance 1 or sparse rows as given."""

    def make(train: Numbers, others: Numbers) -> Task:
        machine = LinearSVC(dual=False)
        if sparse.issparse(rows):
            return Task(machine, rows[train], rows[others])
        scaler = StandardScaler().fit(rows[train])
        return Task(machine, scaler.transform(rows[train]), scaler.transform(rows[others]))

    return make


def radial_task(rows: Rows) -> MakeTask:
    """libsvm's machine with a Gaussian kernel: all share the distances, and those of one training part its kernel."""
    distances = squared_distances(rows) if rows.shape[0] <= MOST_DISTANCES else None

    def make(train: Numbers, others: Numbers) -> Task:
        gamma = scale(rows[train])
        if distances is None:
            return Task(SVC(gamma=gamma, cache_size=CACHE_MB / torch.get_num_threads()), rows[train], rows[others])
        kernels = (_gaussian(distances[np.ix_(part, train)], gamma) for part in (train, others))
        return Task(SVC(kernel="precomputed", cache_size=CACHE_MB / torch.get_num_threads()), *kernels)

    return make


def scale(rows: Rows) -> float:
    r"""scikit-learn's ``γ`` of rows ``(n, d)``: by their width and the variance of all their entries, 1 if that is 0.

    .. math::
        \gamma = \frac1{d \operatorname{Var}(Z)}
    """
    variance = (rows * rows).mean() - rows.mean() ** 2 if sparse.issparse(rows) else rows.var()
    return 1 / (rows.shape[1] * float(variance)) if variance > 0 else 1.0


def _gaussian(distances: NDArray[np.float64], gamma: float) -> NDArray[np.float64]:
    """In place."""
    distances *= -gamma
    return np.exp(distances, out=distances)
