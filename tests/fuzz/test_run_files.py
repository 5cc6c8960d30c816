"""Recipes, ranges, options and the files of a run, at random: success, or one sentence and nothing touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from sfa.run import Recipe, load_recipe
from sfa.run.shipped import parse_assignments, parse_yaml
from sfa.sweep.ranges import load_ranges, parse_range
from sfa.sweep.settings import Space
from tests.fuzz.outcomes import contents, fuzz, outcome

ODD_TEXTS = [
    "0x_",
    "!!int x",
    "!!bool x",
    "2001-99-99",
    "9" * 5000,
    "[" * 99,
    "&a [*a]",
    "{a: 1, a: 2}",
    "1e999",
    ".nan",
]
RECIPES = [Recipe.parse({"method": name}) for name in ("grace", "neighbor-contrast", "swav", "deepwalk", "graphcl")]
PATHS = sorted(
    {path for recipe in RECIPES for path in recipe.by_path()} | {"spectral", "training", "postprocess", "", "a.b"}
)

odd_text = st.sampled_from(ODD_TEXTS) | st.text(max_size=12) | st.text("[]{}&*!:,-?#|>'\"%@`ab01. \n", max_size=30)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from(
        [2**31, 2**63, 2**64, -1, 10**20, 10**4000, "sfa", "none", "gentle", "grace", "gcn", "a:b", "<x>"]
    )
    | st.floats()
    | odd_text
)
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(odd_text, inner, max_size=3))


@fuzz
@given(odd_text | st.lists(odd_text, max_size=6).map("\n".join))
def test_odd_yaml(text: str) -> None:
    outcome(lambda: parse_yaml(text, "The value"))


@fuzz
@given(st.sampled_from(RECIPES), st.dictionaries(st.sampled_from(PATHS), values, min_size=1, max_size=2))
def test_changes_of_a_recipe(recipe: Recipe, changes: dict[str, Any]) -> None:
    outcome(lambda: recipe.updated(changes))


@fuzz
@given(st.dictionaries(st.sampled_from(sorted(Recipe.model_fields)) | odd_text, values, max_size=3))
def test_recipes(content: dict[str, Any]) -> None:
    outcome(lambda: Recipe.parse(content))


@fuzz
@given(st.lists(st.tuples(st.sampled_from(PATHS) | odd_text, odd_text), max_size=3))
def test_set_on_the_command_line(pairs: list[tuple[str, str]]) -> None:
    outcome(lambda: RECIPES[0].updated(parse_assignments([f"{key}={value}" for key, value in pairs])))


numbers = st.floats().map(str) | st.integers().map(str) | odd_text
intervals = st.builds("{}..{}{}".format, numbers, numbers, st.sampled_from(["", ":log", ":0.1", ":0", ":x", ":1e-300"]))


@fuzz
@given(st.sampled_from(PATHS) | odd_text, intervals | odd_text)
def test_ranges(key: str, text: str) -> None:
    outcome(lambda: Space.of(RECIPES[0], [parse_range(f"{key}={text}")]).grid())


@fuzz
@given(st.dictionaries(st.sampled_from(PATHS) | odd_text, values | intervals, max_size=3), st.booleans(), st.data())
def test_files_of_ranges_and_recipes(tmp_path: Path, content: dict[str, Any], cut: bool, data: st.DataObject) -> None:
    try:
        text = yaml.safe_dump(content).encode()
    except (UnicodeEncodeError, ValueError):  # surrogates, and integers of too many digits, cannot be written
        return
    file = tmp_path / "mine.yaml"
    file.write_bytes(text[: data.draw(st.integers(0, len(text)))] if cut else text)
    before = contents(tmp_path)
    outcome(lambda: Space.of(RECIPES[0], load_ranges(file)).grid())
    outcome(lambda: load_recipe(file))
    assert contents(tmp_path) == before
