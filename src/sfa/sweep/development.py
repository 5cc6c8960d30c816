"""The development part: the items whose labels a search may see. All other labels are removed before it begins."""

import copy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification
from sfa.evaluate.inputs import labeled_items, labels_of, names_of
from sfa.evaluate.splits import FewPerClass, RandomSplits, Split, Splits, StratifiedFolds, class_parts, stratified_parts
from sfa.tasks import Task, item_word

SEED = 20230  # seed of the development part and of the splits within it, apart from the protocols' own 0
FOLDS = 5  # folds of the development part, where a probe selects inside its training part
FOLDED_MEMBERS = 7
"""Items of every class that these folds need, so that each leaves 5 to train on, for another five folds."""
MAX_SPLITS = 10
VALIDATION_FRACTION = 0.1  # fraction of the labeled items that validates at most, where a smaller fraction trains
FOLDED_FRACTION = 0.5  # fraction of the labeled items in the development part, where a protocol tests each item once
MAX_FRACTION = 0.75  # fraction that the development part may have, where a rare class enlarges it


@dataclass(frozen=True)
class ValidationSplits(Splits):
    """Training and validation parts of all labeled items; the validation part is also the test part."""

    train: float = 0.5  # fraction of the training part; every class has its fraction, one item at least, in both parts
    folds: int = 0  # if not 0, so many stratified folds instead, for probes that select inside the training part
    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")

    def of(self, graph: Data, count: int) -> list[Split]:
        if self.folds:
            return StratifiedFolds(self.folds, SEED).of(graph, count)
        y = labels_of(graph)
        labeled = labeled_items(y, 2, "training and validation need one each", **names_of(graph))
        splits = []
        for number in range(count):
            rng = np.random.default_rng([SEED, number])
            few, many = stratified_parts(y, labeled, (min(self.train, 1 - self.train),), rng)
            train, validation = (few, many) if self.train < 0.5 else (many, few)
            splits.append(Split(train, validation, validation))
        return splits


@dataclass(frozen=True)
class UnseenSplits(Splits):
    """The splits of a protocol, tested only on items outside the development part."""

    protocol: Classification
    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")

    def of(self, graph: Data, count: int) -> list[Split]:
        seen = development_part(self.protocol, graph)
        splits = self.protocol.splits.of(graph, count)
        return [replace(split, test=np.setdiff1d(split.test, seen)) for split in splits]


def development_part(protocol: Classification, data: Data) -> NDArray[np.int64]:
    """Return the indices of the items whose labels a choice may see that is reported under a protocol, ascending.

    Where the protocol never tests some items (masks that come with the data, a part held out once), these are its
    training and validation items. Where every item is tested in some split, the part is drawn at random: twice the
    fraction that trains, or that fraction and a tenth to validate on if this is less, or half where there are folds.
    Which items are drawn does not depend on the labels of the others. Where splits have few labels of every class, the
    part has as many of each as one split trains and validates on.
    """
    splits = protocol.splits
    if isinstance(splits, RandomSplits):
        return _draw_part(data, _part_fraction(splits), 2 if splits.validation > 0 else FOLDED_MEMBERS)
    if isinstance(splits, StratifiedFolds):
        return _draw_part(data, FOLDED_FRACTION, FOLDED_MEMBERS)
    if isinstance(splits, FewPerClass):
        splits.of(data, 1)  # raises if a class is too rare
        y, members = labels_of(data), splits.train + splits.validation
        labeled = np.flatnonzero(y >= 0)
        part, others = class_parts(y, labeled, lambda _: (members,), np.random.default_rng(SEED))
        if len(part) > MAX_FRACTION * len(labeled):
            raise _too_few(data, members, f"{len(others)} of {len(labeled)} would be left")
        return part
    drawn = protocol.draw(data)
    learned = np.unique(np.concatenate([part for split in drawn for part in (split.train, split.validation)]))
    return np.setdiff1d(learned, np.concatenate([split.test for split in drawn]))


def hide_labels(data: Data, seen: NDArray[np.int64]) -> Data:
    """Return the same data with the labels of some items only."""
    hidden, y = copy.copy(data), torch.from_numpy(labels_of(data))
    hidden.y = torch.full_like(y, -1)
    hidden.y[seen] = y[seen]
    return hidden


def validation_protocol(protocol: Classification, data: Data) -> Classification:
    """Return the protocol that judges a trial on data with hidden labels: the same probe, on validation parts."""
    first, repeats = protocol.draw(data)[0], min(protocol.repeats, MAX_SPLITS)
    if not len(first.validation):
        splits, repeats = ValidationSplits(folds=FOLDS), FOLDS
    elif isinstance(protocol.splits, RandomSplits):
        splits = ValidationSplits(min(0.5, protocol.splits.train / _part_fraction(protocol.splits)))
    else:
        splits = ValidationSplits(len(first.train) / (len(first.train) + len(first.validation)))
    return replace(protocol, name=f"{protocol.name} validation", description="", repeats=repeats, splits=splits)


def unseen_protocol(protocol: Classification, data: Data) -> Classification | None:
    """Return the protocol without the test items whose labels were seen; ``None`` if there are no such items."""
    unseen = replace(protocol, name=f"{protocol.name} unseen", description="", splits=UnseenSplits(protocol))
    pairs = zip(protocol.draw(data), unseen.draw(data), strict=True)
    return None if all(len(before.test) == len(after.test) for before, after in pairs) else unseen


def _part_fraction(splits: RandomSplits) -> float:
    """Return the fraction of the labeled items that random splits have in the development part."""
    return min(FOLDED_FRACTION, splits.train + max(splits.train, min(splits.validation, VALIDATION_FRACTION)))


def _draw_part(data: Data, fraction: float, members: int) -> NDArray[np.int64]:
    """Draw a fraction of the labeled items, or more until there are enough members of every class.

    Items are taken in one random order until there are enough. Drawing again when a class is missing would let the
    labels of the items that are left decide.
    """
    y = labels_of(data)
    labeled = np.flatnonzero(y >= 0)
    order = np.random.default_rng(SEED).permutation(labeled)
    counts = np.cumsum(y[order][:, None] == np.unique(y[labeled]), axis=0)  # (items, classes)
    enough = np.flatnonzero((counts >= members).all(1))
    size = max(round(fraction * len(labeled)), int(enough[0]) + 1 if len(enough) else len(labeled))
    if size > MAX_FRACTION * len(labeled):
        raise _too_few(data, members, "a class is too rare")
    return np.sort(order[:size])


def _too_few(data: Data, members: int, reason: str) -> InputError:
    return InputError(
        f"A search needs {members} labeled {item_word(data)} of every class to choose by, and enough others to test: "
        f"{reason}."
    )
