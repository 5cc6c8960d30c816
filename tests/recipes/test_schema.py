"""Recipes are checked key by key, and say in one sentence what is wrong with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph.batches import replace_edges
from sfa.run import Recipe, load_recipe
from sfa.run.train_recipe import record_of


def test_an_empty_recipe_is_grace_with_gentle_sfa() -> None:
    recipe = Recipe.parse({})
    assert (recipe.method["name"], recipe.spectral["name"]) == ("grace", "sfa")
    assert (recipe.encoder["name"], recipe.encoder["hidden"], recipe.augmentation["name"]) == ("gcn", 128, "uniform")
    assert (recipe.spectral["iterations"], recipe.spectral["passes"], recipe.spectral["strength"]) == (1, 64, 0.125)


@pytest.mark.parametrize(
    "given", [{"spectral": "sfa"}, {"spectral": {"name": "sfa"}}, {"method": "graphcl"}, {"method": "simclr"}]
)
def test_sfa_by_its_name_and_at_other_levels_is_algorithm_1(given: dict[str, Any]) -> None:
    spectral = Recipe.parse(given).spectral
    assert (spectral["name"], spectral["passes"], spectral["strength"]) == ("sfa", 1, 1.0)


def test_gentle_is_a_name_and_what_options_without_one_are_of() -> None:
    gentle = Recipe.parse({})
    given: list[dict[str, Any]] = [{"spectral": "gentle"}, {"spectral": {}}, {"spectral": {"name": "gentle"}}]
    assert all(Recipe.parse(one) == gentle for one in given)
    twice = gentle.updated({"spectral.iterations": 2})
    assert twice == Recipe.parse({"spectral": {"iterations": 2}}) != gentle
    assert twice.spectral["passes"] == 64
    plain = gentle.updated({"spectral.name": "sfa"})
    assert plain == Recipe.parse({"spectral": "sfa"})
    assert plain.updated({"spectral.name": "gentle"}) == gentle == plain.updated({"spectral": "gentle"})
    assert Recipe.parse({"method": "graphcl", "spectral": "gentle"}).spectral == gentle.spectral
    mine = Recipe.parse({"spectral": {"name": "sfa", "passes": 3}})
    assert mine.updated({"spectral.name": "sfa"}) == mine, "the same name keeps its options"


def test_another_method_for_nodes_keeps_the_gentle_map() -> None:
    assert Recipe.parse({"method": "g-bt"}).spectral == Recipe.parse({}).spectral
    assert Recipe.parse({}).updated({"method.name": "g-bt"}).spectral == Recipe.parse({}).spectral


def test_defaults_are_those_of_the_class() -> None:
    assert Recipe.parse({"method": "g-bt"}).encoder["batch_norm"] is True
    assert Recipe.parse({"method": "grace"}).encoder["batch_norm"] is False


def test_a_name_is_short_for_a_section() -> None:
    assert Recipe.parse({"method": "g-bt", "spectral": None}) == Recipe.parse(
        {"method": {"name": "g-bt"}, "spectral": {"name": "none"}}
    )


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        ({"metod": "grace"}, "method"),
        ({"method": "grcae"}, "grace"),
        ({"method": {"name": "gbt"}}, "g-bt"),
        ({"method": {"taus": 0.5}}, "tau"),
        ({"augmentation": {"edge_dropp": [0, 0]}}, "edge_drop"),
        ({"method": {"edge_dropp": [0, 0]}}, "augmentation.edge_drop"),
        ({"method": {"hiden": 8}}, "encoder.hidden"),
        ({"augmentation": "unifrom"}, "uniform"),
        ({"encoder": {"hiden": 3}}, "hidden"),
        ({"encoder": "gnn"}, "gin"),
        ({"postprocess": ["propagat"]}, "propagate"),
        ({"postprocess": [{"name": "propagate", "hop": 2}]}, "hops"),
        ({"spectral": ["noise", {"name": "sfa", "iteration": 2}]}, "iterations"),
        ({"spectral": ["nois", "sfa"]}, "noise"),
        ({"spectral": "sfaa"}, "sfa"),
        ({"spectral": "gentel"}, "gentle"),
        ({"spectral": {"iteration": 2}}, "iterations"),
        ({"training": {"epoch": 5}}, "epochs"),
        ({"training": {"patients": 5}}, "patience"),
    ],
    ids=str,
)
def test_an_unknown_name_or_key_is_told_with_the_nearest(given: dict[str, Any], nearest: str) -> None:
    with pytest.raises(InputError, match=f"Unknown .* did you mean '{nearest}'"):
        Recipe.parse(given)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"training.epochs": 0}, "epochs"),
        ({"training.epochs": 2.5}, "epochs"),
        ({"training.epochs": None}, "epochs"),
        ({"training.lr": 0}, "lr"),
        ({"training.lr": float("nan")}, "lr"),
        ({"training.lr": "fast"}, "lr"),
        ({"training.seed": -1}, "seed"),
        ({"training.patience": 0}, "patience"),
        ({"method.hidden": 0}, "hidden"),
        ({"method.tau": 0}, "tau"),
        ({"method.tau": float("inf")}, "tau"),
        ({"method.activation": "tanh"}, "activation"),
        ({"method.edge_drop": 0.2}, "edge_drop"),
        ({"method.edge_drop": [0.2]}, "edge_drop"),
        ({"method.edge_drop": [0.2, 1.2]}, "edge_drop"),
        ({"spectral.iterations": -1}, "iterations"),
        ({"feature_norm": "column"}, "feature_norm"),
        ({"smoothing": -1}, "hops"),
        ({"own_features": -1}, "weight"),
        ({"own_features": float("inf")}, "weight"),
        ({"smoothing": 1.5}, "hops"),
        ({"smoothing": None}, "hops"),
        ({"training": 3}, "training"),
        ({"method": 3}, "method"),
        ({"method.name": 3}, "method"),
        ({"method.name": ["grace"]}, "method"),
        ({"spectral.name": {"name": "sfa"}}, "spectral"),
    ],
    ids=str,
)
def test_a_wrong_value_is_told_with_its_key(changes: dict[str, Any], key: str) -> None:
    with pytest.raises(InputError, match=key) as raised:
        Recipe.parse({}).updated(changes)
    assert "\n" not in str(raised.value)


def test_keys_that_are_no_words() -> None:
    with pytest.raises(InputError):
        Recipe.parse({1: 2})
    with pytest.raises(InputError):
        Recipe.parse({"method": {1: 2}})


def test_updating_by_path() -> None:
    recipe = Recipe.parse({"method": {"tau": 0.7}}).updated({"training.epochs": 5, "feature_norm": "none"})
    assert (recipe.method["tau"], recipe.training.epochs, recipe.feature_norm) == (0.7, 5, "none")


def test_options_and_a_name_may_come_by_different_paths() -> None:
    recipe = Recipe.parse({}).updated({"spectral": {"iterations": 3}, "spectral.name": "sfa"})
    assert recipe == Recipe.parse({"spectral": {"name": "sfa", "iterations": 3}})


def test_another_method_starts_from_its_own_defaults() -> None:
    recipe = Recipe.parse({"method": {"name": "grace", "hidden": 7}}).updated(
        {"method.layers": 3, "method.name": "g-bt"}
    )
    own = Recipe.parse({"method": "g-bt"})
    assert recipe.method == own.method
    assert recipe.encoder == {**own.encoder, "layers": 3}


def test_another_method_brings_its_authors_settings_and_keeps_what_is_not_its_affair() -> None:
    recipe = Recipe.parse(
        {
            "spectral": {"iterations": 3},
            "feature_noise": 0.1,
            "edge_noise": 0.2,
            "training": {"lr": 0.7, "seed": 5, "diagnose_every": 2, "checkpoint_every": 3},
        }
    ).updated({"method.name": "dgi"})
    own = Recipe.parse({"method": "dgi"})
    assert recipe.training == own.training.model_copy(update={"seed": 5, "diagnose_every": 2, "checkpoint_every": 3})
    assert own.training.lr == 1e-3
    assert recipe.spectral["iterations"] == 3
    assert (recipe.feature_noise, recipe.edge_noise) == (0.1, 0.2)
    assert Recipe.parse({"method": {"name": "dgi"}, "training": {"lr": 0.7}}).training.lr == 0.7
    assert recipe.updated({"method": {"name": "dgi", "hidden": 7}, "training.lr": 0.2}).training.lr == 0.2


def test_the_same_method_again_changes_nothing() -> None:
    recipe = Recipe.parse({"method": {"tau": 0.7}, "training": {"lr": 0.7}})
    assert recipe.updated({"method.name": "grace"}) == recipe


@pytest.mark.parametrize(("epochs", "warmup"), [(1000, 100), (50, 5), (1, 0), (2000, 200)])
def test_other_epochs_stretch_the_authors_warm_up(epochs: int, warmup: int) -> None:
    parsed = Recipe.parse({"method": "g-bt", "training": {"epochs": epochs}})
    updated = Recipe.parse({"method": "g-bt"}).updated({"training.epochs": epochs})
    assert parsed.training.warmup == updated.training.warmup == warmup
    fixed = Recipe.parse({"method": "g-bt"}).updated({"training.epochs": epochs, "training.warmup": 7})
    assert fixed.training.warmup == 7


def test_a_warm_up_that_was_asked_for_stays() -> None:
    bgrl = Recipe.parse({"method": "bgrl"})
    assert Recipe.parse({}).updated({"training": {"warmup": 5}}).training.warmup == 5
    assert bgrl.updated({"training": {"epochs": 10, "warmup": 2}}).training.warmup == 2
    assert bgrl.updated({"training": {"epochs": 10}}).training.warmup == 1
    assert bgrl.updated({"training.lr": 0.1}).training.warmup == bgrl.training.warmup


def test_a_key_inside_a_section_may_have_a_sections_name() -> None:
    recipe = Recipe.parse({"spectral": "grassmann"}).updated({"spectral.method": "randomised"})
    assert recipe.spectral["method"] == "randomised"


def test_a_sampler_that_a_method_cannot_use() -> None:
    assert Recipe.parse({"method": "deepwalk"}).sampler["name"] == "starts"
    assert Recipe.parse({}).updated({"method.name": "deepwalk"}).sampler["name"] == "starts"
    assert Recipe.parse({"method": "deepwalk"}).updated({"method.name": "grace"}).sampler["name"] == "whole"
    assert Recipe.parse({"method": "deepwalk"}).updated({"sampler.batch_size": 9}).sampler["batch_size"] == 9
    with pytest.raises(InputError, match="with the sampler starts"):
        Recipe.parse({"method": "deepwalk", "sampler": "whole"})


def test_starts_are_for_methods_that_walk() -> None:
    with pytest.raises(InputError, match="for methods that walk"):
        Recipe.parse({"sampler": "starts"})


def test_another_method_keeps_a_sampler_that_was_asked_for() -> None:
    recipe = Recipe.parse({"sampler": {"batch_size": 64}}).updated({"method.name": "g-bt"})
    assert (recipe.sampler["name"], recipe.sampler["batch_size"]) == ("neighbours", 64)


def test_features_are_made_noisy_before_they_are_normalised(planted: Data) -> None:
    recipe = Recipe.parse({"feature_noise": 0.5, "feature_norm": "row"})
    prepared = recipe.prepare(planted)
    torch.testing.assert_close(prepared.x.abs().sum(1), torch.ones(60))
    noisy = recipe.updated({"feature_norm": "none"}).prepare(planted).x - planted.x
    assert noisy.std().item() == pytest.approx(0.5, rel=0.1)
    assert torch.equal(recipe.prepare(planted).x, prepared.x)
    assert not torch.equal(recipe.updated({"training.seed": 1}).prepare(planted).x, prepared.x)
    assert Recipe.parse({"feature_norm": "none"}).prepare(planted) is planted


def test_edges_are_replaced_before_training_and_embedding(planted: Data) -> None:
    recipe = Recipe.parse({"edge_noise": 0.25, "feature_norm": "none"})
    prepared = recipe.prepare(planted)
    assert torch.equal(prepared.edge_index, replace_edges(planted, 0.25, 0).edge_index)
    assert not torch.equal(prepared.edge_index, planted.edge_index)
    assert prepared.x is planted.x
    other = recipe.updated({"training.seed": 1})
    assert torch.equal(other.prepare(planted).edge_index, replace_edges(planted, 0.25, 1).edge_index)
    both = recipe.updated({"feature_noise": 0.1}).prepare(planted)
    assert torch.equal(both.edge_index, prepared.edge_index)
    assert torch.equal(both.x, recipe.updated({"feature_noise": 0.1, "edge_noise": 0}).prepare(planted).x)


@pytest.mark.parametrize("share", [-0.1, 1.01, float("nan"), "half", None])
def test_a_share_of_the_edges_that_is_none(share: object) -> None:
    with pytest.raises(InputError, match="'edge_noise'"):
        Recipe.parse({"edge_noise": share})


@pytest.mark.parametrize(("method", "items"), [("graphcl", "whole graphs"), ("simclr", "images")])
def test_edges_are_replaced_in_one_graph_only(method: str, items: str) -> None:
    with pytest.raises(
        InputError, match=f"^edge_noise replaces edges of one graph, and {method} embeds {items}: leave"
    ):
        Recipe.parse({"method": method, "edge_noise": 0.1})
    assert Recipe.parse({"method": method, "edge_noise": 0}).edge_noise == 0


def test_weights_for_each_node_need_their_number() -> None:
    with pytest.raises(InputError, match="say how many nodes"):
        Recipe.parse({"method": "deepwalk"}).build(8)


@pytest.mark.parametrize("path", ["metod.tau", "method.tau.x", "training.epochs.x.y"])
def test_a_path_that_leads_nowhere(path: str) -> None:
    with pytest.raises(InputError, match=path):
        Recipe.parse({}).updated({path: 1})


def test_building_depends_on_the_seed_alone() -> None:
    recipe = Recipe.parse({"method": {"hidden": 4}})
    state = torch.get_rng_state()
    first = recipe.build(3).state_dict()
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(99)
    second = recipe.build(3).state_dict()
    other = recipe.updated({"training.seed": 1}).build(3).state_dict()
    key = "head.0.weight"
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first[key], other[key])


def test_options_reach_the_method() -> None:
    built = Recipe.parse({"method": {"hidden": 6, "tau": 0.9}, "spectral": {"iterations": 3}}).build(5)
    assert built.tau == 0.9
    assert built.spectral.iterations == 3
    assert built.head[0].in_features == 6


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("method: g-bt\ntraining:\n  lr: 1e-3\n  patience: null\n")
    recipe = load_recipe(path)
    assert (recipe.method["name"], recipe.training.lr, recipe.training.patience) == ("g-bt", 0.001, None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "mine.yaml does not exist"),
        ("method: [unclosed", "not valid YAML"),
        ("- a\n- b", "must be a mapping"),
        ("", "must be a mapping"),
        (b"\xff\xfe", "not text"),
        ("method: !!python/object/apply:os.mkdir [marker]", "not valid YAML"),
    ],
)
def test_a_file_that_is_no_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str | bytes | None, reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.yaml"
    if content is not None:
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=reason) as raised:
        load_recipe(path)
    assert "\n" not in str(raised.value)
    assert str(path) in str(raised.value)
    assert not (tmp_path / "marker").exists()


def test_an_unknown_name_and_an_unknown_data_set() -> None:
    with pytest.raises(InputError, match="did you mean 'paper/cora'"):
        load_recipe("paper/coar")
    with pytest.raises(InputError, match=r"no 'paper' recipe for karate.*cora"):
        load_recipe("paper", "karate")


def test_what_is_done_to_the_features_is_said(planted: Data) -> None:
    assert Recipe.parse({}).preparation == "rows divided by their absolute sum"
    noisy = Recipe.parse({"feature_norm": "standard", "feature_noise": 0.01})
    assert noisy.preparation == "columns standardized, noise of deviation 0.01 added before"
    assert record_of(noisy, planted, {})["features"] == noisy.preparation
    rewired = Recipe.parse({"edge_noise": 0.07})
    assert rewired.preparation == "rows divided by their absolute sum, 7 % of the edges replaced at random"


@pytest.mark.parametrize("given", [32, "32"])
def test_a_precision_that_yaml_reads_as_a_number_is_meant(given: object) -> None:
    assert Recipe.parse({"training": {"precision": given}}).training.precision == "32"


def test_images_have_no_features_to_normalise() -> None:
    for given in ({"feature_norm": "row"}, {"feature_noise": 0.1}):
        with pytest.raises(InputError, match="simclr embeds images, which"):
            Recipe.parse({"method": "simclr", **given})


@pytest.mark.parametrize(("method", "items"), [("graphcl", "whole graphs"), ("simclr", "images")])
@pytest.mark.parametrize("key", ["without_leading", "smoothing", "own_features"])
def test_postprocessing_is_of_nodes(method: str, items: str, key: str) -> None:
    said = f"^{method} embeds {items}, and postprocessing is of embeddings of the nodes of one graph: leave it out\\.$"
    with pytest.raises(InputError, match=said):
        Recipe.parse({"method": method, key: 1})
    node = Recipe.parse({key: 1})
    with pytest.raises(InputError, match=said):
        node.updated({"method.name": method})
    assert node.updated({"method.name": method, key: 0}) == Recipe.parse({"method": method})
    assert Recipe.parse({"method": method, key: 0}).postprocess == []
    assert node.updated({"method.name": "dgi"}).postprocess == node.postprocess


def test_something_must_be_left_of_embeddings() -> None:
    recipe = Recipe.parse(
        {"method": "grace", "encoder": {"hidden": 4}, "postprocess": [{"name": "remove-top-pcs", "count": 3}]}
    )
    [step] = recipe.build(5).postprocess
    assert step.count == 3
    with pytest.raises(InputError, match="their 4 leading directions"):
        recipe.updated({"without_leading": 4}).build(5)


def test_old_keys_of_postprocessing_are_steps_in_their_order() -> None:
    recipe = Recipe.parse({"own_features": 0.5, "smoothing": 2, "without_leading": 1})
    assert recipe.postprocess == [
        {"name": "remove-top-pcs", "count": 1},
        {"name": "propagate", "hops": 2, "concat": False},
        {"name": "concat-features", "weight": 0.5},
    ]
    assert recipe.updated({"smoothing": 0}).postprocess == [recipe.postprocess[0], recipe.postprocess[2]]
    assert recipe.updated({"smoothing": 3, "own_features": 0}).postprocess == [
        recipe.postprocess[0],
        {"name": "propagate", "hops": 3, "concat": False},
    ]
    assert recipe.updated({"method.name": "dgi", "smoothing": 1}).postprocess[1]["hops"] == 1


def test_postprocessing_is_not_the_methods_affair() -> None:
    recipe = Recipe.parse({"postprocess": ["propagate"]})
    assert recipe.updated({"method.name": "dgi"}).postprocess == [{"name": "propagate", "hops": 1, "concat": False}]
    assert recipe.updated({"postprocess.0.hops": 2}).postprocess == [{"name": "propagate", "hops": 2, "concat": False}]
    assert [type(step).__name__ for step in recipe.build(5).postprocess] == ["Propagate"]
    assert Recipe.parse({}).build(5).postprocess == ()


def test_a_recipe_from_before_there_was_postprocessing() -> None:
    old = Recipe.parse({}).as_dict()
    del old["postprocess"]
    assert Recipe.parse(old) == Recipe.parse({})
