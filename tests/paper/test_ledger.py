"""Rows that are whole or not there, entered once, by however many processes."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from sfa.errors import InputError, SfaError
from sfa.evaluate import Score
from sfa.paper import default_path, results
from sfa.paper.results import Ledger
from sfa.paper.results_files import Entry, is_sqlite, read_sqlite
from tests.forks import run_forked, start_forked
from tests.paper.writers import die_while_writing, entry_by, make_sqlite, write

NewEntry = Callable[..., Entry]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "results.json"


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
        for _ in range(2):
            ledger.add(new_entry(scores=(), labels=(("kappa", "sfa"),)))
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


def test_a_row_that_cannot_be_entered_whole_is_not_there(path: Path, new_entry: NewEntry) -> None:
    """JSON has no NaN."""
    broken = new_entry(scores=(Score("z", "p", {"accuracy": (1.0, 2.0, float("nan"))}),))
    with Ledger(path, create=True) as ledger:
        with pytest.raises(ValueError, match="JSON"):
            ledger.add(broken)
        assert ledger.select() == []
        assert ledger.add(new_entry()) == new_entry(), "and the ledger works on"


@pytest.mark.slow
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


def test_a_process_killed_while_it_writes(path: Path, new_entry: NewEntry) -> None:
    with Ledger(path, create=True) as ledger:
        ledger.add(new_entry())
        assert run_forked(die_while_writing, path) == -signal.SIGKILL
        assert ledger.select() == [new_entry()]
        ledger.add(entry_by(1, "killed"))
        assert len(ledger.select()) == 2


@pytest.mark.parametrize("kind", ["text", "truncated", "overwritten", "another program's", "binary"])
def test_a_file_that_is_no_ledger(path: Path, new_entry: NewEntry, kind: str) -> None:
    with Ledger(path, create=True) as ledger:
        ledger.add_all([new_entry(str(number)) for number in range(20)])
    content = path.read_bytes()
    path.write_bytes(
        {
            "text": b"not a ledger\n" * 100,
            "truncated": content[: len(content) // 2],
            "overwritten": content[:4096] + b"\xff" * (len(content) - 4096),
            "another program's": b'{"cells": []}',
            "binary": bytes(range(256)),
        }[kind]
    )
    refused(path, "is damaged or is not a ledger of sfa")


def refused(path: Path, says: str) -> None:
    """A file is left alone, and the sentence says why."""
    before = path.read_bytes()
    with pytest.raises(InputError) as error, Ledger(path, create=True) as ledger:
        ledger.select()
    assert says in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("PRAGMA application_id = 7", "but not a ledger of sfa"),
        ("PRAGMA user_version = 99", "another version of sfa (format 99"),
        ("DROP TABLE scores", "no such table: scores"),
        ("UPDATE runs SET recipe = '{'", "damaged"),
    ],
)
def test_a_sqlite_file_that_is_no_ledger(tmp_path: Path, new_entry: NewEntry, statement: str, says: str) -> None:
    path = tmp_path / "ledger.sqlite"
    make_sqlite(path, [new_entry(str(number)) for number in range(20)], statement)
    refused(path, says)
    path.write_bytes(path.read_bytes()[:5000])
    refused(path, "is damaged or is not a ledger of sfa")


def test_an_old_ledger_is_read_and_left_alone(
    tmp_path: Path, new_entry: NewEntry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFA_LEDGER", raising=False)
    entries = [new_entry(), new_entry("01", method=None, epochs=None, scores=(), labels=(), failure="The loss is nan.")]
    make_sqlite(tmp_path / "runs" / "ledger.sqlite", entries)
    before = Path("runs/ledger.sqlite").read_bytes()
    assert default_path() == Path("runs/ledger.sqlite")
    with Ledger(default_path(), create=True) as ledger:
        assert ledger.select() == entries
        assert [path.name for path in Path("runs").iterdir()] == ["ledger.sqlite"], "until something is written"
        ledger.add(new_entry("02"))
        assert ledger.select() == [*entries, new_entry("02")]
    assert "runs/ledger.sqlite are kept in runs/results.json from now on" in caplog.text
    assert default_path() == Path("runs/results.json")
    for path in (default_path(), Path("runs/ledger.sqlite")):
        assert len(Ledger(path).select()) == 3, "by either name"
    assert Path("runs/ledger.sqlite").read_bytes() == before


def test_an_old_ledger_of_another_name(tmp_path: Path, new_entry: NewEntry) -> None:
    make_sqlite(tmp_path / "mine.db", [new_entry()])
    (tmp_path / "mine.json").write_text("an export, say")
    Ledger(tmp_path / "mine.db").add(new_entry("01"))
    assert len(Ledger(tmp_path / "mine.db").select()) == len(Ledger(tmp_path / "mine.results.json").select()) == 2
    assert (tmp_path / "mine.json").read_text() == "an export, say"
    assert is_sqlite(tmp_path / "mine.db")
    assert read_sqlite(tmp_path / "mine.db") == [new_entry()]


def test_an_empty_file_is_a_ledger_in_the_making(path: Path, new_entry: NewEntry) -> None:
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
        Ledger(tmp_path / "file" / "results.json", create=True)


def test_a_lock_that_lasts(path: Path, new_entry: NewEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "PATIENCE", 0.05)
    with Ledger(path, create=True) as ledger:
        with FileLock(f"{path}.lock"), pytest.raises(SfaError, match="locked"):
            ledger.add(new_entry())
        assert ledger.add(new_entry()) == new_entry()


def test_validation_scores_are_kept_beside_test_scores(path: Path, new_entry: NewEntry) -> None:
    values = {"accuracy": (81.0, 82.0), "macro-f1": (70.0, 71.0)}
    score: Any = Score("z", "public", values, validation={"accuracy": (83.0, 84.0)})  # type: ignore[arg-type]
    with Ledger(path, create=True) as ledger:
        held = ledger.add(new_entry(scores=(score,)))
    assert Ledger(path).select() == [held]
    assert held.scores == (score,)
    first, second = held.as_dict()["scores"]
    assert first["validation"] == [83.0, 84.0]
    assert "validation" not in second


def test_default_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SFA_LEDGER", raising=False)
    assert default_path() == Path("runs/results.json")
    monkeypatch.setenv("SFA_LEDGER", "/elsewhere/l.json")
    assert default_path() == Path("/elsewhere/l.json")
