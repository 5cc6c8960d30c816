"""Train, validation and test parts of the labelled nodes, graphs or images: where they come from, and random ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import class_name, labels_of
from sfa.levels import Level, item_word
from sfa.ranges import check_whole

MAX_REDRAWS = 1000


@dataclass(frozen=True)
class Split:
    """Numbers of the nodes, graphs or images of the three parts; the validation part may be empty."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


class Splits(ABC):
    """Where the splits of a graph, or of a set of graphs or images, come from."""

    levels: ClassVar[tuple[Level, ...]] = ("node", "graph")
    """What they are made for."""

    @abstractmethod
    def of(self, graph: Data, count: int) -> list[Split]:
        """At most ``count`` splits; raises if these data do not allow any."""


@dataclass(frozen=True)
class RandomSplits(Splits):
    """Uniformly random splits with these shares of the labelled items; the rest is the test part."""

    train: float
    validation: float

    def of(self, graph: Data, count: int) -> list[Split]:
        return random_splits(
            labels_of(graph),
            train=self.train,
            validation=self.validation,
            count=count,
            class_names=getattr(graph, "class_names", None),
            items=item_word(graph),
        )


def random_splits(
    y: NDArray[np.int64],
    *,
    train: float,
    validation: float,
    count: int,
    seed: int = 0,
    class_names: Sequence[str] | None = None,
    items: str = "nodes",
) -> list[Split]:
    """``count`` uniformly random splits of the items with a label (``y ≥ 0``); the rest is the test part.

    Split ``i`` depends on the labels' positions and on ``(seed, i)`` alone, so that two methods are compared on the
    same splits. A draw whose training part lacks a class is drawn again.
    """
    labelled = np.flatnonzero(y >= 0)
    classes, members = np.unique(y[labelled], return_counts=True)
    sizes = round(train * len(labelled)), round(validation * len(labelled))
    parts = ("training", "validation", "test") if validation > 0 else ("training", "test")
    if len(classes) < 2:
        raise InputError(f"Labels of at least 2 classes are needed to evaluate; there are {len(classes)}.")
    rarest = int(classes[members.argmin()])
    if members.min() < len(parts):
        each = f"{', '.join(parts[:-1])} and {parts[-1]}"
        raise InputError(
            f"Class {class_name(rarest, class_names)} has {members.min()} labelled {items}; a split needs at least "
            f"{len(parts)}, one for each of {each}."
        )
    if sizes[0] < len(classes) or (validation > 0 and sizes[1] < 1) or sum(sizes) >= len(labelled):
        raise InputError(
            f"{len(labelled)} labelled {items} give a training part of {sizes[0]}, too few for {len(classes)} classes."
        )
    generators = (np.random.default_rng([seed, i]) for i in range(count))
    return [_draw(y, labelled, sizes, len(classes), rng, items) for rng in generators]


def _draw(
    y: NDArray[np.int64],
    labelled: NDArray[np.int64],
    sizes: tuple[int, int],
    classes: int,
    rng: np.random.Generator,
    items: str,
) -> Split:
    for _ in range(MAX_REDRAWS):
        parts = np.split(rng.permutation(labelled), [sizes[0], sizes[0] + sizes[1]])
        if len(np.unique(y[parts[0]])) == classes:
            return Split(*parts)
    raise InputError(
        f"No random training part of {sizes[0]} {items} with all {classes} classes was found: a class is too rare."
    )


def class_parts(
    y: NDArray[np.int64],
    items: NDArray[np.int64],
    sizes: Callable[[int], Sequence[int]],
    rng: np.random.Generator,
) -> list[NDArray[np.int64]]:
    """Some items in random parts, ascending: one for each size, and the rest.

    Args:
        y: Labels of all items.
        items: The numbers of those to divide.
        sizes: How many each part but the last gets of a class of so many members; no more in all than there are.
        rng: Source of randomness.
    """
    shuffled = rng.permutation(items)
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    members = np.unique(y[items], return_counts=True)[1]
    pieces = [np.split(own, np.cumsum(sizes(len(own)))) for own in np.split(by_class, members.cumsum()[:-1])]
    return [np.sort(np.concatenate(part)) for part in zip(*pieces, strict=True)]


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
