"""Train, validation and test parts of the labeled nodes, graphs or images, drawn at random or given as masks."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import Labels, class_name, has_targets, labeled_items, labels_of, names_of, targets_of
from sfa.ranges import check_number, check_whole
from sfa.tasks import Task, item_word, num_items


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
        part = f"training part of {sizes[0]} {items}"
        raise InputError(f"No random {part} has all {classes} classes: a class is too rare.")

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
class GroupSplits(Splits):
    """Random splits of the items with a label or a target, in which the members of a group are in one part.

    Groups come in random order: to the test part if they fit there, else to the validation part, else to training.
    """

    train: float = 0.6
    validation: float = 0.2
    by: str = ""  # the attribute of the data that numbers the groups; if empty, every item is one
    seed: int = 0

    @property
    def tasks(self) -> tuple[Task, ...]:  # type: ignore[override]
        return ("graph",) if self.by else ("node", "graph", "image")

    def of(self, data: Data, count: int) -> list[Split]:
        known = np.flatnonzero(np.isfinite(targets_of(data)) if has_targets(data) else labels_of(data) >= 0)
        n, group, splits = len(known), data.get(self.by) if self.by else torch.arange(num_items(data)), []
        if group is None or n < 20:
            lacking = f"{self.by}s, which molecules read of SMILES have" if group is None else "20 labels"
            raise InputError(f"These {item_word(data)} cannot be split so: they have no {lacking}.")
        group = np.unique(np.asarray(group)[known], return_inverse=True)[1]
        sizes, room = np.bincount(group), round(self.validation * n)
        for number in range(count):
            part, left = np.zeros(len(sizes), dtype=np.int64), [n, room, n - round(self.train * n) - room]
            for one in np.random.default_rng([self.seed, number]).permutation(len(sizes)):
                part[one] = next(place for place in (2, 1, 0) if sizes[one] <= left[place])
                left[part[one]] -= sizes[one]
            splits.append(Split(*(known[part[group] == place] for place in range(3))))
        if any(min(map(len, vars(split).values())) < 2 for split in splits):
            raise InputError(
                f"{len(sizes)} groups of {n} {item_word(data)} are too large to be split three ways: use a protocol "
                "without groups (`sfa list protocols`)."
            )
        return splits


@dataclass(frozen=True)
class StratifiedFolds(Splits):
    """Fold ``i`` is the test part of split ``i``, all others are its training part; there is no validation part.

    The shuffled items are put in order of their classes and dealt out in turn: of any class, and in all, no fold has
    two items more than another. (The folds of scikit-learn's ``StratifiedKFold`` are others.)
    """

    folds: int = 10
    seed: int = 0
    tasks: ClassVar[tuple[Task, ...]] = ("graph",)

    def __post_init__(self) -> None:
        check_whole("folds", self.folds, 2)

    def of(self, data: Data, count: int) -> list[Split]:
        y, why = labels_of(data), f"{self.folds} folds need at least {self.folds} of each class"
        known = labeled_items(y, self.folds, why, **names_of(data))
        shuffled = np.random.default_rng(self.seed).permutation(known)
        by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
        folds = [np.sort(by_class[fold :: self.folds]) for fold in range(min(count, self.folds))]
        return [Split(np.setdiff1d(known, test), np.empty(0, np.int64), test) for test in folds]


@dataclass(frozen=True)
class PublicSplits(Splits):
    """``train_mask``, ``val_mask`` and ``test_mask`` of the graph, each ``(n,)`` or with a column a split ``(n, s)``.

    Planetoid's and ogbn's sets have one split; WikiCS has 20, with one test part for all.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("node",)

    def of(self, data: Data, count: int) -> list[Split]:
        y = labels_of(data)
        names = ("train_mask", "val_mask", "test_mask")
        masks = {name: _read_mask(data, name, (1, 2)).reshape(len(y), -1) for name in names}
        columns = {name: mask.shape[1] for name, mask in masks.items()}
        if not {*columns.values()} <= {1, max(columns.values())}:
            found = ", ".join(f"{name} {count}" for name, count in columns.items())
            raise InputError(f"The masks are not of the same splits: {found} columns.")
        splits = []
        for number in range(min(count, max(columns.values()))):
            parts = {name: mask[:, number % columns[name]] for name, mask in masks.items()}
            splits.append(Split(*_labeled_parts(parts, y, data, f" of public split {number}").values()))
        return splits


@dataclass(frozen=True)
class HeldOutSplits(Splits):
    """The labeled images of ``test_mask`` are the test part of every split; of those of ``train_mask`` some validate.

    Where there is a ``val_mask``, its labeled images validate instead, and there is one split. A set without masks is
    split three ways anew each time. Every class has its share in each part that is drawn, and at least one image.
    """

    validation: float = 0.1  # share of the training images, or of all where there are no masks
    test: float = 0.2  # share of all, where there are no masks
    seed: int = 0
    tasks: ClassVar[tuple[Task, ...]] = ("image",)

    def __post_init__(self) -> None:
        check_number("validation", self.validation, above=0)
        check_number("test", self.test, above=0)
        if self.validation + self.test > 0.5:
            given = f"{self.validation:g} and {self.test:g}"
            raise InputError(f"Validation and test are at most half of the images together, not {given} of them.")

    def of(self, data: Data, count: int) -> list[Split]:
        y, names = labels_of(data), names_of(data)
        generators = [np.random.default_rng([self.seed, i]) for i in range(count)]
        given = [name for name in ("train_mask", "test_mask", "val_mask") if getattr(data, name, None) is not None]
        missing = {"train_mask", "test_mask"} - set(given)
        if len(missing) == 2:
            why = "a split needs at least 3, one for each of training, validation and test"
            known = labeled_items(y, 3, why, **names)
            drawn = (stratified_parts(y, known, (self.validation, self.test), rng) for rng in generators)
            return [Split(train, validation, test) for validation, test, train in drawn]
        if missing:
            raise InputError(f"The images have a `{given[0]}` but no `{missing.pop()}`: give both, or neither.")
        parts = _labeled_parts({name: _read_mask(data, name) for name in given}, y, data)
        train, test = parts["train_mask"], parts["test_mask"]
        why = "a split needs at least 2, one for each of training and validation"
        labeled_items(y[train], 1 if "val_mask" in parts else 2, why, **{**names, "items": "training images"})
        if "val_mask" in parts:
            return [Split(train, parts["val_mask"], test)]
        held_out = (stratified_parts(y, train, (self.validation,), rng) for rng in generators)
        return [Split(rest, validation, test) for validation, rest in held_out]


def class_parts(
    y: Labels, items: Labels, sizes: Callable[[int], Sequence[int]], rng: np.random.Generator
) -> list[Labels]:
    """Deal items into random ascending parts, class by class, by the sizes for so many members, and the rest."""
    shuffled = rng.permutation(items)
    by_class = shuffled[np.argsort(y[shuffled], kind="stable")]
    members = np.unique(y[items], return_counts=True)[1]
    pieces = [np.split(own, np.cumsum(sizes(len(own)))) for own in np.split(by_class, members.cumsum()[:-1])]
    return [np.sort(np.concatenate(part)) for part in zip(*pieces, strict=True)]


def stratified_parts(y: Labels, items: Labels, shares: Sequence[float], rng: np.random.Generator) -> list[Labels]:
    """Deal items into random ascending parts: one for each share of every class, at least one item, and the rest."""
    return class_parts(y, items, lambda members: [max(1, round(share * members)) for share in shares], rng)


def _read_mask(data: Data, name: str, dims: tuple[int, ...] = (1,)) -> NDArray[np.bool_]:
    if getattr(data, name, None) is None:
        where = "`sfa list datasets` shows the sets with one"
        raise InputError(f"There is no public split here: the graph has no `{name}` ({where}).")
    mask, count = np.asarray(getattr(data, name)), len(data.y)
    if mask.dtype != np.bool_ or mask.ndim not in dims or len(mask) != count:
        columns = f", or one a split ({count}, splits)" if 2 in dims else ""
        raise InputError(f"`{name}` is a mask of {count} booleans{columns}, not {mask.dtype} of shape {mask.shape}.")
    return mask


def _labeled_parts(masks: dict[str, Any], y: Labels, data: Data, where: str = "") -> dict[str, Labels]:
    """Return the labeled items of each mask; raise unless they are some, of one part each, of classes that train."""
    items, parts = item_word(data), {name: np.flatnonzero(mask & (y >= 0)) for name, mask in masks.items()}
    for name, part in parts.items():
        if len(part) == 0:
            raise InputError(f"`{name}`{where} has no labeled {items[:-1]}.")
        unseen = np.setdiff1d(y[part], y[parts["train_mask"]])
        if len(unseen) > 0:
            label = class_name(int(unseen[0]), getattr(data, "class_names", None))
            raise InputError(f"Class {label} has {items} in `{name}`{where} but no labeled training {items}.")
    for one, other in combinations(parts, 2):
        both = len(np.intersect1d(parts[one], parts[other]))
        if both > 0:
            raise InputError(f"The masks{where} overlap: {both} {items} are in both `{one}` and `{other}`.")
    return parts
