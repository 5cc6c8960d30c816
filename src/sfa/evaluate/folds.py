"""Stratified folds: every labelled graph is tested once, and each fold has all classes in their shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.labels import class_name, labels_of
from sfa.evaluate.splits import Split, Splits
from sfa.levels import Level, item_word
from sfa.ranges import check_whole


@dataclass(frozen=True)
class StratifiedFolds(Splits):
    """Fold ``i`` is the test part of split ``i``, all others are its training part; there is no validation part.

    Attributes:
        folds: How many parts the labelled items are dealt into.
        seed: Of the shuffling. The folds depend on the labels and on it alone: all embeddings get the same.
    """

    folds: int = 10
    seed: int = 0
    levels: ClassVar[tuple[Level, ...]] = ("graph",)

    def __post_init__(self) -> None:
        check_whole("folds", self.folds, 2)

    def of(self, graph: Data, count: int) -> list[Split]:
        names, items = getattr(graph, "class_names", None), item_word(graph)
        folds = stratified_folds(labels_of(graph), folds=self.folds, seed=self.seed, class_names=names, items=items)
        nothing = np.empty(0, dtype=np.int64)
        return [
            Split(np.sort(np.concatenate([*folds[:i], *folds[i + 1 :]])), nothing, folds[i])
            for i in range(min(count, self.folds))
        ]


def stratified_folds(
    y: NDArray[np.int64],
    *,
    folds: int = 10,
    seed: int = 0,
    class_names: Sequence[str] | None = None,
    items: str = "graphs",
) -> list[NDArray[np.int64]]:
    """Numbers of the items with a label (``y ≥ 0``) in each fold, ascending.

    The shuffled items are put in order of their classes and dealt out in turn, like cards: of any class, and in all, no
    fold has two items more than another.
    """
    labelled = np.flatnonzero(y >= 0)
    classes, members = np.unique(y[labelled], return_counts=True)
    if len(classes) < 2:
        raise InputError(f"Labels of at least 2 classes are needed to evaluate; there are {len(classes)}.")
    if members.min() < folds:
        rarest = class_name(int(classes[members.argmin()]), class_names)
        raise InputError(
            f"Class {rarest} has {members.min()} labelled {items}; {folds} folds need at least {folds} of each class."
        )
    shuffled = np.random.default_rng(seed).permutation(labelled)
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    return [np.sort(by_class[fold::folds]) for fold in range(folds)]
