"""The splits that come with a data set, as masks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.labels import labels_of
from sfa.evaluate.splits import Split, Splits
from sfa.levels import Level

MASKS = ("train_mask", "val_mask", "test_mask")


@dataclass(frozen=True)
class PublicSplits(Splits):
    """``train_mask``, ``val_mask`` and ``test_mask`` of the graph, each ``(n,)`` or with a column a split ``(n, s)``.

    Planetoid's and ogbn's sets have one split; WikiCS has 20, with one test part for all. Nodes without a label are
    left out.
    """

    levels: ClassVar[tuple[Level, ...]] = ("node",)

    def of(self, graph: Data, count: int) -> list[Split]:
        y = labels_of(graph)
        masks = [_mask(graph, name, len(y)) for name in MASKS]
        columns = max(mask.shape[1] for mask in masks)
        if any(mask.shape[1] not in (1, columns) for mask in masks):
            shapes = ", ".join(f"{name} {mask.shape[1]}" for name, mask in zip(MASKS, masks, strict=True))
            raise InputError(f"The masks are not of the same splits: {shapes} columns.")
        masks = [np.broadcast_to(mask, (len(y), columns)) & (y >= 0)[:, None] for mask in masks]
        splits = [Split(*(np.flatnonzero(mask[:, i]) for mask in masks)) for i in range(columns)][:count]
        classes = np.unique(y[y >= 0])
        for number, split in enumerate(splits):
            _check(split, y, classes, number)
        return splits


def _mask(graph: Data, name: str, nodes: int) -> NDArray[np.bool_]:
    """``(n, columns)``."""
    mask = getattr(graph, name, None)
    if mask is None:
        raise InputError(
            f"There is no public split here: the graph has no `{name}` "
            f"({', '.join(MASKS)} are needed; `sfa list datasets` shows the sets that come with one)."
        )
    values = np.asarray(mask)
    if values.dtype != np.bool_ or values.ndim not in (1, 2) or len(values) != nodes:
        raise InputError(
            f"`{name}` is a mask of {nodes} booleans, or one a split ({nodes}, splits), "
            f"not {values.dtype} of shape {values.shape}."
        )
    return values.reshape(nodes, -1)


def _check(split: Split, y: NDArray[np.int64], classes: NDArray[np.int64], number: int) -> None:
    parts = {"train_mask": split.train, "val_mask": split.validation, "test_mask": split.test}
    for name, nodes in parts.items():
        if len(nodes) == 0:
            raise InputError(f"`{name}` of public split {number} has no labelled node.")
    if len(np.unique(np.concatenate(list(parts.values())))) < sum(map(len, parts.values())):
        raise InputError(f"The masks of public split {number} overlap: a node is in more than one part.")
    missing = np.setdiff1d(classes, y[split.train])
    if len(missing) > 0:
        raise InputError(f"The training part of public split {number} has no node of class {missing[0]}.")
