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
from sfa.tasks import item_word

TRAIN, VALIDATION, TEST, NONE = range(4)
"""The part of the split that an item belongs to."""


@dataclass(frozen=True)
class Predictions:
    """What the probe of one split says: a label for every item, ``(n,)``, those it learnt from among them."""

    labels: NDArray[np.int64]
    split: Split

    @property
    def part(self) -> NDArray[np.uint8]:
        """The part of the split, for every item, ``(n,)``: ``TRAIN``, ``VALIDATION``, ``TEST`` or ``NONE``."""
        part = np.full(len(self.labels), NONE, dtype=np.uint8)
        for number, items in enumerate((self.split.train, self.split.validation, self.split.test)):
            part[items] = number
        return part


def predict(z: torch.Tensor, data: Data, protocol: Classification) -> Predictions:
    """Predict the labels of all items by the protocol's probe on its first split of these data.

    What it learns and selects does not depend on what it is asked afterwards: it says of the test part what it says
    when it is scored.
    """
    split, y = protocol.draw(data)[0], labels_of(data)
    asked = Split(split.train, split.validation, np.arange(len(y)))
    rows = protocol.rows(z, len(y), item_word(data))
    (found,) = protocol.probe.predict(rows, y, [asked], no_news)
    return Predictions(found.test, split)
