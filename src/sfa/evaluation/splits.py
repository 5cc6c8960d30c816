"""Random train/validation/test splits of the labelled nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfa.errors import InputError

MAX_REDRAWS = 1000


@dataclass(frozen=True)
class Split:
    """Node numbers of the three parts."""

    train: NDArray[np.int64]
    validation: NDArray[np.int64]
    test: NDArray[np.int64]


def random_splits(
    y: NDArray[np.int64],
    *,
    train: float,
    validation: float,
    count: int,
    seed: int = 0,
    class_names: Sequence[str] | None = None,
) -> list[Split]:
    """``count`` uniformly random splits of the nodes with a label (``y ≥ 0``); the rest is the test part.

    Split ``i`` depends on the labels' positions and on ``(seed, i)`` alone, so that two methods are compared on the
    same splits. A draw whose training part lacks a class is drawn again.
    """
    labelled = np.flatnonzero(y >= 0)
    classes, members = np.unique(y[labelled], return_counts=True)
    sizes = round(train * len(labelled)), round(validation * len(labelled))
    if len(classes) < 2:
        raise InputError(f"Labels of at least 2 classes are needed to evaluate; there are {len(classes)}.")
    rarest = int(classes[members.argmin()])
    if members.min() < 3:
        name = rarest if class_names is None else repr(class_names[rarest])
        raise InputError(
            f"Class {name} has {members.min()} labelled nodes; a split needs at least 3, "
            "one for each of training, validation and test."
        )
    if sizes[0] < len(classes) or sizes[1] < 1:
        raise InputError(
            f"{len(labelled)} labelled nodes give a training part of {sizes[0]}, too few for {len(classes)} classes."
        )
    return [_draw(y, labelled, sizes, len(classes), np.random.default_rng([seed, i])) for i in range(count)]


def _draw(
    y: NDArray[np.int64], labelled: NDArray[np.int64], sizes: tuple[int, int], classes: int, rng: np.random.Generator
) -> Split:
    for _ in range(MAX_REDRAWS):
        parts = np.split(rng.permutation(labelled), [sizes[0], sizes[0] + sizes[1]])
        if len(np.unique(y[parts[0]])) == classes:
            return Split(*parts)
    raise InputError(
        f"No random training part of {sizes[0]} nodes with all {classes} classes was found: a class is too rare."
    )
