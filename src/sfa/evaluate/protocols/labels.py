"""Protocols that compare embeddings with labels: classification, clustering, and the signal of directions."""

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

from sfa.evaluate.diagnostics import label_signal
from sfa.evaluate.inputs import dense_rows, is_sparse, labeled_items, labels_of, sparse_rows
from sfa.evaluate.masked_splits import PublicSplits
from sfa.evaluate.probes import Probe
from sfa.evaluate.probes.base import RANKS, accuracy, ignore_warnings
from sfa.evaluate.protocols.base import Protocol, draw_once
from sfa.evaluate.scores import Score
from sfa.evaluate.splits import Split, Splits
from sfa.matrices import unit_rows
from sfa.tasks import Task, item_word, num_items, task_of

DIRECTIONS = (1, 4, 16, 64, 256)


@dataclass(frozen=True, kw_only=True)
class Classification(Protocol):
    """Accuracy of a probe on the test part of each split.

    Of images of more than 5 classes, also how often the right one is among the 5 likeliest (``top-5``), where the probe
    ranks them.

    Attributes:
        splits: The source of the splits.
        probe: The classifier, and what it selects on which part.
    """

    splits: Splits
    probe: Probe

    @property
    def needs(self) -> Literal["labels", "masks"]:  # type: ignore[override]
        return "masks" if isinstance(self.splits, PublicSplits) else "labels"

    @property
    def tasks(self) -> tuple[Task, ...]:  # type: ignore[override]
        return self.splits.tasks

    def draw(self, data: Data) -> list[Split]:
        """Return the splits of these data."""
        self.check_task(data)
        return draw_once(self, data, data.y, lambda: self.splits.of(data, self.repeats))

    def check(self, data: Data) -> None:
        self.probe.check(self.draw(data), labels_of(data), item_word(data))

    def count(self, data: Data) -> int:
        return len(self.draw(data))

    def parts(self, data: Data) -> Iterable[NDArray[np.int64]]:
        return (part for split in self.draw(data) for part in (split.train, split.validation, split.test))

    def measure(self, embedding: Any, data: Data, on_split: Callable[[], None]) -> Score:
        self.check(data)
        splits, y = self.draw(data), labels_of(data)
        z = self.rows(embedding(data) if callable(embedding) else embedding, len(y), item_word(data))
        found = list(self.probe.predict(z, y, splits, on_split))
        labels = [y[split.test] for split in splits]
        values = {"accuracy": tuple(float(accuracy(f.test, own)) for f, own in zip(found, labels, strict=True))}
        ranked = [f.ranked for f in found if f.ranked is not None]
        if task_of(data) == "image" and len(ranked) == len(splits) and len(np.unique(y[y >= 0])) > RANKS:
            hits = ((best == own[:, None]).any(1) for best, own in zip(ranked, labels, strict=True))
            values[f"top-{RANKS}"] = tuple(100 * float(hit.mean()) for hit in hits)
        chosen, validation = tuple(f.chosen for f in found), tuple(f.validation for f in found)
        return Score("", self.name, values, chosen, {"accuracy": validation})

    def rows(self, z: Any, count: int, items: str) -> Any:
        """Return an embedding in the form that the probe takes."""
        if self.probe.unit_rows:
            return unit_rows(dense_rows(z, count, items))
        return (sparse_rows if self.probe.takes_sparse and is_sparse(z) else dense_rows)(z, count, items)


@dataclass(frozen=True)
class UnsupervisedProtocol(Protocol):
    """A protocol that scores the embeddings of all items with a label at once, without a classifier."""

    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")

    def check(self, data: Data) -> None:
        labeled_items(labels_of(data))

    def parts(self, data: Data) -> Iterable[NDArray[np.int64]]:
        return [labeled_items(labels_of(data))]

    def measure(self, embedding: Any, data: Data, on_split: Callable[[], None]) -> Score:
        y = labels_of(data)
        items = labeled_items(y)
        z = dense_rows(embedding(data) if callable(embedding) else embedding, num_items(data), item_word(data))
        return Score("", self.name, self.metrics(z[torch.from_numpy(items)], y[items], on_split))

    @abstractmethod
    def metrics(self, z: Tensor, y: NDArray[np.int64], on_split: Callable[[], None]) -> dict[str, tuple[float, ...]]:
        """Compute each metric in per cent, once for every run, from embeddings ``(n, d)`` and labels ``(n,)``."""


@dataclass(frozen=True)
class Clustering(UnsupervisedProtocol):
    """k-means with as many clusters as there are classes, ``repeats`` times from other starts; none is preferred.

    Of the labels the clustering sees how many there are and which items have one, nothing else. The solver is part of
    the digest, as another k-means starts elsewhere.
    """

    unit_rows: bool = True
    seed: int = 0
    solver: Literal["scikit-learn"] = "scikit-learn"

    def metrics(self, z: Tensor, y: NDArray[np.int64], on_split: Callable[[], None]) -> dict[str, tuple[float, ...]]:
        found = []
        for clusters in self.clusters(z, len(np.unique(y))):
            metrics = (normalized_mutual_info_score, adjusted_rand_score, assignment_accuracy)
            found.append([100 * float(metric(y, clusters)) for metric in metrics])
            on_split()
        return dict(zip(("nmi", "ari", "accuracy"), zip(*found, strict=True), strict=True))

    def clusters(self, z: Tensor, count: int) -> Iterator[NDArray[np.int64]]:
        """Yield the cluster of each row ``(n,)``, run by run."""
        rows, starts = (unit_rows(z) if self.unit_rows else z).numpy(), np.random.RandomState(self.seed)
        for _ in range(self.repeats):
            with ignore_warnings(), threadpool_limits(1):  # the sums of several threads differ in their last digits
                yield KMeans(count, n_init=1, random_state=starts).fit_predict(rows)


def assignment_accuracy(classes: NDArray[np.int64], clusters: NDArray[np.int64]) -> float:
    """Return the share of points in the right cluster, by the best assignment of clusters to classes."""
    counts = contingency_matrix(classes, clusters)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


@dataclass(frozen=True)
class LabelSignal(UnsupervisedProtocol):
    """The signal (:func:`sfa.evaluate.label_signal`) of the first 1, 4, 16 … directions together.

    It looks at all labels and holds none back: a diagnosis of what an embedding is made of, not a score to choose by.
    """

    repeats: int = 1

    def metrics(self, z: Tensor, y: NDArray[np.int64], on_split: Callable[[], None]) -> dict[str, tuple[float, ...]]:
        so_far = label_signal(unit_rows(z), y).cumsum(0)
        on_split()
        return {f"first {count}": (100 * float(so_far[min(count, len(so_far)) - 1]),) for count in DIRECTIONS}
