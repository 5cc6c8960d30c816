"""The table of a study against numbers computed by hand."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from typing import Any

import pytest
from scipy import stats

from sfa.evaluate import Score
from sfa.paper.plans import RUN_TIME, Plan
from sfa.paper.results_files import Entry
from sfa.paper.summary import metrics_of, summarise

NewPlan = Callable[..., Plan]
VALUES = {
    ("k = 0", 0): (50.0, 52.0, 54.0),
    ("k = 0", 1): (60.0, 61.0, 65.0),
    ("k = 1", 0): (55.0, 53.0, 57.0),
    ("k = 1", 1): (61.0, 63.0, 65.0),
}


def entries_of(plan: Plan, values: dict[tuple[str, int], Any], protocol: str = "honest-10-10-80") -> dict[str, Entry]:
    entries = {}
    for cell in plan.cells:
        found = values.get((cell.variant.label, cell.variant.seed))
        if found is None:
            continue
        failed = isinstance(found, str)
        splits = cell.dataset.digest(protocol)
        scores = () if failed else (Score("z", protocol, {"accuracy": found}, splits=splits),)
        entries[cell.key] = Entry(
            cell.key,
            "trained",
            "planted",
            "grace",
            "sfa",
            {},
            "h",
            "f",
            cell.variant.seed,
            {},
            "cpu",
            1,
            "2026",
            failure=found if failed else None,
            scores=scores,
        )
    return entries


def test_over_seeds(plan: NewPlan) -> None:
    """Means over splits first, then mean and deviation over seeds; so is the difference paired."""
    study = plan(seeds=(0, 1))
    table = summarise(study, entries_of(study, VALUES), "honest-10-10-80", "accuracy")
    zero, one = table["k = 0", "planted"], table["k = 1", "planted"]
    assert (zero.mean, zero.std) == (57.0, pytest.approx(statistics.stdev([52.0, 62.0])))
    assert (one.mean, one.seeds, one.planned, one.failed) == (59.0, 2, 2, 0)
    differences = [55.0 - 52.0, 63.0 - 62.0]
    half = stats.t.ppf(0.975, 1) * statistics.stdev(differences) / math.sqrt(2)
    assert zero.difference is None
    assert one.difference is not None
    assert (one.difference.mean, one.difference.high) == (2.0, pytest.approx(2.0 + half))
    empty = table["k = 2", "planted"]
    assert (empty.mean, empty.seeds, empty.planned) == (None, 0, 2)


def test_over_splits_with_one_seed(plan: NewPlan) -> None:
    study = plan(seeds=(0,))
    one = summarise(study, entries_of(study, VALUES), "honest-10-10-80", "accuracy")["k = 1", "planted"]
    assert (one.mean, one.std) == (55.0, 2.0)
    differences = [5.0, 1.0, 3.0]
    half = stats.t.ppf(0.975, 2) * statistics.stdev(differences) / math.sqrt(3)
    assert one.difference is not None
    assert (one.difference.mean, one.difference.low) == (3.0, pytest.approx(3.0 - half))


def test_seeds_that_failed_are_left_out_on_both_sides(plan: NewPlan) -> None:
    study = plan(seeds=(0, 1))
    values = {**VALUES, ("k = 0", 1): "The loss is nan."}
    table = summarise(study, entries_of(study, values), "honest-10-10-80", "accuracy")
    zero, one = table["k = 0", "planted"], table["k = 1", "planted"]
    assert (zero.mean, zero.seeds, zero.failed) == (52.0, 1, 1)
    assert one.difference is not None, "over the splits of the only seed in common"
    paired = [a - b for a, b in zip(VALUES["k = 1", 0], VALUES["k = 0", 0], strict=True)]
    assert one.difference.mean == pytest.approx(sum(paired) / len(paired))
    values = {("k = 0", 0): "no", ("k = 0", 1): "no"}
    failed = summarise(study, entries_of(study, values), "honest-10-10-80", "accuracy")["k = 0", "planted"]
    assert (failed.mean, failed.failed, failed.planned) == (None, 2, 2)


def test_times_are_compared_by_their_ratio(plan: NewPlan) -> None:
    study = plan("run-time")
    values = {("without SFA", 0): (1.0, 2.0, 4.0), ("with SFA", 0): (1.1, 2.4, 4.4)}
    table = summarise(study, entries_of(study, values, RUN_TIME), RUN_TIME, "accuracy")
    difference = table["with SFA", "planted"].difference
    assert difference is not None
    assert difference.mean == pytest.approx(100 * (statistics.fmean([1.1, 1.2, 1.1]) - 1))


def test_metrics_in_the_order_of_protocols(plan: NewPlan) -> None:
    study = plan(protocols=["clustering", "honest-10-10-80"])
    entries = entries_of(study, VALUES)
    key, dataset = study.cells[1].key, study.cells[1].dataset
    scores = (
        *entries[key].scores,
        Score("z", "clustering", {"nmi": (1.0,), "ari": (2.0,)}, splits=dataset.digest("clustering")),
        Score("z", "clustering", {"old": (1.0,)}, splits="another"),
        Score("z", "knn", {"a": (1.0,)}, splits=dataset.digest("knn")),
    )
    entries[key] = Entry(**{**entries[key].__dict__, "scores": scores})
    assert metrics_of(study, entries) == [("clustering", "nmi"), ("clustering", "ari"), ("honest-10-10-80", "accuracy")]
