"""Splits of the items of a set that tear no group apart, such as molecules of one scaffold."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import Labels, has_targets, labels_of
from sfa.evaluate.splits import Split, Splits
from sfa.tasks import Task, item_word, num_items

FEWEST = 20  # labeled items of which a test part still says something


@dataclass(frozen=True)
class GroupSplits(Splits):
    """Random splits of the items with a label or a target in which no group is torn apart: here, each item is one.

    Groups come in random order. Each goes into the test part if it still fits there, or else into the validation part,
    or else into the training part.
    """

    train: float = 0.7
    validation: float = 0.1
    seed: int = 0
    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")

    def groups(self, data: Data) -> Labels:
        """Return the number of each item's group, ``(n,)``."""
        return np.arange(num_items(data))

    def of(self, data: Data, count: int) -> list[Split]:
        group, y = self.groups(data), np.asarray(data.y) if getattr(data, "y", None) is not None else labels_of(data)
        known = np.flatnonzero(np.isfinite(y) if has_targets(data) else y >= 0)
        if len(known) < FEWEST:
            raise InputError(f"{len(known)} {item_word(data)} have a label, and a split needs at least {FEWEST}.")
        group = np.unique(group[known], return_inverse=True)[1]
        sizes, n = np.bincount(group), len(known)
        splits = []
        for number in range(count):
            part, room = np.zeros(len(sizes), dtype=np.int64), [0, round(self.validation * n), 0]
            room[2] = n - round(self.train * n) - room[1]
            for one in np.random.default_rng([self.seed, number]).permutation(len(sizes)):
                part[one] = next((place for place in (2, 1) if sizes[one] <= room[place]), 0)
                room[part[one]] -= sizes[one]
            splits.append(Split(*(known[part[group] == place] for place in range(3))))
        if any(min(map(len, vars(split).values())) < 2 for split in splits):
            raise InputError(f"The {len(sizes)} groups of {n} {item_word(data)} are too large to be split three ways.")
        return splits


@dataclass(frozen=True)
class ScaffoldSplits(GroupSplits):
    """Random splits of molecules in which no Bemis-Murcko scaffold is in two parts."""

    train: float = 0.8
    tasks: ClassVar[tuple[Task, ...]] = ("graph",)

    def groups(self, data: Data) -> Labels:
        if getattr(data, "scaffold", None) is None:
            raise InputError("Scaffolds are those of molecules, and this set was not read of SMILES.")
        return np.asarray(data.scaffold)
