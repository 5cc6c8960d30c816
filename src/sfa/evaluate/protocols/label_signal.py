"""How many of an embedding's strongest directions it takes to tell its classes apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.evaluate.label_signal import label_signal
from sfa.evaluate.labels import labelled
from sfa.evaluate.protocols.base import Protocol, no_news
from sfa.evaluate.rows import dense_rows
from sfa.evaluate.scores import Score
from sfa.levels import Level, item_word, num_items
from sfa.matrices import unit_rows

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
