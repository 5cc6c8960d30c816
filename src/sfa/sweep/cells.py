"""Cells of a search: trained and entered as a study's are, but scored by protocols that have no public name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfa.evaluate import Classification
from sfa.experiments.cells import Cell, Dataset, Plan, Variant, make_cell
from sfa.experiments.plans import Study
from sfa.recipes import Recipe

SWEEP = Study("sweep", lambda base: iter([Variant("recipe", base.recipe)]))
"""The study under which the ledger holds all runs of searches."""


@dataclass(frozen=True)
class ScoredData(Dataset):
    """A data set that brings its protocols with it."""

    protocols: tuple[Classification, ...] = ()

    def protocol(self, name: str) -> Classification:
        return next(protocol for protocol in self.protocols if protocol.name == name)


def cell_of(dataset: ScoredData, recipe: Recipe, seed: int, label: str, baseline: str | None = None) -> Cell:
    """A recipe on a data set with a seed, as the ledger knows it."""
    variant = Variant(label, recipe.updated({"training.seed": seed}), baseline)
    return make_cell(variant, dataset)


def plan_of(cells: Sequence[Cell], dataset: ScoredData) -> Plan:
    """Cells to be measured one after another, under all protocols of their data set."""
    return Plan(SWEEP.name, tuple(protocol.name for protocol in dataset.protocols), tuple((cell,) for cell in cells))
