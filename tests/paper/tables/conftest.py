"""Entries of a ledger as studies make them, with values of one's choice."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Any

import pytest

from sfa.evaluate import Score
from sfa.paper.plans import Variant, starting_point
from sfa.paper.results_files import Entry
from sfa.registry import resolve
from sfa.run.identity import recipe_hash

NewEntry = Callable[..., Entry]


def variant_of(study: str, label: str, dataset: str = "cora", **options: Any) -> Variant:
    """A variant of a study on a data set of nodes; ``changes`` and ``methods`` as in the study."""
    return _variants(study, dataset, json.dumps(options))[label]


@cache
def _variants(study: str, dataset: str, options: str) -> dict[str, Variant]:
    found = resolve("study", study)
    base = starting_point(found, dataset, "node", **json.loads(options))
    return {variant.label: variant for variant in found.variants(base)}


@pytest.fixture
def new_entry() -> NewEntry:
    """``new_entry(variant, seed=1, values=(80.0, 81.0))`` is a run of a variant that scored so."""
    numbers = count()

    def make(
        variant: Variant,
        *,
        seed: int = 0,
        values: tuple[float, ...] = (80.0, 82.0),
        dataset: str = "cora",
        protocol: str = "honest-10-10-80",
        metric: str = "accuracy",
        splits: str = "s",
        fingerprint: str = "f",
        failure: str | None = None,
        labels: tuple[tuple[str, str], ...] = (),
        more: dict[str, Any] | None = None,
    ) -> Entry:
        number, identity = next(numbers), {**variant.decisive, **(more or {})}
        score = Score(variant.name, protocol, {metric: values}, splits=splits)
        return Entry(
            key=f"{number:016x}",
            kind=variant.kind,
            dataset=dataset,
            method=variant.recipe.method["name"],
            spectral=variant.recipe.spectral_name,
            recipe=identity,
            recipe_hash=recipe_hash(identity),
            fingerprint=fingerprint,
            seed=seed,
            versions={"sfa": "0"},
            device="cpu",
            threads=1,
            created=f"2026-01-01T00:00:{number:06d}",
            epochs=variant.recipe.training.epochs,
            failure=failure,
            labels=labels,
            scores=() if failure else (score,),
        )

    return make
