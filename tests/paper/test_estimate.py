"""How long it will take, by what is most like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sfa.paper.plans import Cell, Plan
from sfa.paper.results_files import Entry
from sfa.paper.summary import Estimator
from sfa.run.identity import recipe_hash

NewPlan = Callable[..., Plan]


def entry(cell: Cell, per_epoch: float, scoring: float = 1.0, **changes: Any) -> Entry:
    recipe = cell.variant.recipe
    values = {
        "key": "k",
        "kind": cell.variant.kind,
        "dataset": "planted",
        "method": recipe.method["name"],
        "spectral": recipe.spectral["name"],
        "recipe": {},
        "recipe_hash": recipe_hash(cell.identity),
        "fingerprint": cell.dataset.fingerprint,
        "seed": 0,
        "versions": {},
        "device": "cpu",
        "threads": 1,
        "created": "2026",
        "seconds_per_epoch": per_epoch,
        "evaluate_seconds": scoring,
    }
    return Entry(**{**values, **changes})


def test_the_most_alike_decide(plan: NewPlan) -> None:
    cell = plan().cells[1]  # 6 epochs
    others = [
        entry(cell, 1000.0, recipe_hash="other", method="g-bt", spectral="none"),
        entry(cell, 100.0, recipe_hash="other", spectral="none"),
        entry(cell, 10.0, recipe_hash="other"),
        entry(cell, 1.0),
    ]
    assert Estimator().seconds(cell) is None
    assert Estimator(others[:1]).seconds(cell) == 1 + 6000
    assert Estimator(others[:2]).seconds(cell) == 1 + 600
    assert Estimator(others[:3]).seconds(cell) == 1 + 60
    assert Estimator(others).seconds(cell) == 1 + 6
    assert Estimator([entry(cell, 1.0, fingerprint="x"), entry(cell, 1.0, kind="timed")]).seconds(cell) is None


def test_the_median_and_what_is_done(plan: NewPlan) -> None:
    cell = plan().cells[1]
    estimator = Estimator([entry(cell, 2.0, 3.0), entry(cell, 4.0, 5.0)])
    estimator.learn(entry(cell, 100.0, 4.0))
    assert estimator.seconds(cell) == 4 + 6 * 4.0
    assert estimator.seconds(cell, epochs_done=4.5) == 4 + 1.5 * 4.0
    estimator.learn(entry(cell, 1.0, failure="no", seconds_per_epoch=None, evaluate_seconds=None))
    assert estimator.seconds(cell) == 4 + 6 * 4.0


def test_in_words(plan: NewPlan) -> None:
    study = plan("methods", methods=["grace"])
    raw, trained = study.cells[0], study.cells[5]
    estimator = Estimator([entry(trained, 10.0, 40.0)])
    assert estimator.total([trained, trained]) == "about 3 min"
    assert estimator.total([trained], {trained.key: 6.0}) == "about 40 s"
    assert estimator.total([trained, raw]) == "at least 2 min"
    assert estimator.total([raw]) is None
