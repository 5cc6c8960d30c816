"""What a ledger holds, in files that others read."""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Callable
from pathlib import Path

import pytest

from sfa.errors import InputError
from sfa.evaluate import Score
from sfa.paper.results_files import Entry, write_entries

NewEntry = Callable[..., Entry]


@pytest.fixture
def entries(new_entry: NewEntry) -> list[Entry]:
    failed = new_entry("01", failure="The loss is nan | at epoch 3.", scores=(), epochs=None, peak_memory=None)
    single = new_entry("02", labels=(), scores=(Score("z", "public", {"accuracy": (81.5,)}),))
    return [new_entry(), failed, single]


def test_json_holds_everything(entries: list[Entry], tmp_path: Path) -> None:
    write_entries(tmp_path / "out.json", entries)
    read = json.loads((tmp_path / "out.json").read_text())
    rebuilt = []
    for described in read:
        scores: dict[tuple[str, str], dict[str, tuple[float, ...]]] = {}
        for score in described["scores"]:
            scores.setdefault((score["embedding"], score["protocol"]), {})[score["metric"]] = tuple(score["values"])
        described["scores"] = tuple(Score(*names, values) for names, values in scores.items())
        described["labels"] = tuple((label["study"], label["variant"]) for label in described["labels"])
        rebuilt.append(Entry(**described))
    assert rebuilt == entries


def test_csv_has_a_line_for_each_metric(entries: list[Entry], tmp_path: Path) -> None:
    write_entries(tmp_path / "out.csv", entries)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [(row["key"], row["protocol"], row["metric"]) for row in rows] == [
        ("00ff", "honest-10-10-80", "accuracy"),
        ("00ff", "clustering", "nmi"),
        ("00ff", "clustering", "ari"),
        ("00ff", "clustering", "accuracy"),
        ("01", "", ""),
        ("02", "public", "accuracy"),
    ]
    values = [83.125, 81.0, 1 / 3]
    assert float(rows[0]["mean"]) == pytest.approx(statistics.fmean(values), rel=1e-12)
    assert float(rows[0]["std"]) == pytest.approx(statistics.stdev(values), rel=1e-12)
    assert (rows[0]["splits"], rows[0]["seed"], rows[0]["epochs"]) == ("3", "3", "200")
    assert (rows[0]["studies"], rows[0]["torch"]) == ("ablation: A_G + A_F*", "2.13.0")
    assert (rows[4]["failure"], rows[4]["mean"]) == ("The loss is nan | at epoch 3.", "")
    assert (rows[5]["std"], rows[5]["mean"]) == ("", "81.5")


def test_markdown_is_one_table(entries: list[Entry], tmp_path: Path) -> None:
    write_entries(tmp_path / "out.md", entries)
    header, rule, *lines = (tmp_path / "out.md").read_text(encoding="utf-8").splitlines()
    assert [name.strip() for name in header.split("|")][1:5] == ["key", "data set", "run", "seed"]
    assert set(rule) <= set("|-: ")
    assert len(lines) == 6
    columns = {line.replace("\\|", "").count("|") for line in (header, rule, *lines)}
    assert columns == {12}, "a bar within a cell does not end it"
    assert "54.82 ± 47.20" in lines[0]
    assert [cell.strip() for cell in lines[0].split("|")][3:5] == ["grace + sfa", "3"]
    assert "failed: The loss is nan \\| at epoch 3." in lines[4]


def test_an_empty_ledger(tmp_path: Path) -> None:
    for suffix in ("csv", "json", "md"):
        write_entries(tmp_path / f"out.{suffix}", [])
    assert json.loads((tmp_path / "out.json").read_text()) == []
    assert (tmp_path / "out.csv").read_text() == "key\n"


def test_refused(entries: list[Entry], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"\.csv, \.json, \.json\.gz, \.md, not to 'out.xlsx'"):
        write_entries(tmp_path / "out.xlsx", entries)
    with pytest.raises(InputError, match="does not exist"):
        write_entries(tmp_path / "nowhere" / "out.csv", entries)
    assert list(tmp_path.iterdir()) == []
