"""Which runs fill a cell, against plain loops over all of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfa.evaluate import Score
from sfa.paper.plans import Variant
from sfa.paper.results_files import Entry
from sfa.paper.tables.definition import Line, Point, definition_of
from sfa.paper.tables.matching import Measurements
from sfa.paper.tables.selection import Selection
from tests.paper.tables.conftest import NewEntry, variant_of

HONEST = "honest-10-10-80"
WHOLE, CLUSTERS = {}, {"sampler.name": "clusters", "sampler.batch_size": 64}
PLAIN = variant_of("methods", "g-bt", methods=["g-bt"])
SFA = variant_of("methods", "g-bt + SFA", methods=["g-bt"])
WITH_OTHERS = [
    variant_of("methods", label, methods=["g-bt"], changes={"training.epochs": epochs, **sampler, **more})
    for label in ("g-bt", "g-bt + SFA")
    for epochs in (100, 200)
    for sampler in (WHOLE, CLUSTERS)
    for more in ({}, {"training.seed": 5, "training.checkpoint_every": 3}, {"training.lr": 0.1}, {"training.warmup": 7})
]
"""Of the same recipe with other budgets; with what changes no bit; and of other recipes."""


def wanted(variant: str = "g-bt + SFA") -> Point:
    return Point(Line(variant), "cora", "accuracy")


def measurements(
    mine: Sequence[Entry], shipped: Sequence[Entry] = (), *, table: int = 1, **options: Any
) -> Measurements:
    """Of a table, with what is selected of it."""
    definition = definition_of(table)
    assert definition is not None
    methods = {} if table != 1 else {"methods": ("g-bt",)}
    return Measurements(definition, Selection(**methods, **options), mine, shipped)


def fits(entry: Entry, variant: Variant, dataset: str) -> bool:
    """Whether a run is of a variant, key by key."""
    if entry.dataset != dataset or entry.kind != variant.kind:
        return False
    own, other = deepcopy(variant.decisive), deepcopy(dict(entry.recipe))
    if "training" in own:
        share = own["training"]["warmup"] / own["training"]["epochs"]
        if other["training"]["warmup"] != round(share * other["training"]["epochs"]):
            return False
        for recipe in (own, other):
            for key in ("epochs", "warmup", "lr", "seed", "checkpoint_every", "diagnose_every", "online_probe"):
                recipe["training"].pop(key)
            recipe.pop("sampler")
    return own == other


def reference(entries: Sequence[Entry], variant: Variant, dataset: str = "cora") -> dict[int, Score] | None:
    """The scores that fill a cell, by seed."""
    best: tuple[Any, dict[int, Score]] | None = None
    for leader in entries:
        pool: dict[int, Score] = {}
        newest = ""
        for entry in entries:
            alike = entry.fingerprint == leader.fingerprint and entry.recipe == {
                **leader.recipe,
                "training": {
                    **leader.recipe["training"],
                    "seed": entry.recipe["training"]["seed"],
                    "checkpoint_every": entry.recipe["training"]["checkpoint_every"],
                },
            }
            if alike and fits(entry, variant, dataset) and entry.failure is None:
                (score,) = entry.scores
                if leader.scores and score.splits == leader.scores[0].splits and score.protocol == HONEST:
                    pool.setdefault(entry.seed, score)
                    newest = max(newest, entry.created)
        if pool:
            is_whole = leader.recipe["sampler"]["name"] == "whole"
            training = leader.recipe["training"]
            own_rate = training["lr"] == variant.decisive["training"]["lr"]
            rank = training["epochs"], is_whole, own_rate, len(pool), newest
            if best is None or rank > best[0]:
                best = rank, pool
    return None if best is None else best[1]


@st.composite
def ledgers(draw: st.DrawFn) -> list[Entry]:
    number = draw(st.integers(0, 14))
    entries = []
    for place in range(number):
        variant = draw(st.sampled_from(WITH_OTHERS))
        values = tuple(draw(st.lists(st.integers(0, 100).map(float), min_size=2, max_size=2)))
        protocol, splits = draw(st.sampled_from([HONEST, HONEST, HONEST, "knn"])), draw(st.sampled_from("sst"))
        entries.append(
            Entry(
                key=str(place),
                kind=variant.kind,
                dataset=draw(st.sampled_from(["cora", "cora", "cora", "citeseer"])),
                method="g-bt",
                spectral=None,
                recipe=variant.decisive,
                recipe_hash="",
                fingerprint=draw(st.sampled_from("ffg")),
                seed=draw(st.integers(0, 3)),
                versions={},
                device="cpu",
                threads=1,
                created=f"{place:03d}",
                failure=draw(st.sampled_from([None, None, None, "no"])),
                scores=(Score("z", protocol, {"accuracy": values}, splits=splits),),
            )
        )
    return entries


@pytest.mark.slow
@given(entries=ledgers())
@settings(max_examples=150)
def test_the_runs_of_a_cell(entries: list[Entry]) -> None:
    found = measurements(entries).find(wanted())
    expected = reference(entries, SFA)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found.scores == expected
        means = [statistics.fmean(score.of()) for score in expected.values()]
        assert found.measured.mean == pytest.approx(statistics.fmean(means))
        of_what = means if len(means) > 1 else next(iter(expected.values())).of()
        assert found.measured.std == pytest.approx(statistics.stdev(of_what))


def test_the_loops_tell_runs_apart() -> None:
    """So that the test above is not of nothing but equal runs: of 16 a label, 12 are of the recipe."""
    sfa = [variant for variant in WITH_OTHERS if variant.label == "g-bt + SFA"]
    assert len(sfa) == 16
    runs = [_entry(variant) for variant in WITH_OTHERS]
    assert sum(fits(entry, SFA, "cora") for entry in runs) == 12
    assert len(measurements(runs).runs(wanted(), SFA)) == 12


def _entry(variant: Variant) -> Entry:
    return Entry("k", variant.kind, "cora", None, None, variant.decisive, "", "f", 0, {}, "cpu", 1, "2026")


def shorter(label: str, epochs: int, **changes: Any) -> Variant:
    return variant_of("methods", label, methods=["g-bt"], changes={"training.epochs": epochs, **changes})


def test_budgets_are_never_mixed_and_the_largest_counts(new_entry: NewEntry) -> None:
    entries = [
        new_entry(shorter("g-bt + SFA", 50), seed=0, values=(10.0, 10.0)),
        new_entry(shorter("g-bt + SFA", 50), seed=1, values=(20.0, 20.0)),
        new_entry(shorter("g-bt + SFA", 100, **CLUSTERS), seed=0, values=(30.0, 30.0)),
        new_entry(shorter("g-bt + SFA", 100), seed=2, values=(40.0, 42.0)),
    ]
    found = measurements(entries).find(wanted())
    assert found is not None
    assert (found.measured.mean, found.measured.seeds, found.measured.budget) == (41.0, (2,), "100 of 200 epochs")
    found = measurements(entries[:3]).find(wanted())
    assert found is not None
    assert (found.measured.mean, found.measured.budget) == (30.0, "100 of 200 epochs, batches of 64 (clusters)")
    found = measurements(entries[:2]).find(wanted())
    assert found is not None
    assert (found.measured.mean, found.measured.seeds, found.measured.budget) == (15.0, (0, 1), "50 of 200 epochs")
    found = measurements([*entries, new_entry(SFA, values=(1.0, 1.0))]).find(wanted())
    assert found is not None
    assert (found.measured.mean, found.measured.budget) == (1.0, None)


def test_a_budget_that_is_asked_for_is_the_only_one(new_entry: NewEntry) -> None:
    entries = [new_entry(SFA), new_entry(shorter("g-bt + SFA", 50), values=(10.0, 10.0))]
    asked = {"training.epochs": 50}
    found = measurements(entries, changes=asked).find(wanted())
    assert found is not None
    assert found.measured.mean == 10.0
    assert measurements(entries[:1], changes=asked).find(wanted()) is None


def test_seeds_that_are_asked_for(new_entry: NewEntry) -> None:
    entries = [new_entry(SFA, seed=seed, values=(seed, seed + 1.0)) for seed in (0, 1, 2)]
    found = measurements(entries, seeds=(1, 2)).find(wanted())
    assert found is not None
    assert found.measured.seeds == (1, 2)
    assert measurements(entries, seeds=(0, 1)).is_complete(wanted())
    assert measurements(entries).is_complete(wanted())
    assert not measurements(entries, seeds=(0, 7)).is_complete(wanted())
    raw = variant_of("methods", "raw features")
    own = measurements([new_entry(raw)], seeds=(1, 2))
    assert own.is_complete(wanted("raw features")), "they depend on no seed"


def test_the_difference_is_from_the_twin_of_the_same_budget(new_entry: NewEntry) -> None:
    entries = [
        new_entry(shorter("g-bt + SFA", 50), values=(12.0, 14.0, 19.0)),
        new_entry(PLAIN, values=(90.0, 90.0, 90.0)),
        new_entry(shorter("g-bt", 50), values=(10.0, 13.0, 15.0)),
    ]
    found = measurements(entries).find(wanted())
    assert found is not None
    assert found.measured.difference is not None
    assert found.measured.difference.mean == pytest.approx(7 / 3)
    assert (found := measurements(entries[:2]).find(wanted())) is not None
    assert found.measured.difference is None
    elsewhere = [entries[0], replace(entries[2], fingerprint="other data")]
    assert (found := measurements(elsewhere).find(wanted())) is not None
    assert found.measured.difference is None


def test_mine_go_before_shipped_ones_unless_those_are_longer(new_entry: NewEntry) -> None:
    mine, shipped = [new_entry(shorter("g-bt + SFA", 50), values=(1.0, 3.0))], [new_entry(SFA), new_entry(PLAIN)]
    short = [new_entry(shorter("g-bt + SFA", 50)), new_entry(shorter("g-bt + SFA", 20), seed=1)]
    for others in (short, short[1:]):
        found = measurements(mine, others).find(wanted())
        assert found is not None
        assert (found.measured.mine, found.measured.mean, found.measured.budget) == (True, 2.0, "50 of 200 epochs")
    for own in (mine, ()):
        found = measurements(own, shipped).find(wanted())
        assert found is not None
        assert (found.measured.mine, found.measured.mean) == (False, 81.0), "a short look hides no long run"
    twin = [new_entry(shorter("g-bt", 50), values=(1.0, 1.0))]
    found = measurements(mine, twin).find(wanted())
    assert found is not None
    assert found.measured.difference is not None, "a twin may be on the other shelf"


def test_a_failure_is_told_and_fills_nothing(new_entry: NewEntry) -> None:
    failed = new_entry(SFA, failure="The loss is nan.")
    found = measurements([failed])
    assert found.find(wanted()) is None
    assert found.failure(wanted()) == "The loss is nan."
    assert measurements([new_entry(PLAIN, failure="no")]).failure(wanted()) is None
    assert not found.is_complete(wanted())


def test_times_are_of_one_job(new_entry: NewEntry) -> None:
    """What was timed by turns with others, or on more threads, is another budget."""
    without, with_ = (variant_of("run-time", f"{word} SFA") for word in ("without", "with"))
    ours: dict[str, Any] = {"beside": ["a", "b"], "device": "cpu", "threads": 1}
    options: dict[str, Any] = {"protocol": "run-time", "metric": "seconds per epoch", "splits": ""}
    entries = [
        new_entry(without, values=(1.0, 1.0), more=ours, **options),
        new_entry(with_, values=(1.5, 1.5), more=ours, **options, labels=(("run-time", "with SFA"),)),
        new_entry(with_, values=(9.0, 9.0), more={**ours, "beside": ["a", "b", "c"]}, **options),
    ]
    found = measurements(entries, table=2).find(Point(Line("with SFA"), "cora", "seconds per epoch"))
    assert found is not None
    assert found.measured.mean == 1.5
    assert found.measured.text is not None
    assert found.measured.text.startswith("1.5 s, × 1.500 [")
    assert found.measured.protocol == "run-time, cpu, 1 thread"
