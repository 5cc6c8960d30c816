"""Files of results, old and new, and those of a search, changed at random: success, or one sentence."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from sfa.data import load
from sfa.paper.results import Ledger
from sfa.paper.results_files import to_frame, to_text, write_json
from sfa.sweep import make_report
from sfa.sweep.search import Search
from sfa.sweep.settings import Settings
from sfa.sweep.trials import Record
from tests.fuzz.outcomes import contents, examples, outcome
from tests.fuzz.test_run_folders import put, values
from tests.paper.writers import entry_by, make_sqlite
from tests.sweep.tiny import pretended, tiny_search


def read(path: Path) -> None:
    entries = Ledger(path).select()
    to_frame(entries).to_csv()
    to_text(entries)


def refused(folder: Path, action: Any) -> None:
    before = contents(folder)
    sentence = outcome(action)
    event("accepted" if sentence is None else "refused")
    assert sentence is None or contents(folder) == before


@examples(60)
@given(st.data())
def test_values_of_results(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "results.json"
    write_json(path, [entry_by(1, "a"), entry_by(2, "b")])
    path.write_text(json.dumps(data.draw(put(json.loads(path.read_text())))))
    refused(tmp_path, lambda: read(path))


@examples(60)
@given(st.sampled_from(["results.json", "results.json.gz", "sfa.db"]), st.data())
def test_bytes_of_results(tmp_path: Path, name: str, data: st.DataObject) -> None:
    path = tmp_path / name
    path.unlink(missing_ok=True)
    if name == "sfa.db":
        make_sqlite(path, [entry_by(1, "a")])
    else:
        write_json(path, [entry_by(1, "a")])
    content = path.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.sampled_from([start, start + 1, start + 40, len(content)]))
    path.write_bytes(content[:start] + data.draw(st.binary(max_size=6)) + content[end:])
    refused(tmp_path, lambda: read(path))


cells = (
    st.none()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | st.binary(max_size=4)
    | st.sampled_from(["", "x", "[" * 9999])
)


@examples(60)
@given(st.sampled_from(["kind", "recipe", "versions", "seed", "epochs", "train_seconds", "created", "key"]), cells)
def test_values_of_old_results(tmp_path: Path, column: str, value: Any) -> None:
    with contextlib.suppress(sqlite3.IntegrityError, sqlite3.DataError):
        (tmp_path / "sfa.db").unlink(missing_ok=True)
        make_sqlite(tmp_path / "sfa.db", [replace(entry_by(1, "a"), **{column: value})])
        refused(tmp_path, lambda: read(tmp_path / "sfa.db"))


@examples(60)
@given(st.data())
def test_settings_of_a_search(planted_file: Path, tmp_path: Path, data: st.DataObject) -> None:
    search = tiny_search(load(planted_file), tmp_path)
    (tmp_path / "search.json").unlink(missing_ok=True)
    search.settings.save(tmp_path)
    content = json.loads((tmp_path / "search.json").read_text())
    (tmp_path / "search.json").write_text(json.dumps(data.draw(put(content))))
    refused(tmp_path, lambda: Search(Settings.read(tmp_path), search.data, tmp_path))


@examples(25)
@given(st.data())
def test_the_report_of_a_search(
    planted_file: Path,
    tmp_path: Path,
    data: st.DataObject,
) -> None:
    search = tiny_search(load(planted_file), tmp_path)
    best = Record(
        "", 0, "done", 80.0, {"spectral.name": "none", "training.lr": 0.01, "method.tau": 0.5}, (80.0,), 1.0, None
    )
    search.records = lambda _=None: [best]  # type: ignore[method-assign]
    search.train_and_score = lambda *parts: pretended(search, *parts)  # type: ignore[method-assign]
    path = tmp_path / "report.json"
    path.unlink(missing_ok=True)
    make_report(search)
    path.write_text(json.dumps(data.draw(put(json.loads(path.read_text())) | values)))
    refused(tmp_path, lambda: make_report(search))
