"""Which labels a search may see: those of a development part. All others are taken out before it begins."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification
from sfa.evaluate.inputs import class_name, labels_of
from sfa.evaluate.masked_splits import stratified_parts
from sfa.evaluate.splits import FewPerClass, RandomSplits, Split, Splits, StratifiedFolds, class_parts, stratified_folds
from sfa.tasks import Task, item_word

SEED = 20230
"""Of the development part and of the splits within it, apart from the protocols' own 0."""
FOLDS = 5
"""Within the development part, where a probe selects inside its training part."""
FOLDED_MEMBERS = 7
"""Of every class, so that each fold leaves 5 of it to train on, for another five folds."""
MOST_SPLITS = 10
VALIDATION_SHARE = 0.1
"""Of the labelled items at most, where a smaller share trains."""
FOLDED_SHARE = 0.5
"""Of the labelled items, where a protocol tests each of them once."""
MOST_SHARE = 0.75
"""Of the labelled items, where a rare class makes it more."""


@dataclass(frozen=True)
class ValidationSplits(Splits):
    """Training and validation parts of all labelled items; there is nothing to test, so what is tested validates.

    Attributes:
        train: Share of the training part. Every class has its share, and at least one item, in both parts.
        folds: If not 0, as many stratified folds instead, each of which validates once: for probes that select inside
            the training part.
        seed: Of the drawing.
    """

    train: float = 0.5
    folds: int = 0
    seed: int = SEED
    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")

    def of(self, graph: Data, count: int) -> list[Split]:
        y, names, nothing = labels_of(graph), getattr(graph, "class_names", None), np.empty(0, dtype=np.int64)
        if self.folds:
            folds = stratified_folds(y, folds=self.folds, seed=self.seed, class_names=names, items=item_word(graph))
            rests = [np.sort(np.concatenate([*folds[:i], *folds[i + 1 :]])) for i in range(len(folds))]
            return [Split(rest, nothing, fold) for rest, fold in zip(rests, folds, strict=True)][:count]
        labelled = np.flatnonzero(y >= 0)
        _check_members(y[labelled], graph)
        splits = []
        for number in range(count):
            rng, smaller = np.random.default_rng([self.seed, number]), min(self.train, 1 - self.train)
            few, many = stratified_parts(y, labelled, (smaller,), rng)
            train, validation = (few, many) if self.train < 0.5 else (many, few)
            splits.append(Split(train, validation, validation))
        return splits


@dataclass(frozen=True)
class UnseenSplits(Splits):
    """A protocol's splits, each tested on the items alone that are not of the development part.

    Attributes:
        protocol: Whose splits.
    """

    protocol: Classification
    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")

    def of(self, graph: Data, count: int) -> list[Split]:
        seen = development_part(self.protocol, graph)
        splits = self.protocol.splits.of(graph, count)
        return [replace(split, test=np.setdiff1d(split.test, seen)) for split in splits]


def development_part(protocol: Classification, graph: Data) -> NDArray[np.int64]:
    """Numbers of the items whose labels may be seen by a choice that is reported under a protocol, ascending.

    Where the protocol's test parts leave some items out (masks that come with the data, a part held out once), it is
    what trains and validates there. Where every item is tested in one split or another, it is drawn at random: twice
    the share that trains, or that share and a tenth to validate on if it is less, or half where there are folds; which
    items, does not depend on the labels of the others. Where splits have few labels of every class, it has as many of
    each as one split trains and validates on.
    """
    if isinstance(protocol.splits, RandomSplits):
        members = 2 if protocol.splits.validation > 0 else FOLDED_MEMBERS
        return _drawn(graph, _part_share(protocol.splits), members)
    if isinstance(protocol.splits, FewPerClass):
        return _few_of_each_class(protocol.splits, graph)
    if isinstance(protocol.splits, StratifiedFolds):
        return _drawn(graph, FOLDED_SHARE, FOLDED_MEMBERS)
    splits = protocol.draw(graph)
    learnt = np.unique(np.concatenate([part for split in splits for part in (split.train, split.validation)]))
    return np.setdiff1d(learnt, np.concatenate([split.test for split in splits]))


def hide_labels(graph: Data, seen: NDArray[np.int64]) -> Data:
    """The same data with no labels but those of some items."""
    y = labels_of(graph)
    kept = np.full_like(y, -1)
    kept[seen] = y[seen]
    hidden = copy.copy(graph)
    hidden.y = torch.from_numpy(kept)
    return hidden


def validation_protocol(protocol: Classification, graph: Data) -> Classification:
    """What a trial is judged by, on data whose other labels are hidden: the protocol's probe, on validation parts."""
    first, repeats = protocol.draw(graph)[0], min(protocol.repeats, MOST_SPLITS)
    if len(first.validation):
        splits = ValidationSplits(train=_train_share(protocol.splits, first))
    else:
        splits, repeats = ValidationSplits(folds=FOLDS), FOLDS
    return replace(
        protocol,
        name=f"{protocol.name} validation",
        description="validation parts of a development part, whose labels alone are seen",
        repeats=repeats,
        splits=splits,
    )


def unseen_protocol(protocol: Classification, graph: Data) -> Classification | None:
    """The protocol without those test items whose labels were seen; ``None`` if there are none such."""
    unseen = replace(
        protocol,
        name=f"{protocol.name} unseen",
        description=f"{protocol.description}; without test items of the development part",
        splits=UnseenSplits(protocol),
    )
    before, after = protocol.draw(graph), unseen.draw(graph)
    same = all(len(a.test) == len(b.test) for a, b in zip(before, after, strict=True))
    return None if same else unseen


def _train_share(splits: Splits, first: Split) -> float:
    """The share of the development part that trains: that of the protocol, or half where it validates on most."""
    if isinstance(splits, RandomSplits):
        return min(0.5, splits.train / _part_share(splits))
    return len(first.train) / (len(first.train) + len(first.validation))


def _part_share(splits: RandomSplits) -> float:
    """The share of the labelled items that random splits have in the development part."""
    validated = max(splits.train, min(splits.validation, VALIDATION_SHARE))
    return min(FOLDED_SHARE, splits.train + validated)


def _few_of_each_class(splits: FewPerClass, graph: Data) -> NDArray[np.int64]:
    """As many random items of every class as a split has in its first two parts together."""
    splits.of(graph, 1)  # raises where a class is too rare
    y, members = labels_of(graph), splits.train + splits.validation
    labelled = np.flatnonzero(y >= 0)
    few, others = class_parts(y, labelled, lambda _: (members,), np.random.default_rng(SEED))
    if len(few) > MOST_SHARE * len(labelled):
        raise InputError(
            f"A search needs {members} labelled {item_word(graph)} of every class to choose by, and enough others to "
            f"test: {len(others)} of {len(labelled)} would be left."
        )
    return few


def _drawn(graph: Data, share: float, members: int) -> NDArray[np.int64]:
    """A random share of the labelled items, or as many more as it takes until there are some members of every class.

    Items are taken in a random order until there are enough: no label of those left has a say in it, as it would have
    if a draw that lacks a class were drawn again.
    """
    y = labels_of(graph)
    labelled = np.flatnonzero(y >= 0)
    classes, order = np.unique(y[labelled]), np.random.default_rng(SEED).permutation(labelled)
    of_each = np.cumsum(y[order][:, None] == classes, axis=0)
    enough = np.flatnonzero((of_each >= members).all(1))
    size = max(round(share * len(labelled)), int(enough[0]) + 1 if len(enough) else len(labelled))
    if size > MOST_SHARE * len(labelled):
        raise InputError(
            f"A search needs {members} labelled {item_word(graph)} of every class to choose by, and enough others to "
            "test: a class is too rare."
        )
    return np.sort(order[:size])


def _check_members(y: NDArray[np.int64], graph: Data) -> None:
    classes, members = np.unique(y, return_counts=True)
    if len(classes) < 2:
        raise InputError(f"Labels of at least 2 classes are needed to search; there are {len(classes)}.")
    if members.min() < 2:
        rarest = class_name(int(classes[members.argmin()]), getattr(graph, "class_names", None))
        raise InputError(
            f"Class {rarest} has 1 {item_word(graph)[:-1]} to search with; training and validation need one each."
        )
