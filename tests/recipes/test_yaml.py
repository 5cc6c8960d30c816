"""One loader reads all YAML: plain values, or one sentence."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sfa.errors import InputError
from sfa.run import Recipe
from sfa.run.shipped import parse_yaml, read_yaml


def bomb(first: str, each: str) -> str:
    """Nine aliases deep, ten of the one before each time."""
    lines = [f"x{i + 1}: &x{i + 1} {each % ','.join([f'*x{i}'] * 10)}" for i in range(9)]
    return "\n".join([f"x0: &x0 {first}", *lines])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0x_", "cannot be read"),
        ("!!int x", "cannot be read"),
        ("!!bool x", "cannot be read"),
        ("!!float x", "cannot be read"),
        ("9" * 5000, "cannot be read"),
        (r'"\ud800"', "cannot be read"),
        (r'"\U00110000"', "cannot be read"),
        ("[" * 5000, "nested more than 20 deep"),
        ("? " * 3000, "nested more than 20 deep"),
        ("[" + "a," * 20_000 + "]", "more than 10000 values"),
        (bomb("[1, 1]", "[%s]"), "aliases multiply"),
        (bomb("{a: 1}", "{<<: [%s]}"), "aliases multiply"),
        ("&a [*a]", "part of what it stands for"),
        ("{a: 1, b: 2, a: 3}", "'a' in line 1 is given twice"),
        ("a:\n  b: 1\n  b: 1", "'b' in line 3 is given twice"),
        ("{1: 2}", "put it in quotes"),
        ("{? [a] : 1}", "put it in quotes"),
        ("!!set {a}", "tag"),
        ("!!binary aGk=", "tag"),
        ("!!python/object/apply:os.mkdir [x]", "tag"),
        ("a\n---\nb", "single document"),
        ("\x00", "unacceptable character"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InputError, match=reason) as raised:
        parse_yaml(text, "The value")
    assert str(raised.value).startswith("The value is not valid YAML: ")
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 400


def test_plain_values_are_those_of_json() -> None:
    text = "{a: 1, b: 1.5, c: yes, d: ~, e: [x, '1'], f: 2001-99-99, g: 2001-01-01}"
    found = parse_yaml(text, "The value")
    assert found == dict(zip("abcdefg", (1, 1.5, True, None, ["x", "1"], "2001-99-99", "2001-01-01"), strict=True))


def test_merged_keys_may_be_overridden_and_used_again() -> None:
    text = "base: &base {lr: 1, epochs: 2}\none: &one {<<: *base, lr: 3}\ntwo: {<<: *one, epochs: 4}\nthree: *one"
    found = parse_yaml(text, "The value")
    assert found["one"] == found["three"] == {"lr": 3, "epochs": 2}
    assert found["two"] == {"lr": 3, "epochs": 4}


def test_only_ordinary_files_of_a_limited_size_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "large.yaml").write_text("#" * 300_000)
    for path, reason in ((tmp_path / "pipe.yaml", "pipe"), (tmp_path / "large.yaml", "at most"), ("/dev/zero", "dev")):
        with pytest.raises(InputError, match=reason):
            read_yaml(Path(path), f"recipe {path}", "method")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"encoder": {"hidden": True}}, "'hidden'.*not true or false"),
        ({"training": {"epochs": True}}, r"'training\.epochs'.*not true or false"),
        ({"training": {"lr": True}}, r"'training\.lr'.*not true or false"),
        ({"feature_noise": False}, "'feature_noise'.*not true or false"),
        ({"sampler": {"name": "neighbors", "fanouts": [True, 5]}}, r"'fanouts\.0'.*not true or false"),
        ({"spectral": {"name": "sfa", "iterations": 10**20}}, "'iterations'.*1000"),
        ({"spectral": {"name": "sfa", "iterations": 10**5000}}, "'iterations'.*1000.*16610 bits"),
        ({"spectral": {"name": "sfa", "passes": 10**6}}, "'passes'.*1000"),
        ({"encoder": {"layers": 10**7}}, "'layers'.*1000"),
        ({"encoder": {"hidden": 10**9}}, "'hidden'.*65536"),
        ({"method": {"projection": 10**9}}, "'projection'.*65536"),
        ({"training": {"epochs": 10**10}}, "epochs"),
        ({"training": {"seed": 2**64}}, "seed"),
        ({"sampler": {"name": "neighbors", "batch_size": 10**19}}, "batch_size"),
    ],
    ids=lambda value: "",
)
def test_flags_are_no_numbers_and_whole_numbers_have_bounds(given: dict[str, object], reason: str) -> None:
    with pytest.raises(InputError, match=reason) as raised:
        Recipe.parse(given)
    assert len(str(raised.value)) < 300
