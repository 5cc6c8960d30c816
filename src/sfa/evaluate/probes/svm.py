"""The probe of whole graphs: a support vector machine, with ``C`` chosen inside the training part."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_chunked
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import unknown_name
from sfa.evaluate.inputs import labeled_items
from sfa.evaluate.probes.base import Labels, OnSplit, Prediction, Probe, ignore_warnings
from sfa.evaluate.splits import Split

Kernel = Literal["rbf", "linear"]
MOST_DISTANCES = 10_000  # up to so many rows all distances are kept, 0.8 GB; else libsvm computes them when needed
CHUNK_MB = 128  # distances that are computed at a time
CACHE_MB = 1000  # kernels of all machines that are fitted at once, in single precision

Rows: TypeAlias = "NDArray[np.float64] | sparse.csr_array"
Machines: TypeAlias = Callable[[float, Labels], Labels]  # from C and the labels of the training rows to those of others


@dataclass(frozen=True)
class SVMProbe(Probe):
    r"""A support vector machine on the rows as they are: the evaluation of InfoGraph, GraphCL, JOAO and SimGRACE.

    ``C`` is chosen by stratified folds within the training part, in its order, and the machine is fitted anew to all of
    it, as scikit-learn's ``GridSearchCV`` does. Of equally good values the first is taken. The kernel ``rbf`` is

    .. math::
        k(z, z') = e^{-\gamma \lVert z - z' \rVert_2^2}, \qquad
        \gamma = \frac1{d \operatorname{Var}(Z_{\text{train}})},

    with 1 for ``γ`` where the variance is 0. The kernel ``linear`` is liblinear's machine with squared hinge loss, one
    class against the rest, solved in the primal: on sums over many nodes its dual does not converge. Dense columns are
    standardized, as their sums differ by orders of magnitude; sparse rows are counts and stay, as a rare kind would
    come to weigh as much as a common one.
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
        why = f"{self.folds}-fold cross-validation needs at least {self.folds} of each class"
        for split in splits:
            labeled_items(y[split.train], self.folds, why, items=f"training {items}")

    def predict(self, z: Any, y: Labels, splits: Sequence[Split], on_split: OnSplit) -> Iterator[Prediction]:
        used = np.unique(np.concatenate([part for split in splits for part in (split.train, split.test)]))
        rows: Rows = (z.double().numpy() if isinstance(z, Tensor) else z)[used]
        keeps_distances = self.kernel == "rbf" and rows.shape[0] <= MOST_DISTANCES
        prepare = partial(self.machines, rows, squared_distances(rows) if keeps_distances else None)
        for split in splits:
            train, test = (np.searchsorted(used, part) for part in (split.train, split.test))
            with ignore_warnings(), threadpool_limits(1, user_api="blas"):  # a second BLAS thread would disturb
                best, validation = self.choose(prepare, train, y[split.train])
                predicted = prepare(train, test)(self.cs[best], y[split.train])
            on_split()
            yield Prediction(predicted, self.cs[best], validation)

    def choose(self, prepare: Callable[[Labels, Labels], Machines], train: Labels, labels: Labels) -> tuple[int, float]:
        """Return the place of the best ``C`` and its mean accuracy in per cent, of training rows and labels alone."""
        folds = list(StratifiedKFold(self.folds).split(train, labels))
        runs: list[dict[float, Future[Labels]]] = []
        with ThreadPoolExecutor(torch.get_num_threads()) as pool:
            for fit, look in folds:
                if len(runs) > 1:  # two folds' kernels at a time: one is computed while the other's machines learn
                    wait(runs[-2].values())
                predict = prepare(train[fit], train[look])
                runs.append({c: pool.submit(predict, c, labels[fit]) for c in sorted(self.cs, reverse=True)})
        found = [[run[c].result() == labels[look] for c in self.cs] for run, (_, look) in zip(runs, folds, strict=True)]
        accuracies = np.array([[hits.mean() for hits in fold] for fold in found]).mean(0)
        best = int(accuracies.argmax())
        return best, 100 * float(accuracies[best])

    def machines(self, rows: Rows, distances: NDArray[np.float64] | None, train: Labels, others: Labels) -> Machines:
        """Prepare the training rows and the others once for all ``C``; all parts share the distances of the rows."""
        x, queries = rows[train], rows[others]
        if self.kernel == "linear":
            if not sparse.issparse(rows):
                scaler = StandardScaler().fit(x)
                x, queries = scaler.transform(x), scaler.transform(queries)
            return lambda c, labels: LinearSVC(C=c, dual=False).fit(x, labels).predict(queries)
        gamma, cache = scale(x), CACHE_MB / torch.get_num_threads()
        if distances is None:
            return lambda c, labels: SVC(C=c, gamma=gamma, cache_size=cache).fit(x, labels).predict(queries)
        x, queries = (distances[np.ix_(part, train)] for part in (train, others))
        for values in (x, queries):
            values *= -gamma
            np.exp(values, out=values)
        return lambda c, labels: SVC(C=c, kernel="precomputed", cache_size=cache).fit(x, labels).predict(queries)


def squared_distances(rows: Rows) -> NDArray[np.float64]:
    """Compute the squared distances of all rows from each other, ``(n, n)``."""
    if not sparse.issparse(rows):
        rows = rows - rows.mean(0)  # differences of large numbers lose digits
    return np.vstack(list(pairwise_distances_chunked(rows, working_memory=CHUNK_MB, squared=True)))


def scale(rows: Rows) -> float:
    """Compute scikit-learn's ``γ`` of rows ``(n, d)`` by their width and variance; 1 if that is 0."""
    variance = (rows * rows).mean() - rows.mean() ** 2 if sparse.issparse(rows) else rows.var()
    return 1 / (rows.shape[1] * float(variance)) if variance > 0 else 1.0
