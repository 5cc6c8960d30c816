"""The runs that came with sfa are found again by what this version makes of their recipes."""

from __future__ import annotations

import pytest

from sfa.ledger import Entry, recipe_hash, run_key
from sfa.run import Recipe
from sfa.studies.variants import Variant
from sfa.tables.budgets import MACHINE
from sfa.tables.shipped import shipped_entries


@pytest.fixture(scope="module")
def entries() -> tuple[Entry, ...]:
    return shipped_entries()


def test_a_key_is_that_of_its_recipe(entries: tuple[Entry, ...]) -> None:
    assert entries
    for entry in entries:
        assert recipe_hash(entry.recipe) == entry.recipe_hash
        assert run_key(entry.kind, entry.recipe, entry.fingerprint, entry.seed) == entry.key


def test_a_recipe_that_is_completed_anew_has_the_same_key(entries: tuple[Entry, ...]) -> None:
    """Keys that came later are there now, with the values that all runs had before."""
    for entry in entries:
        given = {key: value for key, value in entry.recipe.items() if key not in ("supervised", *MACHINE)}
        variant = Variant("again", Recipe.parse(given), kind=entry.kind)
        identity = variant.decisive | {key: entry.recipe[key] for key in MACHINE if key in entry.recipe}
        assert run_key(variant.kind, identity, entry.fingerprint, entry.seed) == entry.key, entry.labels
