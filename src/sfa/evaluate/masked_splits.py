"""Splits that come with a data set as masks; a validation part that an image set lacks is held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import class_name, labels_of, rarest_class
from sfa.evaluate.splits import Split, Splits, class_parts
from sfa.ranges import check_number
from sfa.tasks import Task

MASKS = ("train_mask", "val_mask", "test_mask")


@dataclass(frozen=True)
class PublicSplits(Splits):
    """``train_mask``, ``val_mask`` and ``test_mask`` of the graph, each ``(n,)`` or with a column a split ``(n, s)``.

    Planetoid's and ogbn's sets have one split; WikiCS has 20, with one test part for all. Nodes without a label are
    left out.
    """

    tasks: ClassVar[tuple[Task, ...]] = ("node",)

    def of(self, graph: Data, count: int) -> list[Split]:
        y = labels_of(graph)
        masks = [_columns(graph, name, len(y)) for name in MASKS]
        columns = max(mask.shape[1] for mask in masks)
        if any(mask.shape[1] not in (1, columns) for mask in masks):
            shapes = ", ".join(f"{name} {mask.shape[1]}" for name, mask in zip(MASKS, masks, strict=True))
            raise InputError(f"The masks are not of the same splits: {shapes} columns.")
        masks = [np.broadcast_to(mask, (len(y), columns)) & (y >= 0)[:, None] for mask in masks]
        splits = [Split(*(np.flatnonzero(mask[:, i]) for mask in masks)) for i in range(columns)][:count]
        for number, split in enumerate(splits):
            _check_public(split, y, number)
        return splits


@dataclass(frozen=True)
class HeldOutSplits(Splits):
    """The labeled images of ``test_mask`` are the test part of every split; of those of ``train_mask`` some validate.

    Where there is a ``val_mask``, its labeled images validate instead, and there is one split. A set without masks is
    split three ways anew each time. Every class has its share in each part that is drawn, and at least one image. Where
    there are masks, labels of test images have no say in what trains.

    Attributes:
        validation: Share of the training images, or of all where there are no masks.
        test: Share of all, where there are no masks.
        seed: Seed of the drawing.
    """

    validation: float = 0.1
    test: float = 0.2
    seed: int = 0
    tasks: ClassVar[tuple[Task, ...]] = ("image",)

    def __post_init__(self) -> None:
        check_number("validation", self.validation, above=0)
        check_number("test", self.test, above=0)
        if self.validation + self.test > 0.5:
            raise InputError(
                f"Validation and test are at most half of the images together, not {self.validation:g} and "
                f"{self.test:g} of them."
            )

    def of(self, graph: Data, count: int) -> list[Split]:
        y, names = labels_of(graph), getattr(graph, "class_names", None)
        generators = [np.random.default_rng([self.seed, i]) for i in range(count)]
        parts = {name: np.flatnonzero(mask & (y >= 0)) for name, mask in _masks(graph, len(y)).items()}
        if not parts:
            known = np.flatnonzero(y >= 0)
            _check_members(y[known], names, ("training", "validation", "test"))
            drawn = [stratified_parts(y, known, (self.validation, self.test), rng) for rng in generators]
            return [Split(train, validation, test) for validation, test, train in drawn]
        known, test = parts["train_mask"], parts["test_mask"]
        for name, part in (("test", "test_mask"), ("validation", "val_mask")):
            if part in parts:
                _check_learned(name, part, y[known], y[parts[part]], names)
        if "val_mask" in parts:
            _check_members(y[known], names, ("training",))
            return [Split(known, parts["val_mask"], test)]
        _check_members(y[known], names, ("training", "validation"))
        held_out = [stratified_parts(y, known, (self.validation,), rng) for rng in generators]
        return [Split(train, validation, test) for validation, train in held_out]


def stratified_parts(
    y: NDArray[np.int64], items: NDArray[np.int64], shares: Sequence[float], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Deal some items into random parts, ascending: one for each share of every class, at least one item, and the rest.

    Args:
        y: Labels of all items.
        items: The numbers of those to divide; no class has fewer than there are parts.
        shares: Of each class, at most half of it in all.
        rng: Source of randomness.
    """
    return class_parts(y, items, lambda members: [max(1, round(share * members)) for share in shares], rng)


def _columns(graph: Data, name: str, nodes: int) -> NDArray[np.bool_]:
    """Return a mask as ``(n, columns)``."""
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


def _check_public(split: Split, y: NDArray[np.int64], number: int) -> None:
    parts = dict(zip(MASKS, (split.train, split.validation, split.test), strict=True))
    for name, nodes in parts.items():
        if len(nodes) == 0:
            raise InputError(f"`{name}` of public split {number} has no labelled node.")
    if len(np.unique(np.concatenate(list(parts.values())))) < sum(map(len, parts.values())):
        raise InputError(f"The masks of public split {number} overlap: a node is in more than one part.")
    missing = np.setdiff1d(y[y >= 0], y[split.train])
    if len(missing) > 0:
        raise InputError(f"The training part of public split {number} has no node of class {missing[0]}.")


def _masks(images: Data, count: int) -> dict[str, NDArray[np.bool_]]:
    """Return which images train, which test, and perhaps which validate; nothing if the set does not say."""
    given = [name for name in ("train_mask", "test_mask", "val_mask") if getattr(images, name, None) is not None]
    missing = {"train_mask", "test_mask"} - set(given)
    if len(missing) == 2:
        return {}
    if missing:
        raise InputError(f"The images have a `{given[0]}` but no `{missing.pop()}`: give both, or neither.")
    masks = {name: np.asarray(getattr(images, name)) for name in given}
    for name, mask in masks.items():
        if mask.dtype != np.bool_ or mask.shape != (count,):
            raise InputError(f"`{name}` is a mask of {count} booleans, not {mask.dtype} of shape {mask.shape}.")
    for one, other in combinations(given, 2):
        both = int((masks[one] & masks[other]).sum())
        if both > 0:
            raise InputError(f"The masks overlap: {both} images are in both `{one}` and `{other}`.")
    return masks


def _check_learned(
    part: str, mask: str, trained: NDArray[np.int64], looked_at: NDArray[np.int64], names: Sequence[str] | None
) -> None:
    """Raise unless there are labeled images of the part, all of whose classes can be learned."""
    if len(looked_at) == 0:
        raise InputError(f"There are no labelled {part} images: no image of `{mask}` has a label.")
    unseen = np.setdiff1d(looked_at, trained)
    if len(unseen) > 0:
        raise InputError(
            f"Class {class_name(int(unseen[0]), names)} has {part} images but no labelled training images."
        )


def _check_members(y: NDArray[np.int64], names: Sequence[str] | None, parts: tuple[str, ...]) -> None:
    """Raise unless there are at least two classes, and an image of each for every part."""
    _, fewest, rarest = rarest_class(y, names)
    if fewest < len(parts):
        kind = "labelled" if "test" in parts else "labelled training"
        raise InputError(
            f"Class {rarest} has {fewest} {kind} {'image' if fewest == 1 else 'images'}; a split needs at least "
            f"{len(parts)}, one for each of {', '.join(parts[:-1])} and {parts[-1]}."
        )
