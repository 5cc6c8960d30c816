"""Cells of a search: trained and entered as a study's are, but scored by protocols that have no public name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfa.evaluate import Classification
from sfa.ledger import run_key
from sfa.run import Recipe
from sfa.studies import Cell, Dataset, Plan, Study
from sfa.studies.variants import Base, Variant


def _only_the_recipe(base: Base) -> list[Variant]:
    """A search over the ranges of a recipe, choosing on validation alone."""
    return [Variant("recipe", base.recipe)]


SWEEP = Study("sweep", lambda base: iter(_only_the_recipe(base)))
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
    key = run_key(variant.kind, variant.decisive, dataset.fingerprint, variant.seed)
    return Cell(dataset, variant, key, variant.decisive)


def plan_of(cells: Sequence[Cell], dataset: ScoredData) -> Plan:
    """Cells to be measured one after another, under all protocols of their data set."""
    return Plan(SWEEP, tuple(protocol.name for protocol in dataset.protocols), tuple((cell,) for cell in cells))
