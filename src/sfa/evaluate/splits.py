"""Train, validation and test parts of the labelled nodes, graphs or images: where they come from, and random ones."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.labels import class_name, labels_of
from sfa.levels import Level, item_word

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
