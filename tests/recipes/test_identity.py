"""Two runs are the same if what decides their result is, however it was written."""

from __future__ import annotations

import hashlib
import random
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sfa.run import Recipe
from sfa.run.identity import LATER, recipe_hash, run_key
from sfa.run.legacy import STEPS, flatten

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=6,
)


def shuffled(value: Any, rng: random.Random) -> Any:
    """The same mapping with its keys in another order, all the way down."""
    if isinstance(value, list):
        return [shuffled(item, rng) for item in value]
    if not isinstance(value, dict):
        return value
    keys = list(value)
    rng.shuffle(keys)
    return {key: shuffled(value[key], rng) for key in keys}


@settings(max_examples=30)
@given(st.dictionaries(st.text(), PLAIN), st.randoms(use_true_random=False))
def test_the_order_of_keys_does_not_matter(recipe: dict[str, Any], rng: random.Random) -> None:
    assert recipe_hash(shuffled(recipe, rng)) == recipe_hash(recipe)


@pytest.mark.parametrize(
    "text",
    [
        "{method: grace, spectral: gentle}",
        "{spectral: {iterations: 1}, method: {name: grace, tau: 4.0e-1}}",
        "{training: {lr: 0.0005, patience: 20}, method: {edge_drop: [0.2, 0.4], name: grace}}",
        "{method: {tau: 0.4, hidden: 128, feature_drop: [0.3, 0.40]}, feature_noise: 0, spectral: {strength: 0.1250}}",
    ],
)
def test_how_a_recipe_is_written_does_not_matter(text: str) -> None:
    """Names alone or in sections, defaults or not, 1 or 1.0, 5e-4 or 0.0005."""
    assert recipe_hash(Recipe.parse(yaml.safe_load(text)).as_dict()) == recipe_hash(Recipe.parse({}).as_dict())


def test_precision_auto_counts_as_full() -> None:
    auto, full, half = (
        recipe_hash(Recipe.parse({"method": {"name": "grace", "precision": precision}}).as_dict())
        for precision in ("auto", "full", "bfloat16")
    )
    assert auto == full != half


@pytest.mark.parametrize("key", ["training.seed", "training.checkpoint_every", "training.diagnose_every"])
def test_what_changes_no_result_of_a_seed_is_left_out(key: str) -> None:
    recipe = Recipe.parse({})
    assert recipe_hash(recipe.updated({key: 7}).as_dict()) == recipe_hash(recipe.as_dict())


@pytest.mark.parametrize(
    "change",
    [
        {"training.epochs": 201},
        {"training.lr": 5.0001e-4},
        {"training.patience": None},
        {"method.tau": 0.41},
        {"method.edge_drop": [0.4, 0.2]},
        {"spectral.iterations": 2},
        {"spectral": "none"},
        {"feature_norm": "none"},
        {"feature_noise": 1e-4},
        {"without_leading": 1},
        {"smoothing": 1},
        {"own_features": 1.0},
        {"spectral.passes": 2},
        {"training.momentum": 0.8},
        {"edge_noise": 0.05},
        {"sampler.batch_size": 64},
    ],
)
def test_everything_else_counts(change: dict[str, Any]) -> None:
    recipe = Recipe.parse({})
    assert recipe_hash(recipe.updated(change).as_dict()) != recipe_hash(recipe.as_dict())


@pytest.mark.parametrize("path", LATER)
def test_a_ledger_may_be_older_than_a_key(path: str) -> None:
    """A run from before the key was there is the same as one with the value that all runs had then."""
    today = Recipe.parse({"spectral": "sfa"}).as_dict()
    recipe = {**flatten(today), **{key: LATER[key] for key in STEPS}}
    assert recipe_hash(recipe) == recipe_hash(today)
    section, _, key = path.rpartition(".")
    holder = recipe[section] if section else recipe
    assert holder.pop(key) == LATER[path]
    old = recipe_hash(recipe)
    assert old == recipe_hash(Recipe.parse(recipe).as_dict())
    holder[key] = "another"
    assert old != recipe_hash(recipe)


def test_a_key_of_the_same_name_elsewhere_counts() -> None:
    for at_home, elsewhere in (
        ("smoothing", "method"),
        ("passes", "method"),
        ("accumulate", "spectral"),
        ("seed", "a"),
    ):
        assert recipe_hash({elsewhere: {at_home: 1}}) != recipe_hash({elsewhere: {}})
    assert recipe_hash({"method": {"smoothing": 0}}) != recipe_hash({"method": {}})
    assert recipe_hash({"momentum": 0.9}) != recipe_hash({})


def test_a_key_tells_kinds_recipes_data_and_seeds_apart() -> None:
    keys = {
        run_key(kind, {"a": recipe}, fingerprint, seed)
        for kind in ("trained", "timed")
        for recipe in (1, 2)
        for fingerprint in ("x", "y")
        for seed in (0, 1)
    }
    assert len(keys) == 16
    assert all(len(key) == 16 and int(key, 16) >= 0 for key in keys)


def test_hashes_are_the_same_tomorrow() -> None:
    """A ledger outlives the process that filled it, and the version: the spelling is part of its format."""
    spelling = rb'{"a":{"x":"\u03b5","y":null},"b":[1,2.5],"training":{"lr":0.0001}}'
    recipe = {"training": {"seed": 1, "lr": 1e-4}, "b": [1, 2.5], "a": {"y": None, "x": "ε"}}
    assert recipe_hash(recipe) == hashlib.sha256(spelling).hexdigest()[:16]


def test_the_source_of_ones_own_part_counts_and_not_how_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = "from sfa.methods import GRACE\n\n\nclass Mine(GRACE):\n    pass\n"
    Path("one_of_mine.py").write_text(source)
    Path("the_same.py").write_text(source)
    Path("another.py").write_text(source + "# changed\n")
    hashes = [
        recipe_hash({"method": {"name": name}})
        for name in ("one_of_mine:Mine", "one_of_mine.py:Mine", "the_same.py:Mine", "another.py:Mine", "gone:Mine")
    ]
    assert len(set(hashes[:3])) == 1
    assert len(set(hashes)) == 3
