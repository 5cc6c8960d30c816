"""What each study compares, as the paper's tables have it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from sfa.errors import InputError
from sfa.paper.plans import Base, Variant
from sfa.registry import registered, resolve
from sfa.run import Recipe


def base(method: str = "grace", **changes: Any) -> Base:
    given = {key.replace("__", "."): value for key, value in changes.items()}
    return Base((method,), lambda name: Recipe.parse({"method": name}).updated(given))


def variants(study: str, start: Base | None = None) -> dict[str, Variant]:
    listed = list(resolve("study", study).variants(start or base()))
    assert len({variant.label for variant in listed}) == len(listed)
    return {variant.label: variant for variant in listed}


@pytest.mark.parametrize("study", registered("study"))
def test_every_study(study: str) -> None:
    found = variants(study)
    assert len(found) >= 2
    for variant in found.values():
        assert variant.baseline is None or variant.baseline in found
        assert variant.baseline != variant.label
    assert resolve("study", study).description.endswith(".")
    decisive = [(variant.kind, str(variant.decisive)) for variant in found.values()]
    assert len(set(decisive)) == len(decisive), "no two are the same run"


def test_ablation() -> None:
    found = variants("ablation")
    described = {
        label: (variant.recipe.spectral_name, variant.recipe.augmentation["edge_drop"][1] > 0)
        for label, variant in found.items()
    }
    assert described == {
        "none": ("none", False),
        "A_F": ("noise", False),
        "A_F*": ("sfa", False),
        "A_G": ("none", True),
        "A_G + A_F": ("noise", True),
        "A_G + A_F*": ("sfa", True),
        "A_G + A_F + A_F*": ("noise + sfa", True),
    }
    both = found["A_G + A_F + A_F*"].recipe
    assert both.spectral == [found["A_G + A_F"].recipe.spectral, found["A_G + A_F*"].recipe.spectral]
    assert list(found["A_F*"].recipe.augmentation["feature_drop"]) == [0.0, 0.0]
    baselines = {label: variant.baseline for label, variant in found.items()}
    assert (baselines["none"], baselines["A_F*"], baselines["A_G"]) == (None, "none", "none")
    assert baselines["A_G + A_F*"] == baselines["A_G + A_F"] == baselines["A_G + A_F + A_F*"] == "A_G"


@pytest.mark.parametrize("method", ["dgi", "mvgrl", "merit", "sugrl", "gae", "deepwalk", "joao", "simgrace"])
def test_a_method_without_graph_augmentation_has_no_ablation(method: str) -> None:
    with pytest.raises(InputError, match=f"graph augmentation of {method} is part of it, and cannot be taken away"):
        variants("ablation", base(method))


def test_passes_take_the_same_in_all_and_less_at_a_time() -> None:
    found = variants("passes")
    maps = {label: variant.recipe.spectral for label, variant in found.items()}
    assert maps.pop("none")["name"] == "none"
    takes = {label: spectral["passes"] * spectral["strength"] for label, spectral in maps.items()}
    assert {label for label, total in takes.items() if total == 1} == {"sfa, 1 pass of 1", "expectation, 1 pass of 1"}
    assert {label for label, total in takes.items() if total == 8} == {
        "sfa, 8 passes of 1",
        "sfa, 16 passes of 0.5",
        "sfa, 64 passes of 0.125",
        "expectation, 64 passes of 0.125",
    }
    assert all(spectral["name"] == label.split(",")[0] for label, spectral in maps.items())
    assert all(variant.baseline == "none" for label, variant in found.items() if label != "none")


def test_iterations() -> None:
    ks = [variant.recipe.spectral["iterations"] for variant in variants("iterations").values()]
    assert ks == [0, 1, 2, 4, 8]
    assert {variant.recipe.spectral["name"] for variant in variants("iterations").values()} == {"sfa"}


def test_noisy_features() -> None:
    found = variants("noisy-features")
    assert [(v.recipe.feature_noise, v.recipe.spectral["name"]) for v in found.values()] == [
        (noise, spectral) for noise in (1e-4, 1e-3, 1e-2, 1e-1) for spectral in ("none", "sfa")
    ]
    assert found["ε = 0.001, SFA"].baseline == "ε = 0.001"


def test_noisy_edges() -> None:
    found = variants("noisy-edges", base(method__tau=0.7))
    assert [(v.recipe.edge_noise, v.recipe.spectral["name"]) for v in found.values()] == [
        (noise, spectral) for noise in (0.05, 0.1, 0.2, 0.4) for spectral in ("none", "sfa")
    ]
    assert found["5 % random edges, SFA"].baseline == "5 % random edges"
    assert {(v.recipe.method["tau"], v.recipe.feature_noise, v.kind) for v in found.values()} == {(0.7, 0, "trained")}
    with pytest.raises(InputError, match="graphcl embeds whole graphs: leave it out"):
        variants("noisy-edges", base("graphcl"))


def test_spectral_maps() -> None:
    found = variants("spectral-maps")
    names = registered("spectral")
    assert set(names) <= set(found)
    assert all(found[name].recipe.spectral["name"] == name for name in names)
    assert {label for label in found if label not in names} == {
        "maxexp, no noise",
        "power-norm, no noise",
        "grassmann, no noise",
        "grassmann, randomised",
    }
    assert found["maxexp, no noise"].recipe.spectral["noise"] == 0
    assert found["grassmann, randomised"].recipe.spectral["method"] == "randomised"


def test_kappa() -> None:
    sfa, *rest = variants("kappa").values()
    assert sfa.recipe.spectral["name"] == "sfa"
    assert [variant.recipe.spectral["kappa"] for variant in rest] == [2, 5, 10, 15, 20, 30, 50, 100, 250]
    assert {variant.recipe.spectral["noise"] for variant in rest} == {0.0}


@pytest.mark.parametrize("study", ["methods", "clustering"])
def test_methods_with_and_without_sfa(study: str) -> None:
    start = Base(("grace", "g-bt"), lambda name: Recipe.parse({"method": name}))
    found = variants(study, start)
    trained = {label: variant for label, variant in found.items() if variant.kind == "trained"}
    assert [(v.recipe.method["name"], v.recipe.spectral["name"], v.baseline) for v in trained.values()] == [
        ("grace", "none", None),
        ("grace", "sfa", "grace"),
        ("g-bt", "none", None),
        ("g-bt", "sfa", "g-bt"),
    ]
    yardsticks = ["raw features", "propagated features"] + (
        ["untrained encoder", "supervised mlp", "supervised gcn"] if study == "methods" else []
    )
    assert [variant.kind for variant in found.values() if variant.kind != "trained"] == yardsticks


def test_run_time() -> None:
    without, with_ = variants("run-time").values()
    assert (without.recipe.spectral["name"], with_.recipe.spectral["name"]) == ("none", "sfa")
    assert without.kind == with_.kind == "timed"


def test_map_run_time() -> None:
    found = variants("map-run-time")
    described = {label: (v.recipe.spectral["name"], v.recipe.spectral.get("method")) for label, v in found.items()}
    assert described == {
        "none": ("none", None),
        "sfa": ("sfa", None),
        "grassmann, svd": ("grassmann", "svd"),
        "grassmann, randomised": ("grassmann", "randomised"),
    }
    assert {v.kind for v in found.values()} == {"timed"}
    assert {label for label, v in found.items() if v.baseline == "sfa"} == described.keys() - {"sfa"}
    assert resolve("study", "map-run-time").protocols == ("run-time",)


def test_run_time_by_iterations() -> None:
    without, *with_ = variants("run-time-k").values()
    assert (without.label, without.recipe.spectral["name"], without.baseline) == ("without SFA", "none", None)
    assert [variant.recipe.spectral["iterations"] for variant in with_] == [1, 2, 4, 8]
    assert {(variant.kind, variant.baseline) for variant in with_} == {("timed", "without SFA")}


def test_what_a_recipe_says_of_a_map_holds_on() -> None:
    found = variants("ablation", base(spectral__name="sfa", spectral__iterations=2))
    assert found["A_G + A_F*"].recipe.spectral["iterations"] == 2
    assert "iterations" not in found["A_G + A_F"].recipe.spectral


def test_a_yardstick_depends_on_no_more_than_it_uses() -> None:
    """So that it is the same run whatever method and training it stands beside."""
    one, other = (variants("methods", base(**changes)) for changes in ({}, {"training__lr": 1.0, "spectral": "none"}))
    for label in ("raw features", "propagated features", "untrained encoder", "supervised MLP", "supervised GCN"):
        assert one[label].decisive == other[label].decisive
    wider = variants("methods", base(method__hidden=64))
    assert one["raw features"].decisive == wider["raw features"].decisive
    assert one["untrained encoder"].decisive != wider["untrained encoder"].decisive
    smooth = variants("methods", base(without_leading=1, smoothing=2, own_features=1.0))
    for label in ("raw features", "propagated features", "supervised MLP", "supervised GCN"):
        assert one[label].decisive == smooth[label].decisive
    assert one["untrained encoder"].decisive != smooth["untrained encoder"].decisive
    assert one["grace"].decisive != smooth["grace"].decisive
    assert replace(one["grace"], kind="timed").decisive == replace(smooth["grace"], kind="timed").decisive
    noisy = variants("methods", base(feature_noise=0.1, training__seed=3))
    assert one["raw features"].decisive != noisy["raw features"].decisive
    assert noisy["raw features"].seed == 3
    assert variants("methods", base(training__seed=3))["raw features"].seed == 0
    rewired = variants("methods", base(edge_noise=0.1, training__seed=3))
    assert one["supervised GCN"].decisive != rewired["supervised GCN"].decisive
    assert rewired["raw features"].seed == 3


def test_an_unknown_study() -> None:
    with pytest.raises(InputError, match="did you mean 'ablation'"):
        resolve("study", "ablations")
