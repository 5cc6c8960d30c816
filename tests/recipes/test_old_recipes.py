"""Recipes that were written before encoder and augmentation had sections of their own are read, and stay the same.

``old_recipes.json.gz`` was recorded with the version before: for each method, without a map and with SFA, the complete
recipe of a short run and that of its defaults, their hashes, the names of its weights and its first loss; and every
shipped recipe with its hash.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.data import load
from sfa.methods import Method
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe
from sfa.run.identity import recipe_hash
from sfa.run.legacy import CORRECTED, OLD, flatten, modern_paths, modernize, uncorrected
from sfa.train import LambdaCallback, train

RECORDED = json.loads(gzip.decompress((Path(__file__).parent / "old_recipes.json.gz").read_bytes()))
METHODS: dict[str, dict[str, Any]] = RECORDED["methods"]
SHIPPED: dict[str, dict[str, Any]] = RECORDED["shipped"]
NAMES = [key.removesuffix("/none") for key in METHODS if key.endswith("/none")]


def hash_of(recipe: Recipe) -> str:
    return recipe_hash(recipe.as_dict())


def built(recipe: Recipe, planted: Data, molecules: Data, pictures: Data) -> Method:
    data = {"node": planted, "graph": molecules, "image": pictures}
    return recipe.build_for(data[resolve("method", recipe.method["name"]).task])


def test_every_method_of_then_is_recorded() -> None:
    assert len(NAMES) == 27
    assert set(NAMES) - {"deepwalk", "node2vec"} == set(OLD)
    assert {key.split("/")[1] for key in METHODS} == {"none", "sfa"}


def test_an_old_recipe_keeps_its_hash() -> None:
    for key, method in METHODS.items():
        for which, known in (("recipe", method["hash"]), ("default", method["default_hash"])):
            assert recipe_hash(method[which]) == known, f"as it stands in a ledger: {key}"
            recipe = Recipe.parse(method[which])
            assert hash_of(recipe) == known, key
            assert Recipe.parse(recipe.as_dict()) == recipe, key
            assert Recipe.parse(json.loads(json.dumps(recipe.as_dict()))) == recipe, key
            assert modernize(recipe.as_dict()) == recipe.as_dict(), f"today's layout is left as it is: {key}"


def of_today(old: Mapping[str, Any]) -> Recipe:
    """An old recipe with the precision that is the default today and has the hash of the old default."""
    recipe = Recipe.parse(old)
    return recipe.updated({"method.precision": "auto"}) if recipe.method.get("precision") == "full" else recipe


def test_defaults_are_what_they_were_unless_they_were_corrected() -> None:
    for key, method in METHODS.items():
        name, spectral = key.split("/")
        today, old = Recipe.parse({"method": name, "spectral": spectral}), method["default_hash"]
        assert (hash_of(today) == old) is (name not in CORRECTED), key
        assert hash_of(uncorrected(today)) == old, key
        assert uncorrected(uncorrected(today)) == uncorrected(today) == of_today(method["default"]), key


def test_shipped_recipes_keep_their_hash_unless_the_method_was_corrected() -> None:
    for name, shipped in SHIPPED.items():
        known = shipped["hash"]
        assert hash_of(Recipe.parse(shipped["recipe"])) == known, name
        if name.startswith("best/"):  # which names another recipe when a better one is found
            continue
        today = load_recipe(name)
        assert hash_of(today) == known or today.method["name"] in CORRECTED, name
        assert hash_of(uncorrected(today)) == known, name
        assert hash_of(today) != known or today == of_today(shipped["recipe"]), name


def test_shipped_recipes_of_corrected_methods_are_corrected() -> None:
    """But for those that were tuned as the method was: theirs is what was found for it."""
    changed = {name for name, old in SHIPPED.items() if hash_of(load_recipe(name)) != old["hash"]}
    own = {name for name in SHIPPED if name.split("/")[0] in CORRECTED}
    assert {name for name in changed if not name.startswith("best/")} == own


@pytest.mark.parametrize("key", METHODS)
def test_weights_have_their_old_names_and_order(key: str, planted: Data, molecules: Data, pictures: Data) -> None:
    """Optimizers number their states by the order of weights, and checkpoints hold both."""
    old, method = METHODS[key], built(Recipe.parse(METHODS[key]["recipe"]), planted, molecules, pictures)
    renamed = "mlp." if key.startswith("sugrl/") else "encoder."
    assert [name.replace("encoder.", renamed, 1) for name in method.state_dict()] == old["keys"]
    assert [name.replace("encoder.", renamed, 1) for name, _ in method.named_parameters()] == old["params"]


def test_weights_of_sugrl_are_read_by_their_old_name(planted: Data) -> None:
    method = Recipe.parse(METHODS["sugrl/none"]["recipe"]).build_for(planted)
    old = {
        name.replace("encoder.", "mlp.", 1): torch.full_like(value, 0.5) for name, value in method.state_dict().items()
    }
    assert any(name.startswith("mlp.") for name in old)
    method.load_state_dict(old)
    assert all(torch.equal(value, torch.full_like(value, 0.5)) for value in method.state_dict().values())


@pytest.mark.parametrize(
    "key",
    [
        "grace/sfa",
        "g-bt/none",
        "gca/none",
        "mvgrl/sfa",
        "sugrl/none",
        "gae/none",
        "vgae/none",
        "cca-ssg/sfa",
        "graphcl/sfa",
        "graph-bgrl/none",
        "lp-info/none",
        "simclr/sfa",
        "byol/none",
    ],
)
def test_the_first_loss_is_the_old_one(key: str) -> None:
    recipe = Recipe.parse(METHODS[key]["recipe"])
    data = load({"node": "cora", "graph": "mutag", "image": "digits"}[resolve("method", recipe.method["name"]).task])
    losses: list[float] = []

    class Enough(Exception):
        pass

    def stop(state: Any) -> None:
        losses.append(state.loss)
        raise Enough

    with pytest.raises(Enough):
        train(
            recipe.build_for(data),
            recipe.prepare(data),
            **recipe.training.arguments,
            sampler=recipe.make_sampler(),
            device="cpu",
            callbacks=[LambdaCallback(on_step_end=stop)],
        )
    assert losses == [pytest.approx(METHODS[key]["loss"], rel=1e-5)]


@pytest.mark.parametrize("name", NAMES)
def test_old_paths_lead_to_where_the_options_are(name: str) -> None:
    """Every option of every old method, changed by its old path, is the one that the old recipe has."""
    default, short = (METHODS[f"{name}/none"][which] for which in ("default", "recipe"))
    changes = {f"method.{key}": value for key, value in short["method"].items() if key != "name"}
    changes |= {f"training.{key}": value for key, value in short["training"].items()}
    updated = Recipe.parse(default).updated(
        {**changes, "sampler": short["sampler"], "feature_norm": short["feature_norm"]}
    )
    assert hash_of(updated) == METHODS[f"{name}/none"]["hash"]
    known = updated.as_dict()
    for key, value in short["method"].items():
        for path, expected in modern_paths(name, key, value):
            section, option = path.split(".")
            assert known[section][option] == expected


def test_a_recipe_of_the_old_layout_is_flattened_to_itself() -> None:
    for old in (*METHODS.values(), *SHIPPED.values()):
        flat = flatten(Recipe.parse(old["recipe"]).as_dict())
        assert flat["method"] == old["recipe"]["method"]
        assert flat.keys() & {"encoder", "augmentation", "postprocess"} == set()


def test_what_the_old_layout_could_not_say_counts() -> None:
    recipe = Recipe.parse({})
    changed = [
        {"encoder.norm_momentum": 0.2},
        {"encoder.activate_last": False},
        {"augmentation.directed": True},
        {"encoder": {"name": "torch_geometric.nn:GCN", "hidden_channels": 8, "num_layers": 2}},
        {"augmentation": "identity"},
        {"augmentation": ["uniform", "uniform"]},
        {"spectral": ["sfa", "sfa"]},
        {"postprocess": ["concat-features", "propagate"]},
        {"postprocess": ["propagate", "concat-features"]},
        {"postprocess": ["propagate", "propagate"]},
    ]
    hashes = [hash_of(recipe.updated(change)) for change in changed]
    assert len({*hashes, hash_of(recipe)}) == len(changed) + 1


def test_a_list_of_one_is_that_one() -> None:
    for key, one in (("spectral", {"name": "sfa", "iterations": 2}), ("augmentation", {"name": "uniform"})):
        assert hash_of(Recipe.parse({key: [one]})) == hash_of(Recipe.parse({key: one}))


def test_what_is_changed_by_an_old_section_is_corrected_and_what_is_parsed_is_not() -> None:
    """An old recipe is what it was; ``--set method.hidden=7`` is of the method as it is now."""
    old = Recipe.parse({"method": {"name": "g-bt", "hidden": 7}})
    assert (old.encoder["hidden"], old.encoder["norm_momentum"], old.encoder["activate_last"]) == (7, 0.1, True)
    for change in ({"method.hidden": 7}, {"method": {"name": "g-bt", "hidden": 7}}):
        now = Recipe.parse({"method": "g-bt"}).updated(change)
        assert (now.encoder["hidden"], now.encoder["norm_momentum"], now.encoder["activate_last"]) == (7, 0.01, False)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"method": "sugrl"}, "2c46029625bed922"),
        ({"method": "sugrl", "encoder": {"dropout": 0.2}}, "9c827d9c3ffaf976"),
        ({"method": "grace", "encoder": "mlp"}, "e9140fb501a4c8ca"),
        ({"method": "dgi", "encoder": {"name": "mlp", "inner": 64}}, "101afa121d73a97e"),
    ],
)
def test_recipes_with_an_mlp_keep_their_hash_until_they_use_its_newer_options(
    given: dict[str, Any], expected: str
) -> None:
    assert hash_of(Recipe.parse(given)) == expected
    for option, value in (("activation", "prelu"), ("layer_norm", True), ("activate_last", True)):
        assert hash_of(Recipe.parse(given).updated({f"encoder.{option}": value})) != expected
