"""Clustering of nodes, of graphs or of images: k-means on the embeddings, compared with the classes afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.evaluate.agreement import adjusted_rand_index, assignment_accuracy, contingency, normalised_mutual_information
from sfa.evaluate.inputs import dense_rows, labelled
from sfa.evaluate.k_means import k_means
from sfa.evaluate.label_signal import label_signal
from sfa.evaluate.protocols.base import Protocol, no_news
from sfa.evaluate.scores import Score
from sfa.levels import Level, item_word, num_items
from sfa.matrices import unit_rows

METRICS = {"nmi": normalised_mutual_information, "ari": adjusted_rand_index, "accuracy": assignment_accuracy}


@dataclass(frozen=True)
class Clustering(Protocol):
    """As many clusters as there are classes, found ``repeats`` times from other starts; none is preferred.

    Of the labels the clustering sees how many there are and which items have one, nothing else.

    Attributes:
        unit_rows: Whether embeddings are brought to rows of length one first.
        seed: Of the starts.
    """

    unit_rows: bool = True
    seed: int = 0
    levels: ClassVar[tuple[Level, ...]] = ("node", "graph", "image")

    def check(self, graph: Data) -> None:
        labelled(graph)

    def parts(self, graph: Data) -> Iterable[NDArray[np.int64]]:
        return [labelled(graph)[0]]

    def evaluate(
        self,
        embedding: Any,
        graph: Data,
        *,
        name: str = "embedding",
        on_split: Callable[[], None] | None = None,
    ) -> Score:
        items, y = labelled(graph)
        z = dense_rows(embedding(graph) if callable(embedding) else embedding, num_items(graph), item_word(graph))
        clusters = self.clusters(z[torch.from_numpy(items)], len(np.unique(y)))
        values: dict[str, list[float]] = {metric: [] for metric in METRICS}
        for run in clusters:
            counts = contingency(run, y)
            for metric, measure in METRICS.items():
                values[metric].append(100 * measure(counts))
            (on_split or no_news)()
        measured = {metric: tuple(found) for metric, found in values.items()}
        return Score(name, self.name, measured, splits=self.digest(graph))

    def clusters(self, z: torch.Tensor, count: int) -> NDArray[np.int64]:
        """The cluster of each row in each run, ``(repeats, n)``."""
        generator = torch.Generator().manual_seed(self.seed)
        found = k_means(unit_rows(z) if self.unit_rows else z, count, runs=self.repeats, generator=generator)
        labels: NDArray[np.int64] = found.labels.numpy()
        return labels


DIRECTIONS = (1, 4, 16, 64, 256)


@dataclass(frozen=True)
class LabelSignal(Protocol):
    """The signal (:func:`sfa.evaluate.label_signal.label_signal`) of the first 1, 4, 16 … directions together.

    It looks at all labels and holds none back: a diagnosis of what an embedding is made of, not a score to choose by.
    """

    repeats: int = 1
    levels: ClassVar[tuple[Level, ...]] = ("node", "graph", "image")

    def check(self, graph: Data) -> None:
        labelled(graph)

    def parts(self, graph: Data) -> Iterable[NDArray[np.int64]]:
        return [labelled(graph)[0]]

    def evaluate(
        self,
        embedding: Any,
        graph: Data,
        *,
        name: str = "embedding",
        on_split: Callable[[], None] | None = None,
    ) -> Score:
        items, y = labelled(graph)
        z = dense_rows(embedding(graph) if callable(embedding) else embedding, num_items(graph), item_word(graph))
        so_far = label_signal(unit_rows(z)[torch.from_numpy(items)], y).cumsum(0)
        (on_split or no_news)()
        first = {f"first {count}": (100 * float(so_far[min(count, len(so_far)) - 1]),) for count in DIRECTIONS}
        return Score(name, self.name, first, splits=self.digest(graph))
