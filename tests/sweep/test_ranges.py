"""Ranges in words, from files, and against a recipe."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfa.errors import InputError
from sfa.run import Recipe
from sfa.sweep import Space, load_ranges, merged, parse_range, shipped_ranges
from sfa.sweep.ranges import Choices, Interval

GRACE = Recipe.parse({"method": "grace"})


def space(*ranges: str, recipe: Recipe = GRACE) -> Space:
    return Space.of(recipe, map(parse_range, ranges))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("training.lr=1e-4..1e-2:log", Interval("training.lr", 1e-4, 1e-2, log=True)),
        ("method.tau=0.1..1", Interval("method.tau", 0.1, 1.0)),
        ("training.epochs=100..500:100", Interval("training.epochs", 100, 500, step=100, whole=True)),
        ("method.tau=0..0.55:0.1", Interval("method.tau", 0, 0.5, step=0.1)),
        ("spectral.name=none,sfa", Choices("spectral.name", ("none", "sfa"))),
        ("method.tau=1e-1,0.5", Choices("method.tau", (0.1, 0.5))),
        ("method.edge_drop=[0.2,0.4],[0,0]", Choices("method.edge_drop", ([0.2, 0.4], [0, 0]))),
        ("training.patience=20,null", Choices("training.patience", (20, None))),
        ("spectral.detach=true,false", Choices("spectral.detach", (True, False))),
    ],
)
def test_ranges_in_words(text: str, expected: Choices | Interval) -> None:
    assert parse_range(text) == expected
    assert parse_range(f"{expected.key}={expected.text}") == expected, "its own text gives it back"


@given(st.floats(-100, 100), st.floats(0.01, 1000), st.integers(1, 30))
def test_a_grid_begins_and_ends_within_its_range(low: float, width: float, count: int) -> None:
    found = parse_range(f"k={low!r}..{low + width!r}:{width / count!r}")
    assert isinstance(found, Interval)
    values = found.grid()
    assert values[0] == pytest.approx(low, abs=1e-9)
    assert values[-1] <= low + width + 1e-6 * width
    assert len(values) in (count, count + 1)
    assert list(values) == sorted(set(values))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("training.lr", "KEY=LOW..HIGH"),
        ("=1..2", "KEY=LOW..HIGH"),
        ("training.lr=", "KEY=LOW..HIGH"),
        ("training.lr=1e-2..1e-4", "must rise"),
        ("training.lr=0..inf", "must rise"),
        ("training.lr=0..1:log", "begin above 0"),
        ("training.lr=a..b", "is not LOW..HIGH"),
        ("training.lr=0..1:linear", "is not LOW..HIGH"),
        ("training.lr=0..1:2", "step"),
        ("training.lr=[1,2", "separate them by commas"),
        ("training.lr=1,1", "twice"),
    ],
)
def test_what_is_no_range(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse_range(text)


@pytest.mark.parametrize(
    ("ranges", "says"),
    [
        (["training.rl=1e-3..1"], "did you mean 'training.lr'"),
        (["spectral.iteration=1..2"], "did you mean 'spectral.iterations'"),
        (["method.edge_drop.2=0..1"], "Unknown recipe key"),
        (["augmentation.edge_drop.2=0..1"], "Unknown recipe key"),
        (["augmentation.edge_drop.0=0..2"], "cannot be searched"),
        (["encoder.hiden=8,16"], "did you mean 'encoder.hidden'"),
        (["encoder=gcn,gni"], "did you mean 'gin'"),
        (["method.edge_drop.0=0..2"], "cannot be searched"),
        (["training.lr=-1..1"], "cannot be searched"),
        (["spectral.name=none,sfb"], "did you mean 'sfa'"),
        (["spectral.name=0..1"], "no number: give choices"),
        (["spectral=none,nun"], "did you mean 'none'"),
        (["training.epochs=1.5..3"], "whole numbers"),
        (["training.cosine=0..1"], "no number"),
        (["method=grace,graphcl"], "cannot be searched"),
        (["training.seed=0..5"], "--seeds"),
        (["training.diagnose_every=0..5"], "changes no result"),
        (["training=1,2"], "section"),
        (["method.tau=0.1..1", "method.tau=0.2,0.3"], "two ranges"),
        (["spectral=none,sfa", "spectral.name=sfa"], "two ranges"),
        ([], "needs ranges"),
    ],
)
def test_ranges_that_do_not_fit_the_recipe(ranges: list[str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        space(*ranges)


def test_ranges_have_the_type_of_their_key() -> None:
    lr, epochs, patience = space("training.lr=1..2", "training.epochs=1e1..1e2", "training.patience=5..9").ranges
    assert isinstance(lr, Interval)
    assert not lr.whole, "1 and 2 look whole, but a rate is not"
    assert isinstance(epochs, Interval)
    assert epochs.grid() == tuple(range(10, 101))
    assert all(isinstance(value, int) for value in epochs.grid())
    assert isinstance(patience, Interval)
    assert patience.whole


def test_options_apply_to_the_names_that_have_them() -> None:
    found = space("spectral.iterations=1,2", "method.tau=0.2,0.4", "spectral.name=none,sfa")
    assert found.ranges[0].key == "spectral.name", "names are settled first"
    points = found.grid()
    assert len(points) == 2 + 4
    for point in points:
        assert ("spectral.iterations" in point) == (point["spectral.name"] == "sfa")
        recipe = found.with_values(point)
        assert recipe.spectral["name"] == point["spectral.name"]
        assert recipe.method["tau"] == point["method.tau"]
        assert recipe.spectral.get("iterations") == point.get("spectral.iterations")


def test_elements_of_lists() -> None:
    for section in ("augmentation", "method"):  # the second as before augmentations had sections of their own
        keys = [f"{section}.{key}" for key in ("edge_drop.1", "feature_drop.0", "feature_drop.1")]
        found = space(f"{keys[0]}=0..0.6", f"{keys[1]}=0,0.5", f"{keys[2]}=0.1,0.2")
        assert [one.key for one in found.ranges] == keys
        recipe = found.with_values(dict(zip(keys, (0.25, 0.5, 0.1), strict=True)))
        assert list(recipe.augmentation["edge_drop"]) == [GRACE.augmentation["edge_drop"][0], 0.25]
        assert list(recipe.augmentation["feature_drop"]) == [0.5, 0.1]


def test_old_keys_are_those_of_today() -> None:
    old = space("method.hidden=8,16", "method.activation=relu,elu", "smoothing=0..2", "own_features=0,0.5")
    new = space("encoder.hidden=8,16", "encoder.activation=relu,elu", "smoothing=0..2", "own_features=0,0.5")
    assert [old.with_values(values) for values in old.grid()] == [new.with_values(values) for values in new.grid()]
    assert len({str(old.with_values(values)) for values in old.grid()}) == 2 * 2 * 3 * 2
    with pytest.raises(InputError, match=r"two ranges of encoder\.hidden"):
        space("method.hidden=8,16", "encoder.hidden=4,8")
    vgae = Recipe.parse({"method": "vgae"})
    assert space("method.hidden=8,16", recipe=vgae).with_values({"method.hidden": 8}).encoder["hidden"] == 16


def test_encoders_as_options_of_the_method() -> None:
    graphcl = Recipe.parse({"method": "graphcl", "encoder": {"hidden": 8, "layers": 2}})
    for key, other in (("method.encoder", "gcn"), ("encoder.name", "pooled-gcn")):
        found = space(f"{key}=gin,{other}", "augmentation.kinds=random2,identity", recipe=graphcl)
        chosen = found.with_values({key: other, "augmentation.kinds": "identity"})
        assert (chosen.encoder["name"], chosen.augmentation["kinds"]) == ("pooled-gcn", "identity")
    assert graphcl.updated({"method.encoder": "gcn"}).encoder == {"name": "pooled-gcn", "hidden": 8, "layers": 2}
    both = graphcl.updated({"method.hidden": 4, "method.encoder": "gcn"})
    assert both == graphcl.updated({"method.encoder": "gcn", "method.hidden": 4})
    assert (both.encoder["hidden"], both.encoder["layers"]) == (4, 2)


def test_several_maps_have_ranges_by_their_place() -> None:
    recipe = Recipe.parse({"spectral": ["noise", "sfa"], "postprocess": ["propagate"]})
    found = space("spectral.1.iterations=1,2", "postprocess.0.hops=1..3", recipe=recipe)
    chosen = found.with_values({"spectral.1.iterations": 2, "postprocess.0.hops": 3})
    assert (chosen.spectral[1]["iterations"], chosen.postprocess[0]["hops"]) == (2, 3)
    with pytest.raises(InputError, match=r"did you mean 'spectral\.1\.iterations'"):
        space("spectral.1.iteration=1,2", recipe=recipe)


def test_a_range_without_steps_has_no_grid() -> None:
    with pytest.raises(InputError, match="has no grid"):
        space("method.tau=0.1..1").grid()
    with pytest.raises(InputError, match="has no grid"):
        space("training.epochs=1..100:log").grid()


def test_ranges_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "ranges.yaml"
    path.write_text("training.lr: 1e-4..1e-2:log\nspectral.name: [none, sfa]\nmethod.edge_drop: [[0, 0], [0.2, 0.4]]\n")
    lr, spectral, drop = load_ranges(path)
    assert lr == parse_range("training.lr=1e-4..1e-2:log")
    assert spectral == parse_range("spectral.name=none,sfa")
    assert drop.grid() == ([0, 0], [0.2, 0.4])
    instead = parse_range("training.lr=0.1,0.2")
    assert merged([lr, spectral], [instead]) == [instead, spectral]


@pytest.mark.parametrize(
    ("content", "says"),
    [(None, "does not exist"), ("- a\n", "mapping"), ("a: [", "YAML"), ("", "mapping"), ("a: {b: 1}", "LOW..HIGH")],
)
def test_a_file_that_is_none_of_ranges(tmp_path: Path, content: str | None, says: str) -> None:
    path = tmp_path / "ranges.yaml"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=says):
        load_ranges(path)


def test_shipped_ranges_fit_their_methods() -> None:
    shipped = shipped_ranges()
    assert shipped.keys() >= {"grace", "g-bt", "simclr", "graphcl"}
    for method, ranges in shipped.items():
        found = Space.of(Recipe.parse({"method": method}), ranges)
        assert {one.key for one in found.ranges} == {one.key for one in ranges}
        low = found.values(lambda one: one.ends[0])
        assert found.with_values(low).method["name"] == method
