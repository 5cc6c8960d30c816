"""The labels that an embedding is scored against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.levels import Level, item_word, level_of, num_items

NOT_LABELLED: dict[Level, tuple[str, str]] = {
    "node": ("graph", "`y`"),
    "graph": ("graph set", "`y`, or in labels.csv (--labels)"),
    "image": ("image set", "`y`, by a folder for each class, or in labels.csv (--labels)"),
}
"""What has no labels, and where they would go."""


def labels_of(graph: Data) -> NDArray[np.int64]:
    """The label of every node, or of every graph or image of a set, ``(n,)``, where ``-1`` means unknown."""
    if getattr(graph, "y", None) is None:
        what, how = NOT_LABELLED[level_of(graph)]
        raise InputError(f"Evaluation needs labels, and this {what} has none: give them as {how} (see the user guide).")
    y, count = np.asarray(graph.y, dtype=np.int64), num_items(graph)
    if y.shape != (count,):
        raise InputError(f"{count} {item_word(graph)} need as many labels in one row, not some of shape {y.shape}.")
    return y


def labelled(graph: Data) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Numbers of the nodes, graphs or images with a label, and their labels; raises unless there are two classes."""
    y = labels_of(graph)
    items = np.flatnonzero(y >= 0)
    classes = np.unique(y[items])
    if len(classes) < 2:
        raise InputError(f"Labels of at least 2 classes are needed to evaluate; there are {len(classes)}.")
    return items, y[items]


def class_name(label: int, names: Sequence[str] | None) -> str:
    """What a class is called in a sentence: its name in quotes, where it has one, or else its number."""
    return str(label) if names is None else repr(names[label])
