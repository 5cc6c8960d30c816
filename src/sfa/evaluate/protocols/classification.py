"""Classification of nodes, of graphs or of images: a probe on frozen embeddings, split by split."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.evaluate.inputs import dense_rows, is_sparse, labels_of, sparse_rows
from sfa.evaluate.masked_splits import PublicSplits
from sfa.evaluate.probes import Prediction, Probe
from sfa.evaluate.probes.base import RANKS, accuracy, top_accuracy
from sfa.evaluate.protocols.base import Protocol, draw_once
from sfa.evaluate.scores import Score
from sfa.evaluate.splits import Split, Splits
from sfa.matrices import unit_rows
from sfa.tasks import Task, item_word, task_of


@dataclass(frozen=True, kw_only=True)
class Classification(Protocol):
    """Accuracy of a probe on the test part of each split.

    Of images of more than 5 classes, also how often the right one is among the 5 likeliest (``top-5``), where the probe
    ranks them.

    Attributes:
        splits: Where they come from.
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

    def draw(self, graph: Data) -> list[Split]:
        """Return the splits of these data."""
        self.check_task(graph)
        return draw_once(self, graph, graph.y, lambda: self.splits.of(graph, self.repeats))

    def check(self, graph: Data) -> None:
        self.probe.check(self.draw(graph), labels_of(graph), item_word(graph))

    def count(self, graph: Data) -> int:
        return len(self.draw(graph))

    def parts(self, graph: Data) -> Iterable[NDArray[np.int64]]:
        return (part for split in self.draw(graph) for part in (split.train, split.validation, split.test))

    def measure(self, embedding: Any, graph: Data, on_split: Callable[[], None]) -> Score:
        self.check(graph)
        splits, y = self.draw(graph), labels_of(graph)
        z = self.rows(embedding(graph) if callable(embedding) else embedding, len(y), item_word(graph))
        predictions = list(self.probe.predict(z, y, splits, on_split))
        labels = [y[split.test] for split in splits]
        test = [float(accuracy(found.test, own)) for found, own in zip(predictions, labels, strict=True)]
        top = _top_accuracies(predictions, labels, y) if task_of(graph) == "image" else {}
        return Score(
            "",
            self.name,
            {"accuracy": tuple(test), **top},
            chosen=tuple(found.chosen for found in predictions),
            validation={"accuracy": tuple(found.validation for found in predictions)},
        )

    def rows(self, z: Any, count: int, items: str) -> Any:
        """Return an embedding in the form that the probe takes."""
        if self.probe.unit_rows:
            return unit_rows(dense_rows(z, count, items))
        keep = self.probe.takes_sparse and is_sparse(z)
        return sparse_rows(z, count, items) if keep else dense_rows(z, count, items)


def _top_accuracies(
    predictions: Sequence[Prediction], labels: Sequence[NDArray[np.int64]], y: NDArray[np.int64]
) -> dict[str, tuple[float, ...]]:
    """Return the accuracy of the 5 likeliest labels, if that is not all of them and the probe ranks them."""
    ranked = [found.ranked for found in predictions if found.ranked is not None]
    if len(ranked) < len(labels) or len(np.unique(y[y >= 0])) <= RANKS:
        return {}
    return {f"top-{RANKS}": tuple(top_accuracy(best, own) for best, own in zip(ranked, labels, strict=True))}
