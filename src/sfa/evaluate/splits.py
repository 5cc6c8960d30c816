"""Train, validation and test parts of the labeled nodes, graphs or images, drawn at random."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import Labels, labeled_items, labels_of, names_of
from sfa.ranges import check_whole
from sfa.tasks import Task


@dataclass(frozen=True)
class Split:
    """Numbers of the nodes, graphs or images of the three parts; the validation part may be empty."""

    train: Labels
    validation: Labels
    test: Labels


class Splits(ABC):
    """A source of splits of a graph, or of a set of graphs or images.

    Split ``i`` depends on the data's labels and masks, on the settings and on ``i`` alone: all embeddings get the same.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph")  # whose data it can split

    @abstractmethod
    def of(self, data: Data, count: int) -> list[Split]:
        """Return at most ``count`` splits; raise if these data do not allow any."""


@dataclass(frozen=True)
class RandomSplits(Splits):
    """Uniformly random splits with these shares of the labeled items; the rest is the test part."""

    train: float
    validation: float

    def of(self, data: Data, count: int) -> list[Split]:
        y, names = labels_of(data), names_of(data)
        return random_splits(y, train=self.train, validation=self.validation, count=count, **names)


def random_splits(
    y: Labels, *, train: float, validation: float, count: int, seed: int = 0, items: str = "nodes", **names: Any
) -> list[Split]:
    """Draw random splits of the items with a label (``y ≥ 0``); a training part that lacks a class is drawn again."""
    needed, parts = (3, "training, validation and test") if validation > 0 else (2, "training and test")
    why = f"a split needs at least {needed}, one for each of {parts}"
    known = labeled_items(y, needed, why, items=items, **names)
    n, classes = len(known), len(np.unique(y[known]))
    sizes = round(train * n), round(validation * n)
    if sizes[0] < classes or (validation > 0 and sizes[1] < 1) or sum(sizes) >= n:
        raise InputError(f"{n} labeled {items} give a training part of {sizes[0]}, too few for {classes} classes.")

    def draw(rng: np.random.Generator) -> Split:
        for _ in range(1000):
            split = Split(*np.split(rng.permutation(known), np.cumsum(sizes)))
            if len(np.unique(y[split.train])) == classes:
                return split
        raise InputError(
            f"No random training part of {sizes[0]} {items} has all {classes} classes: a class is too rare."
        )

    return [draw(np.random.default_rng([seed, i])) for i in range(count)]


@dataclass(frozen=True)
class FewPerClass(Splits):
    """The same number of items of every class, however common it is, to train on and to validate on."""

    train: int = 5
    validation: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        check_whole("train", self.train, 1)
        check_whole("validation", self.validation, 1)

    def of(self, data: Data, count: int) -> list[Split]:
        y, needed = labels_of(data), self.train + self.validation + 1
        parts = f"{self.train} to train on, {self.validation} to validate on and 1 to test"
        known = labeled_items(y, needed, f"a split needs at least {needed} of every class, {parts}", **names_of(data))
        generators = (np.random.default_rng([self.seed, i]) for i in range(count))
        return [Split(*class_parts(y, known, lambda _: (self.train, self.validation), rng)) for rng in generators]


@dataclass(frozen=True)
class StratifiedFolds(Splits):
    """Fold ``i`` is the test part of split ``i``, all others are its training part; there is no validation part."""

    folds: int = 10
    seed: int = 0
    tasks: ClassVar[tuple[Task, ...]] = ("graph",)

    def __post_init__(self) -> None:
        check_whole("folds", self.folds, 2)

    def of(self, data: Data, count: int) -> list[Split]:
        folds = stratified_folds(labels_of(data), folds=self.folds, seed=self.seed, **names_of(data))
        others = (np.sort(np.concatenate(folds[:i] + folds[i + 1 :])) for i in range(min(count, self.folds)))
        return [Split(train, np.empty(0, np.int64), test) for train, test in zip(others, folds, strict=False)]


def stratified_folds(y: Labels, *, folds: int = 10, seed: int = 0, **names: Any) -> list[Labels]:
    """Return the numbers of the items with a label (``y ≥ 0``) in each fold, ascending.

    The shuffled items are put in order of their classes and dealt out in turn: of any class, and in all, no fold has
    two items more than another. (The folds of scikit-learn's ``StratifiedKFold`` are others.)
    """
    known = labeled_items(y, folds, f"{folds} folds need at least {folds} of each class", **names)
    shuffled = np.random.default_rng(seed).permutation(known)
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    return [np.sort(by_class[fold::folds]) for fold in range(folds)]


def class_parts(
    y: Labels, items: Labels, sizes: Callable[[int], Sequence[int]], rng: np.random.Generator
) -> list[Labels]:
    """Deal items into random ascending parts, class by class, by the sizes for so many members, and the rest."""
    shuffled = rng.permutation(items)
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    members = np.unique(y[items], return_counts=True)[1]
    pieces = [np.split(own, np.cumsum(sizes(len(own)))) for own in np.split(by_class, members.cumsum()[:-1])]
    return [np.sort(np.concatenate(part)) for part in zip(*pieces, strict=True)]
