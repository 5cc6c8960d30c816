"""An exported ledger comes back as it went."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfa.errors import InputError
from sfa.evaluate import Score
from sfa.paper.results import Ledger
from sfa.paper.results_files import Entry, read_entries, write_entries

NewEntry = Callable[..., Entry]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_round_trip(new_entry: NewEntry, tmp_path: Path, suffix: str) -> None:
    entries = [
        new_entry("aa"),
        new_entry("bb", kind="raw features", method=None, spectral=None, epochs=None, labels=()),
        new_entry("cc", failure="The loss is nan.", scores=()),
        new_entry(
            "dd",
            scores=(
                Score("z", "knn", {"accuracy": (1.0,)}, splits="one"),
                Score("z", "knn", {"accuracy": (2.0,)}, splits="two"),
            ),
        ),
    ]
    path = tmp_path / f"out{suffix}"
    write_entries(path, entries)
    assert read_entries(path) == entries


def test_the_same_runs_are_the_same_bytes(new_entry: NewEntry, tmp_path: Path) -> None:
    for name in ("a.json.gz", "b.json.gz"):
        write_entries(tmp_path / name, [new_entry("aa")])
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4).map(tuple),
    words=st.lists(st.text(max_size=5), min_size=2, max_size=2),
    seed=st.integers(0, 2**40),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
def test_any_value_comes_back(
    new_entry: NewEntry, tmp_path: Path, values: tuple[float, ...], words: list[str], seed: int
) -> None:
    scores = (Score(words[0], "p", {"accuracy": values}, splits=words[1]),)
    entry = new_entry("aa", seed=seed, labels=((words[0], words[1]),), scores=scores)
    write_entries(tmp_path / "out.json", [entry])
    assert read_entries(tmp_path / "out.json") == [entry]


def test_into_a_ledger_and_out_again(new_entry: NewEntry, tmp_path: Path) -> None:
    with Ledger(tmp_path / "first.json", create=True) as one:
        one.add(new_entry("aa"))
        write_entries(tmp_path / "out.json", one.select())
        held = one.select()
    with Ledger(tmp_path / "second.json", create=True) as two:
        two.add_all(read_entries(tmp_path / "out.json"))
        assert two.select() == held


def broken(entry: Entry, **changes: Any) -> list[dict[str, Any]]:
    described = {**entry.as_dict(), **changes}
    return [{key: value for key, value in described.items() if value != "left out"}]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"kind": "left out"}, "run 0, kind: Field required"),
        ({"seed": "3"}, "run 0, seed"),
        ({"seed": 1.5}, "run 0, seed"),
        ({"recipe": []}, "run 0, recipe"),
        ({"colour": "blue"}, "run 0, colour"),
        ({"scores": [{"embedding": "z"}]}, "run 0, scores.0"),
        ({"key": ""}, "run 0, key"),
    ],
)
def test_a_broken_run_is_named(new_entry: NewEntry, tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    path = tmp_path / "out.json"
    path.write_text(json.dumps(broken(new_entry("aa"), **changes)))
    with pytest.raises(InputError, match="is not a ledger of sfa") as error:
        read_entries(path)
    assert says in str(error.value)


@pytest.mark.parametrize("values", ["[]", "[NaN]", '["a"]', "[1e999]"])
def test_values_are_numbers(new_entry: NewEntry, tmp_path: Path, values: str) -> None:
    text = json.dumps(broken(replace(new_entry("aa"), scores=(Score("z", "p", {"m": (7.0,)}),))))
    assert '"values": [7.0]' in text
    (tmp_path / "out.json").write_text(text.replace('"values": [7.0]', f'"values": {values}'))
    with pytest.raises(InputError, match=r"scores\.0\.values"):
        read_entries(tmp_path / "out.json")


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.json", b"{", "it is not JSON"),
        ("a.json", b"\xff\xfe\x00", "it is not JSON"),
        ("a.json", b"[" * 100_000, "it is not JSON"),
        ("a.json", b'{"runs": 1}', "Input should be a valid array"),
        ("a.json.gz", b"[]", "cannot be unpacked"),
        ("a.json.gz", gzip.compress(b"[]" * 1000, mtime=0)[:-12], "cannot be unpacked"),
    ],
)
def test_a_foreign_file(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_entries(tmp_path / name)
    with pytest.raises(InputError, match="does not exist"):
        read_entries(tmp_path / "nowhere.json")


def test_what_is_there_stays(new_entry: NewEntry, tmp_path: Path) -> None:
    mine, theirs = new_entry("aa", created="mine"), new_entry("aa", created="theirs", labels=(("kappa", "sfa"),))
    write_entries(tmp_path / "out.json", [theirs, new_entry("bb")])
    with Ledger(tmp_path / "ledger.json", create=True) as ledger:
        ledger.add(mine)
        ledger.add_all(read_entries(tmp_path / "out.json"))
        first, second = ledger.select()
    assert {first.key: first.created, second.key: second.created}["aa"] == "mine"
    assert {first.key, second.key} == {"aa", "bb"}
