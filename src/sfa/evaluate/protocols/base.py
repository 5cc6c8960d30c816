"""Protocols: their base class, classification, clustering and label signal, and which of them the data allow."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeVar
from weakref import ref

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, r2_score, root_mean_squared_error
from sklearn.metrics.cluster import contingency_matrix
from threadpoolctl import threadpool_limits
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.diagnostics import label_signal
from sfa.evaluate.inputs import (
    MANY,
    Labels,
    dense_rows,
    is_sparse,
    labeled_items,
    labels_of,
    sparse_rows,
    streamed_rows,
    targets_of,
)
from sfa.evaluate.kmeans import cluster_by_batches
from sfa.evaluate.probes.base import RANKS, Prediction, Probe, accuracy, ignore_warnings
from sfa.evaluate.scores import Score
from sfa.evaluate.splits import Split, Splits
from sfa.graph.structure import WeakTensorCache
from sfa.matrices import unit_rows
from sfa.registry import registered
from sfa.tasks import DATA, ITEMS, Task, item_word, num_items, task_of

Embedder = Callable[[Data], Tensor]  # from a graph, a graph set or an image set to its embeddings (n, d)
BY_NAME = {  # protocols that are not meant by "all", and why
    "honest-10-10-80-sklearn": "It gives the scores of honest-10-10-80: ask for it by name.",
    "minibatch-10-10-80": "It gives about the scores of honest-10-10-80, of large graphs: ask for it by name.",
    "label-signal": "It is a diagnosis and no score: ask for it by name.",
}
DEFAULTS: dict[Task, str] = {"node": "honest-10-10-80", "graph": "tu-svm-10fold", "image": "image-linear"}
REGRESSION = "ridge-60-20-20"  # the default for targets
DIRECTIONS = (1, 4, 16, 64, 256)  # of the label signal
Values = dict[str, tuple[float, ...]]  # of each metric, by split or run
P = TypeVar("P", bound="Protocol")
S = TypeVar("S")


@dataclass(frozen=True)
class Protocol(ABC):
    """A way to score embeddings, settled before they are seen: same data, same splits, same selection for all."""

    name: str
    description: str  # one line: splits, classifier, what is selected on what
    repeats: int = 20  # splits or runs; of splits that come with the data at most so many
    needs: ClassVar[Literal["labels", "edges"]] = "labels"  # what the data must have
    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph")  # what it scores

    @abstractmethod
    def check(self, data: Data) -> None:
        """Raise, before any long work, if these data do not allow it."""

    def check_task(self, data: Data) -> None:
        """Raise if it does not score nodes, graphs or images, where these data are such."""
        if task_of(data) not in self.tasks:
            scored = " or ".join(ITEMS[own] for own in self.tasks)
            what = getattr(data, "name", None) or "this"
            raise InputError(f"{self.name} scores {scored}, and {what} is {DATA[task_of(data)]}.")

    def evaluate(
        self, embedding: Any, data: Data, *, name: str = "embedding", on_split: Callable[[], None] | None = None
    ) -> Score:
        """Score an embedding ``(n, d)``, dense or sparse, or an :data:`Embedder`, which gets the data that may be seen.

        Labels of ``-1`` are unknown and left out. ``on_split`` is called after each split or run.
        """
        score = self.measure(embedding, data, on_split or (lambda: None))
        return replace(score, name=name, splits=self.digest(data))

    @abstractmethod
    def measure(self, embedding: Any, data: Data, on_split: Callable[[], None]) -> Score:
        """Score an embedding as :meth:`evaluate` does, which adds name and digest."""

    def with_splits(self: P, count: int) -> P:
        """Return the same with another number of repeats: a quick look, not the protocol."""
        return replace(self, repeats=count)

    def count(self, data: Data) -> int:
        """Return how many splits or runs these data get."""
        return self.repeats

    @abstractmethod
    def parts(self, data: Data) -> Iterable[Labels]:
        """Return the numbers of the nodes, graphs, images or edges of every part of every split, in order."""

    def digest(self, data: Data) -> str:
        """Compute the SHA-256 of all settings and splits; scores of the same data can be paired if theirs is equal."""
        settings = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "description"}
        text = repr(settings).replace("KNNProbe(", "NeighbourProbe(")  # as it is called in stored digests
        sha = hashlib.sha256(text.encode())
        for part in self.parts(data):
            sha.update(f";{len(part)}:".encode())
            sha.update(np.ascontiguousarray(part, dtype=np.int64).data)
        return sha.hexdigest()


_DRAWN: WeakTensorCache[dict[str, Any]] = WeakTensorCache()  # splits of each protocol, by the labels or edges


def draw_once(protocol: Protocol, data: Data, key: Any, draw: Callable[[], S]) -> S:
    """Return the splits that ``draw`` makes; the same while ``key`` lives and no tensor of the data changes."""
    tensors = [value for value in data.to_dict().values() if isinstance(value, Tensor)]
    if not isinstance(key, Tensor) or any(value.is_inference() for value in tensors):  # they count no changes
        return draw()
    known, now = _DRAWN.get(key, dict), [(id(value), value._version) for value in tensors]
    drawn = known.get(protocol.name)
    if drawn is None or drawn[0] != protocol or [(id(tensor()), version) for tensor, version in drawn[1]] != now:
        drawn = known[protocol.name] = protocol, [(ref(value), value._version) for value in tensors], draw()
    splits: S = drawn[2]
    return splits


@dataclass(frozen=True, kw_only=True)
class ProbeProtocol(Protocol):
    """A protocol of splits, on whose test part a probe is scored."""

    splits: Splits
    probe: Probe

    @property
    def tasks(self) -> tuple[Task, ...]:  # type: ignore[override]
        return self.splits.tasks

    def labels(self, data: Data) -> NDArray[Any]:
        """Return what it predicts of every item."""
        return labels_of(data)

    def draw(self, data: Data) -> list[Split]:
        self.check_task(data)
        return draw_once(self, data, data.y, lambda: self.splits.of(data, self.repeats))

    def check(self, data: Data) -> None:
        self.probe.check(self.draw(data), self.labels(data), item_word(data))

    def count(self, data: Data) -> int:
        return len(self.draw(data))

    def parts(self, data: Data) -> Iterable[Labels]:
        return (part for split in self.draw(data) for part in (split.train, split.validation, split.test))

    def measure(self, embedding: Any, data: Data, on_split: Callable[[], None]) -> Score:
        self.check(data)
        splits, y = self.draw(data), self.labels(data)
        z = self.rows(embedding(data) if callable(embedding) else embedding, len(y), item_word(data))
        found = list(self.probe.predict(z, y, splits, on_split))
        values = self.metrics([(one, y[split.test]) for one, split in zip(found, splits, strict=True)], data)
        chosen, validation = tuple(one.chosen for one in found), tuple(one.validation for one in found)
        return Score("", self.name, values, chosen, {next(iter(values)): validation})

    @abstractmethod
    def metrics(self, pairs: Sequence[tuple[Prediction, NDArray[Any]]], data: Data) -> dict[str, tuple[float, ...]]:
        """Compute each metric on every split, from predictions of the test part and its labels."""

    def rows(self, z: Any, count: int, items: str) -> Any:
        """Return an embedding in the form that the probe takes."""
        if self.probe.streams:
            return streamed_rows(z, count, items)
        if self.probe.unit_rows:
            return unit_rows(dense_rows(z, count, items))
        return (sparse_rows if self.probe.takes_sparse and is_sparse(z) else dense_rows)(z, count, items)


@dataclass(frozen=True, kw_only=True)
class Classification(ProbeProtocol):
    """Accuracy of a probe on the test part of each split.

    Of images of more than 5 classes, also how often the right one is among the 5 likeliest (``top-5``), if it ranks.
    """

    def metrics(self, pairs: Sequence[tuple[Prediction, Labels]], data: Data) -> dict[str, tuple[float, ...]]:
        y, values = labels_of(data), {"accuracy": tuple(float(accuracy(one.test, labels)) for one, labels in pairs)}
        ranked = [(one.ranked, labels) for one, labels in pairs if one.ranked is not None]
        if task_of(data) == "image" and len(ranked) == len(pairs) and len(np.unique(y[y >= 0])) > RANKS:
            hits = ((best == labels[:, None]).any(1) for best, labels in ranked)
            values[f"top-{RANKS}"] = tuple(100 * float(hit.mean()) for hit in hits)
        return values


@dataclass(frozen=True, kw_only=True)
class Regression(ProbeProtocol):
    """``r2``, the share of the variance that a probe explains on the test part of each split, and ``rmse``, its error.

    Labels that are whole numbers are taken as numbers too.
    """

    def labels(self, data: Data) -> NDArray[Any]:
        return targets_of(data)

    def metrics(self, pairs: Sequence[tuple[Prediction, NDArray[Any]]], data: Data) -> dict[str, tuple[float, ...]]:
        errors = {"r2": r2_score, "rmse": root_mean_squared_error}
        return {name: tuple(float(error(y, one.test)) for one, y in pairs) for name, error in errors.items()}


@dataclass(frozen=True)
class UnsupervisedProtocol(Protocol):
    """A protocol that scores the embeddings of all items with a label at once, without a classifier."""

    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")
    streams: ClassVar[bool] = False  # whether many embeddings are passed as they are, to be read by rows

    def check(self, data: Data) -> None:
        labeled_items(labels_of(data))

    def parts(self, data: Data) -> Iterable[Labels]:
        return [labeled_items(labels_of(data))]

    def measure(self, embedding: Any, data: Data, on_split: Callable[[], None]) -> Score:
        y = labels_of(data)
        items = labeled_items(y)
        read = streamed_rows if self.streams and len(items) > MANY else dense_rows
        z = read(embedding(data) if callable(embedding) else embedding, num_items(data), item_word(data))
        return Score("", self.name, self.metrics(z, items, y[items], on_split))

    @abstractmethod
    def metrics(self, z: Tensor, items: Labels, y: Labels, on_split: Callable[[], None]) -> Values:
        """Compute each metric in per cent, once for every run, from embeddings of all and the labels of ``items``."""


@dataclass(frozen=True)
class Clustering(UnsupervisedProtocol):
    """k-means with as many clusters as there are classes, ``repeats`` times from other starts; none is preferred.

    Of the labels it sees only how many there are and which items have one. Of many items it is
    :func:`~sfa.evaluate.kmeans.cluster_by_batches`.
    """

    unit_rows: bool = True
    seed: int = 0
    solver: Literal["scikit-learn"] = "scikit-learn"  # is part of the digest
    streams: ClassVar[bool] = True

    def metrics(self, z: Tensor, items: Labels, y: Labels, on_split: Callable[[], None]) -> Values:
        k, random = len(np.unique(y)), np.random.RandomState(self.seed)
        if len(items) > MANY:
            run = partial(cluster_by_batches, z, items, k, starts=1, random=random, unit=self.unit_rows)
        else:
            z = z[torch.from_numpy(items)]
            rows = (unit_rows(z) if self.unit_rows else z).numpy()
            run = partial(KMeans(k, n_init=1, random_state=random).fit_predict, rows)
        metrics = {"nmi": normalized_mutual_info_score, "ari": adjusted_rand_score, "accuracy": assignment_accuracy}
        found = []
        for _ in range(self.repeats):
            with ignore_warnings(), threadpool_limits(1):  # the sums of several threads differ in their last digits
                clusters = run()
            found.append([100 * float(metric(y, clusters)) for metric in metrics.values()])
            on_split()
        return dict(zip(metrics, zip(*found, strict=True), strict=True))


def assignment_accuracy(classes: Labels, clusters: Labels) -> float:
    """Return the share of points in the right cluster, by the best assignment of clusters to classes."""
    counts = contingency_matrix(classes, clusters)
    rows, columns = linear_sum_assignment(counts, maximize=True)
    return float(counts[rows, columns].sum() / counts.sum())


@dataclass(frozen=True)
class LabelSignal(UnsupervisedProtocol):
    """The :func:`sfa.evaluate.label_signal` of the first 1, 4, 16 … directions together: a diagnosis by all labels."""

    repeats: int = 1

    def metrics(self, z: Tensor, items: Labels, y: Labels, on_split: Callable[[], None]) -> Values:
        so_far = label_signal(unit_rows(z[torch.from_numpy(items)]), y).cumsum(0)
        on_split()
        return {f"first {count}": (100 * float(so_far[min(count, len(so_far)) - 1]),) for count in DIRECTIONS}


def default_protocol(task: Task) -> str:
    """Return the name of the protocol for nodes, for whole graphs or for images, where none is named."""
    return DEFAULTS[task]


def possible(data: Data) -> tuple[list[Protocol], dict[str, str]]:
    """Return the protocols that these data allow, and why not for each of the others."""
    allowed, refused = [], {}
    for name, protocol in registered("protocol").items():
        try:
            if name in BY_NAME:
                raise InputError(BY_NAME[name])
            protocol.check(data)
            if isinstance(protocol, Regression) and not torch.as_tensor(data.y).is_floating_point():
                raise InputError("The labels are whole numbers, which count as classes: ask for it by name.")
            allowed.append(protocol)
        except InputError as error:
            refused[name] = str(error)
    return allowed, refused
