"""Rows that are whole or not there, entered once, by however many processes."""

from __future__ import annotations

import signal
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfa.errors import InputError, SfaError
from sfa.evaluate import Score
from sfa.ledger import Entry, Ledger, default_path
from sfa.ledger import database as database_module
from sfa.ledger.database import Database
from tests.forks import run_forked, start_forked
from tests.ledger.writers import die_before_commit, entry_by, write

NewEntry = Callable[..., Entry]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "ledger.sqlite"


def test_what_is_entered_is_found_again(path: Path, new_entry: NewEntry) -> None:
    entry, bare = new_entry(), new_entry("01", kind="raw features", method=None, spectral=None, scores=(), labels=())
    with Ledger(path, create=True) as ledger:
        assert ledger.add(entry) == entry
        ledger.add(bare)
    with Ledger(path) as ledger:
        assert ledger.get("00ff") == entry
        assert ledger.select() == [entry, bare]
        assert ledger.get("02") is None
    main = entry.score_under("clustering", "")
    assert main is not None
    assert main.main == "nmi", "the main metric stays the first"


def test_the_first_stays(path: Path, new_entry: NewEntry) -> None:
    first = new_entry()
    second = new_entry(epochs=7, scores=(Score("grace + sfa", "honest-10-10-80", {"accuracy": (1.0,)}),))
    with Ledger(path, create=True) as ledger:
        ledger.add(first)
        assert ledger.add(second) == first
        assert ledger.select() == [first]


def test_labels_and_other_protocols_are_added(path: Path, new_entry: NewEntry) -> None:
    honest, clustering = new_entry().scores
    with Ledger(path, create=True) as ledger:
        ledger.add(new_entry(scores=(honest,)))
        held = ledger.add(new_entry(scores=(clustering,), labels=(("methods", "grace + SFA"),)))
        assert held.scores == (honest, clustering)
        assert held.labels == (("ablation", "A_G + A_F*"), ("methods", "grace + SFA"))
        ledger.label("00ff", "kappa", "sfa")
        ledger.label("00ff", "kappa", "sfa")
        assert [held.key for held in ledger.select(study="kappa")] == ["00ff"]
        assert len(ledger.select()[0].labels) == 3


def test_a_failure_gives_way_and_takes_no_place(path: Path, new_entry: NewEntry) -> None:
    done = new_entry()
    failed = new_entry(failure="The loss is nan.", scores=(), epochs=None, labels=(("kappa", "sfa"),))
    with Ledger(path, create=True) as ledger:
        assert ledger.add(failed) == failed
        assert ledger.add(replace(failed, failure="Out of memory.")).failure == "Out of memory."
        assert ledger.add(done) == replace(done, labels=(("kappa", "sfa"), *done.labels))
        assert ledger.add(failed).failure is None


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ({}, ["a", "b", "c"]),
        ({"study": "ablation"}, ["a", "c"]),
        ({"dataset": "citeseer"}, ["b", "c"]),
        ({"method": "g-bt"}, ["c"]),
        ({"study": "ablation", "dataset": "cora"}, ["a"]),
        ({"keys": ["c", "b", "x"]}, ["b", "c"]),
        ({"keys": []}, []),
        ({"dataset": "cora' OR '1'='1"}, []),
    ],
)
def test_select(path: Path, new_entry: NewEntry, conditions: dict[str, str], found: list[str]) -> None:
    with Ledger(path, create=True) as ledger:
        ledger.add(new_entry("c", dataset="citeseer", method="g-bt", created="2026-03"))
        ledger.add(new_entry("a", created="2026-01"))
        ledger.add(new_entry("b", dataset="citeseer", labels=(("kappa", "sfa"),), created="2026-02"))
        selected = ledger.select(**conditions)
        assert [entry.key for entry in selected] == found
        assert all(len(entry.scores) == 2 and len(entry.labels) == 1 for entry in selected)


def test_remove_takes_scores_and_labels_along(path: Path, new_entry: NewEntry) -> None:
    with Ledger(path, create=True) as ledger:
        ledger.add(new_entry("a"))
        ledger.add(new_entry("b"))
        ledger.remove(["a", "x"])
        assert [entry.key for entry in ledger.select()] == ["b"]
    with sqlite3.connect(path) as raw:
        assert raw.execute("SELECT DISTINCT run FROM scores").fetchall() == [("b",)]
        assert raw.execute("SELECT DISTINCT run FROM labels").fetchall() == [("b",)]
    raw.close()


def test_a_row_that_cannot_be_entered_whole_is_not_there(path: Path, new_entry: NewEntry) -> None:
    """SQLite has no NaN: the last of the values is refused after all the others were inserted."""
    broken = new_entry(scores=(Score("z", "p", {"accuracy": (1.0, 2.0, float("nan"))}),))
    with Ledger(path, create=True) as ledger:
        with pytest.raises(sqlite3.IntegrityError):
            ledger.add(broken)
        assert ledger.select() == []
        assert ledger.add(new_entry()) == new_entry(), "and the ledger works on"


def test_processes_that_write_at_once(path: Path, tmp_path: Path) -> None:
    """All start from no file at all."""
    start, count = tmp_path / "start", 15
    processes = [start_forked(write, path, writer, start, count) for writer in range(3)]
    start.touch()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    with Ledger(path) as ledger:
        entries = {entry.key: entry for entry in ledger.select()}
    expected = {f"{writer}: {number}" for writer in range(3) for number in range(count)}
    assert entries.keys() == expected | {f"shared {number}" for number in range(count)}
    for key, entry in entries.items():
        assert entry.scores == entry_by(entry.recipe["writer"], key).scores, "row and scores are of one process"
        assert len(entry.labels) == (3 if key.startswith("shared") else 1)


def test_a_ledger_that_another_makes_in_between(
    path: Path, new_entry: NewEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After this one has seen that there are no tables, and before it makes them."""
    transaction, others = Database.transaction, [lambda: Ledger(path, create=True).close()]

    def late(self: Database, kind: str = "IMMEDIATE") -> Any:
        if others:
            others.pop()()
        return transaction(self, kind)

    monkeypatch.setattr(Database, "transaction", late)
    with Ledger(path, create=True) as ledger:
        assert ledger.add(new_entry()) == new_entry()


def test_a_process_killed_while_it_writes(path: Path, new_entry: NewEntry) -> None:
    with Ledger(path, create=True) as ledger:
        ledger.add(new_entry())
        assert run_forked(die_before_commit, path) == -signal.SIGKILL
        assert ledger.select() == [new_entry()]
        ledger.add(entry_by(1, "killed"))
        assert len(ledger.select()) == 2


def damage(path: Path, kind: str) -> None:
    if kind == "text":
        path.write_text("not a ledger\n" * 100)
    elif kind == "truncated":
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2])
    elif kind == "overwritten":
        content = path.read_bytes()
        path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    else:
        raw = sqlite3.connect(path)
        statement = {
            "another program's": "PRAGMA application_id = 7",
            "a newer version's": "PRAGMA user_version = 99",
            "without a table": "DROP TABLE scores",
            "with a broken recipe": "UPDATE runs SET recipe = '{'",
        }[kind]
        with raw:
            raw.execute(statement)
        raw.close()


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("text", "not a ledger of sfa"),
        ("truncated", "damaged"),
        ("overwritten", "damaged"),
        ("another program's", "not a ledger of sfa"),
        ("a newer version's", "another version of sfa (format 99"),
        ("without a table", "no such table: scores"),
        ("with a broken recipe", "damaged"),
    ],
)
def test_a_file_that_is_no_ledger(path: Path, new_entry: NewEntry, kind: str, says: str) -> None:
    with Ledger(path, create=True) as ledger:
        for number in range(20):
            ledger.add(new_entry(str(number)))
    damage(path, kind)
    before = path.read_bytes()
    with pytest.raises(InputError) as refused, Ledger(path, create=True) as ledger:
        ledger.select()
    message = str(refused.value)
    assert says in message
    assert str(path) in message
    assert "\n" not in message
    assert path.read_bytes() == before


def test_a_file_of_another_program_is_left_alone(path: Path) -> None:
    path.parent.mkdir()
    raw = sqlite3.connect(path)
    raw.execute("CREATE TABLE notes (text TEXT)")
    raw.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match="but not a ledger of sfa"):
        Ledger(path, create=True)
    assert path.read_bytes() == before


def test_an_empty_file_is_a_ledger_in_the_making(path: Path, new_entry: NewEntry) -> None:
    """A process killed before it made the tables leaves one."""
    path.parent.mkdir()
    path.touch()
    with Ledger(path) as ledger:
        assert ledger.add(new_entry()) == new_entry()


def test_no_ledger(path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no ledger at"):
        Ledger(path)
    assert not path.parent.exists()
    with pytest.raises(InputError, match="is a folder"):
        Ledger(tmp_path, create=True)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="Cannot make the ledger"):
        Ledger(tmp_path / "file" / "ledger.sqlite", create=True)


def test_a_lock_that_lasts(path: Path, new_entry: NewEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_module, "PATIENCE", 0.05)
    with Ledger(path, create=True) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SfaError, match="locked"):
            ledger.add(new_entry())
        other.execute("ROLLBACK")
        other.close()
        assert ledger.add(new_entry()) == new_entry()


def test_default_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFA_LEDGER", raising=False)
    assert default_path() == Path("runs/ledger.sqlite")
    monkeypatch.setenv("SFA_LEDGER", "/elsewhere/l.sqlite")
    assert default_path() == Path("/elsewhere/l.sqlite")
