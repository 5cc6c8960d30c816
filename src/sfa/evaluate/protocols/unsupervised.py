"""Protocols without a classifier: clusters compared with the classes, and the directions that tell classes apart."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch_geometric.data import Data

from sfa.evaluate.inputs import dense_rows, labeled
from sfa.evaluate.probes.base import ignore_convergence
from sfa.evaluate.protocols.base import Protocol
from sfa.evaluate.scores import Score
from sfa.evaluate.spectrum import label_signal
from sfa.matrices import unit_rows
from sfa.tasks import Task, item_word, num_items

DIRECTIONS = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class UnsupervisedProtocol(Protocol):
    """A protocol that scores the embeddings of all items with a label at once."""

    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")

    def check(self, graph: Data) -> None:
        labeled(graph)

    def parts(self, graph: Data) -> Iterable[NDArray[np.int64]]:
        return [labeled(graph)[0]]

    def measure(self, embedding: Any, graph: Data, on_split: Callable[[], None]) -> Score:
        items, y = labeled(graph)
        z = dense_rows(embedding(graph) if callable(embedding) else embedding, num_items(graph), item_word(graph))
        return Score("", self.name, self.metrics(z[torch.from_numpy(items)], y, on_split))

    @abstractmethod
    def metrics(self, z: Tensor, y: NDArray[np.int64], on_split: Callable[[], None]) -> dict[str, tuple[float, ...]]:
        """Compute each metric in per cent, once for every run, from embeddings ``(n, d)`` and labels ``(n,)``."""


@dataclass(frozen=True)
class Clustering(UnsupervisedProtocol):
    """k-means with as many clusters as there are classes, ``repeats`` times from other starts; none is preferred.

    Of the labels the clustering sees how many there are and which items have one, nothing else.

    Attributes:
        unit_rows: Whether embeddings are brought to rows of length one first.
        seed: Seed of the starts.
        solver: Whose k-means it is; part of the digest, as another one starts elsewhere.
    """

    unit_rows: bool = True
    seed: int = 0
    solver: Literal["scikit-learn"] = "scikit-learn"

    def metrics(self, z: Tensor, y: NDArray[np.int64], on_split: Callable[[], None]) -> dict[str, tuple[float, ...]]:
        values: dict[str, list[float]] = {"nmi": [], "ari": [], "accuracy": []}
        for found in self.clusters(z, len(np.unique(y))):
            values["nmi"].append(100 * float(normalized_mutual_info_score(y, found)))
            values["ari"].append(100 * float(adjusted_rand_score(y, found)))
            values["accuracy"].append(100 * assignment_accuracy(y, found))
            on_split()
        return {metric: tuple(numbers) for metric, numbers in values.items()}

    def clusters(self, z: Tensor, count: int) -> Iterator[NDArray[np.int64]]:
        """Yield the cluster of each row ``(n,)``, run by run."""
        rows, starts = (unit_rows(z) if self.unit_rows else z).numpy(), np.random.RandomState(self.seed)
        for _ in range(self.repeats):
            with ignore_convergence(), threadpool_limits(1):  # the sums of several threads differ in their last digits
                yield KMeans(count, n_init=1, random_state=starts).fit_predict(rows)


@dataclass(frozen=True)
class LabelSignal(UnsupervisedProtocol):
    """The signal (:func:`sfa.evaluate.spectrum.label_signal`) of the first 1, 4, 16 … directions together.

    It looks at all labels and holds none back: a diagnosis of what an embedding is made of, not a score to choose by.
    """

    repeats: int = 1

    def metrics(self, z: Tensor, y: NDArray[np.int64], on_split: Callable[[], None]) -> dict[str, tuple[float, ...]]:
        so_far = label_signal(unit_rows(z), y).cumsum(0)
        on_split()
        return {f"first {count}": (100 * float(so_far[min(count, len(so_far)) - 1]),) for count in DIRECTIONS}


def assignment_accuracy(classes: NDArray[np.int64], clusters: NDArray[np.int64]) -> float:
    """Return the share of points in the right cluster, by the best assignment of clusters to classes."""
    counts = contingency_matrix(classes, clusters)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())
