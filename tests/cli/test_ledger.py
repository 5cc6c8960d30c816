"""``sfa ledger`` from the command line."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sfa.paper.results import Ledger
from tests.paper.writers import entry_by

RunSfa = Callable[..., Any]


@pytest.fixture
def path(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger of two good runs and a failed one."""
    monkeypatch.delenv("SFA_LEDGER", raising=False)
    path = workplace / "runs" / "results.json"
    with Ledger(path, create=True) as ledger:
        ledger.add(entry_by(1, "aa11"))
        ledger.add(entry_by(2, "aa22"))
        failed = entry_by(3, "bb33")
        ledger.add(type(failed)(**{**failed.__dict__, "scores": (), "failure": "The loss is nan.", "method": "g-bt"}))
    return path


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ([], ["aa11", "aa22", "bb33"]),
        (["show"], ["aa11", "aa22", "bb33"]),
        (["--study", "study 2"], ["aa22"]),
        (["--method", "g-bt"], ["bb33"]),
        (["--dataset", "cora"], ["aa11", "aa22", "bb33"]),
        (["--key", "aa"], ["aa11", "aa22"]),
        (["--failed"], ["bb33"]),
        (["--failed", "--key", "aa"], []),
    ],
)
def test_show(run_sfa: RunSfa, path: Path, words: list[str], keys: list[str]) -> None:
    result = run_sfa("ledger", *words)
    assert result.code == (0 if keys else 2)
    assert [key for key in ("aa11", "aa22", "bb33") if key in result.out] == keys
    assert ("failed: The loss is nan." in result.out) == ("bb33" in keys)
    assert ("109.50 ± 5.92" in result.out) == ("aa11" in keys)
    assert bool(result.err) == (not keys)


def test_export(run_sfa: RunSfa, path: Path, workplace: Path) -> None:
    for suffix in ("csv", "json", "md"):
        assert run_sfa("ledger", "export", "--key", "aa", out=f"out.{suffix}").code == 0
    exported = json.loads((workplace / "out.json").read_text())
    assert [run["key"] for run in exported] == ["aa11", "aa22"]
    assert exported[1]["scores"][0]["values"] == [200.0 + split for split in range(20)]
    with (workplace / "out.csv").open(newline="") as file:
        assert [(row["key"], float(row["mean"])) for row in csv.DictReader(file)] == [("aa11", 109.5), ("aa22", 209.5)]
    assert "aa22" in (workplace / "out.md").read_text()


def test_nothing_to_export_leaves_the_file_as_it_is(run_sfa: RunSfa, path: Path, workplace: Path) -> None:
    (workplace / "out.csv").write_text("mine")
    result = run_sfa("ledger", "export", "--study", "no such study", out="out.csv")
    assert (result.code, (workplace / "out.csv").read_text()) == (2, "mine")
    assert "has no such runs" in result.err


def test_a_run_of_two_studies_stays_when_one_is_removed(run_sfa: RunSfa, path: Path) -> None:
    with Ledger(path) as ledger:
        (entry, *_) = ledger.select()
        assert entry.key == "aa11"
        ledger.add(replace(entry, labels=(("study 2", "v"),)))
    result = run_sfa("ledger", "remove", "--study", "study 2", "--yes")
    assert "1 run removed" in result.err
    assert "1 run of them stay, for other studies" in result.err
    with Ledger(path) as ledger:
        assert [(entry.key, entry.labels) for entry in ledger.select()][:1] == [("aa11", (("study 1", "v"),))]
        assert [entry.key for entry in ledger.select()] == ["aa11", "bb33"]


def test_remove(run_sfa: RunSfa, path: Path) -> None:
    result = run_sfa("ledger", "remove", "--failed", "--yes")
    assert (result.code, result.out) == (0, "")
    assert "1 run removed" in result.err
    with Ledger(path) as ledger:
        assert [entry.key for entry in ledger.select()] == ["aa11", "aa22"]


def test_removal_is_asked_about(run_sfa: RunSfa, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("n\n"))
    assert run_sfa("ledger", "remove", "--key", "aa").code == 1
    with Ledger(path) as ledger:
        assert len(ledger.select()) == 3


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["export"], "needs --out"),
        (["--out", "x.csv"], "needs --out"),
        (["export", "--out", "x.xlsx"], ".csv, .json, .json.gz, .md"),
        (["remove"], "Say what to remove"),
        (["--ledger", "nowhere.sqlite"], "There is no ledger at nowhere.sqlite"),
    ],
)
def test_refused(refuses: Callable[..., str], path: Path, words: list[str], says: str) -> None:
    assert says in refuses("ledger", *words)
