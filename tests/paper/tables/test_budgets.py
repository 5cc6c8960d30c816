"""Budgets in words and in order."""

from __future__ import annotations

from typing import Any

import pytest

from sfa.paper.tables.selection import Budget, essence, is_budget
from sfa.run import Recipe


def budget(**changes: Any) -> Budget:
    return Budget.of(recipe(**changes))


def recipe(**changes: Any) -> dict[str, Any]:
    own = Recipe.parse({"method": "grace", "training": {"epochs": 200}})
    return own.updated({key.replace("__", "."): value for key, value in changes.items()}).as_dict()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, None),
        ({"training__epochs": 100}, "100 of 200 epochs"),
        ({"training__epochs": 400}, "400 epochs in place of 200"),
        ({"sampler": {"name": "clusters", "batch_size": 1024}}, "batches of 1024 (clusters)"),
        (
            {"training__epochs": 20, "sampler": {"name": "neighbours", "batch_size": 32}},
            "20 of 200 epochs, batches of 32 (neighbours)",
        ),
        ({"training__epochs": 20, "training__lr": 0.01}, "20 of 200 epochs, learning rate 0.01 in place of 0.0005"),
    ],
)
def test_words(changes: dict[str, Any], words: str | None) -> None:
    assert budget(**changes).words(budget()) == words


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"training__epochs": 20, "training__lr": 0.01},
        {"sampler": {"name": "clusters", "batch_size": 1024}},
    ],
)
def test_its_changes_make_it_of_the_recipes_own(changes: dict[str, Any]) -> None:
    own = Recipe.parse({"method": "grace", "training": {"epochs": 200}})
    asked = budget(**changes)
    assert Budget.of(own.updated(asked.changes(budget())).as_dict()) == asked


def test_the_whole_graph_where_the_recipe_has_batches() -> None:
    assert budget().words(budget(sampler={"name": "clusters"})) == "full batch"


def test_order() -> None:
    own = budget()
    falling = [
        budget(training__epochs=300, sampler={"name": "clusters", "batch_size": 16}),
        own,
        budget(training__lr=0.1),
        budget(sampler={"name": "clusters", "batch_size": 64}),
        budget(sampler={"name": "clusters", "batch_size": 32}),
        budget(training__epochs=100),
    ]
    sizes = [one.size(own) for one in falling]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)


def test_the_essence_knows_no_budget_and_no_seed() -> None:
    same = [
        {"training__epochs": 7, "training__lr": 0.1},
        {"sampler": "clusters"},
        {"training__seed": 3, "training__diagnose_every": 0, "training__checkpoint_every": 9},
    ]
    assert {essence(recipe(**changes)) for changes in same} == {essence(recipe())}
    others = [{"training__weight_decay": 0.1}, {"method__tau": 0.9}, {"spectral": "none"}, {"training__patience": 3}]
    assert len({essence(recipe(**changes)) for changes in others} | {essence(recipe())}) == 5
    assert essence({**recipe(), "beside": ["x"], "device": "cuda", "threads": 4}) == essence(recipe())


def test_keys_of_the_budget() -> None:
    budgets = ("training.epochs", "training.warmup", "training.lr", "sampler", "sampler.batch_size", "sampler.name")
    assert all(map(is_budget, budgets))
    assert not any(map(is_budget, ("training.optimizer", "training.patience", "method.hidden", "spectral")))
