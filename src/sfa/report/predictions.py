"""Predict the labels of all items by the probe of a protocol."""

from __future__ import annotations

from typing import NamedTuple

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


class Predictions(NamedTuple):
    """The labels ``(n,)`` that a probe predicts, also of items it was trained on, its split, and each item's part."""

    labels: NDArray[np.int64]
    split: Split
    part: NDArray[np.uint8]


def predict(z: torch.Tensor, data: Data, protocol: Classification) -> Predictions:
    """Predict the labels of all items by the protocol's probe, trained on its first split of these data.

    Training and selection do not depend on the items to predict: on the test part it predicts what is scored.
    """
    split, y = protocol.draw(data)[0], labels_of(data)
    rows = protocol.rows(z, len(y), item_word(data))
    everything = Split(split.train, split.validation, np.arange(len(y)))
    (found,) = protocol.probe.predict(rows, y, [everything], no_news)
    part = np.full(len(y), NONE, dtype=np.uint8)
    for number, items in enumerate((split.train, split.validation, split.test)):
        part[items] = number
    return Predictions(found.test, split, part)
