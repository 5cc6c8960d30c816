"""Splits with few labels: as many items of every class to train on, as many to validate on, and all others tested."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.class_parts import class_parts
from sfa.evaluate.labels import class_name, labels_of
from sfa.evaluate.splits import Split, Splits
from sfa.levels import item_word
from sfa.ranges import check_whole


@dataclass(frozen=True)
class FewPerClass(Splits):
    """The same number of every class, however common it is; what is chosen is chosen by few labels too.

    Split ``i`` depends on the labels and on ``(seed, i)`` alone: all embeddings get the same.

    Attributes:
        train: Items of every class to train on.
        validation: Items of every class to validate on.
        seed: Of the drawing.
    """

    train: int = 5
    validation: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("train", self.train, 1)
        check_whole("validation", self.validation, 1)

    def of(self, graph: Data, count: int) -> list[Split]:
        y = labels_of(graph)
        labelled = np.flatnonzero(y >= 0)
        self._check_members(y[labelled], getattr(graph, "class_names", None), item_word(graph))
        generators = (np.random.default_rng([self.seed, i]) for i in range(count))
        sizes = (self.train, self.validation)
        return [Split(*class_parts(y, labelled, lambda members: sizes, rng)) for rng in generators]

    def _check_members(self, y: NDArray[np.int64], names: Sequence[str] | None, items: str) -> None:
        """At least two classes, and of each enough for the first two parts and one to test."""
        classes, members = np.unique(y, return_counts=True)
        if len(classes) < 2:
            raise InputError(f"Labels of at least 2 classes are needed to evaluate; there are {len(classes)}.")
        fewest, needed = int(members.min()), self.train + self.validation + 1
        if fewest < needed:
            rarest = class_name(int(classes[members.argmin()]), names)
            raise InputError(
                f"Class {rarest} has {fewest} labelled {items[:-1] if fewest == 1 else items}; a split needs at least "
                f"{needed} of every class, {self.train} to train on, {self.validation} to validate on and 1 to test."
            )
