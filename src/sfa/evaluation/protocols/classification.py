"""Classification of nodes, or of graphs: a probe on frozen embeddings, split by split."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.evaluation.labels import labels_of
from sfa.evaluation.probes import Probe
from sfa.evaluation.probes.base import accuracy
from sfa.evaluation.protocols.base import Protocol, no_news
from sfa.evaluation.public_splits import PublicSplits
from sfa.evaluation.rows import dense_rows, is_sparse, sparse_rows, unit_rows
from sfa.evaluation.scores import Score
from sfa.evaluation.splits import Split, Splits
from sfa.levels import Level, item_word


@dataclass(frozen=True, kw_only=True)
class Classification(Protocol):
    """Accuracy of a probe on the test part of each split.

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
    def levels(self) -> tuple[Level, ...]:  # type: ignore[override]
        return self.splits.levels

    def draw(self, graph: Data) -> list[Split]:
        """The splits of these data."""
        self.check_level(graph)
        return self.splits.of(graph, self.repeats)

    def check(self, graph: Data) -> None:
        self.probe.check(self.draw(graph), labels_of(graph), item_word(graph))

    def count(self, graph: Data) -> int:
        return len(self.draw(graph))

    def parts(self, graph: Data) -> Iterable[NDArray[np.int64]]:
        return (part for split in self.draw(graph) for part in (split.train, split.validation, split.test))

    def evaluate(
        self,
        embedding: Any,
        graph: Data,
        *,
        name: str = "embedding",
        on_split: Callable[[], None] | None = None,
    ) -> Score:
        splits, y = self.draw(graph), labels_of(graph)
        self.probe.check(splits, y, item_word(graph))
        z = self.rows(embedding(graph) if callable(embedding) else embedding, len(y), item_word(graph))
        predictions = list(self.probe.predict(z, y, splits, on_split or no_news))
        test = [float(accuracy(found.test, y[split.test])) for found, split in zip(predictions, splits, strict=True)]
        return Score(
            name,
            self.name,
            {"accuracy": tuple(test)},
            chosen=tuple(found.chosen for found in predictions),
            validation=tuple(found.validation for found in predictions),
            splits=self.digest(graph),
        )

    def rows(self, z: Any, count: int, items: str) -> Any:
        """An embedding in the form that the probe takes."""
        if self.probe.unit_rows:
            return unit_rows(dense_rows(z, count, items))
        keep = self.probe.takes_sparse and is_sparse(z)
        return sparse_rows(z, count, items) if keep else dense_rows(z, count, items)
