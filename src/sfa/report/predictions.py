"""The labels that a protocol's probe gives to all items, from what it learnt on the first split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.evaluate import Classification
from sfa.evaluate.inputs import labels_of
from sfa.evaluate.protocols.base import no_news
from sfa.evaluate.splits import Split
from sfa.levels import item_word

TRAIN, VALIDATION, TEST, NONE = range(4)
"""The part of the split that an item belongs to."""


@dataclass(frozen=True)
class Predictions:
    """What the probe of one split says.

    Attributes:
        labels: That it gives to every item, those it learnt from and those without a label among them, ``(n,)``.
        split: What it learnt from and was chosen by.
    """

    labels: NDArray[np.int64]
    split: Split

    @property
    def part(self) -> NDArray[np.uint8]:
        """Of the split, for every item, ``(n,)``: ``TRAIN``, ``VALIDATION``, ``TEST`` or ``NONE``."""
        part = np.full(len(self.labels), NONE, dtype=np.uint8)
        for number, items in enumerate((self.split.train, self.split.validation, self.split.test)):
            part[items] = number
        return part


def predict(z: torch.Tensor, graph: Data, protocol: Classification) -> Predictions:
    """The protocol's probe on its first split of these data.

    What it learns and selects does not depend on what it is asked afterwards: it is asked for all items, and says of
    the test part what it says when it is scored.
    """
    split, y = protocol.draw(graph)[0], labels_of(graph)
    asked = Split(split.train, split.validation, np.arange(len(y)))
    rows = protocol.rows(z, len(y), item_word(graph))
    (found,) = protocol.probe.predict(rows, y, [asked], no_news)
    return Predictions(found.test, split)


def confusion(y: NDArray[np.int64], predicted: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """How many items of each class (a row) were given each label (a column), ``(classes, classes)``."""
    return np.bincount(y * classes + predicted, minlength=classes**2).reshape(classes, classes)
