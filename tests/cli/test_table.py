"""``sfa table`` from the command line."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sfa.errors import InputError
from sfa.paper.measure import measure
from sfa.paper.results import Ledger
from sfa.paper.tables.definition import NUMBERS, definition_of
from sfa.paper.tables.make import make_table
from sfa.paper.tables.selection import Selection
from sfa.run.source import Source
from tests.paper.writers import entry_by

RunSfa = Callable[..., Any]
TINY = ["--epochs", "1", "--set", "method.hidden=4"]


@pytest.fixture(autouse=True)
def _no_ledger_of_the_users(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFA_LEDGER", raising=False)


@pytest.fixture
def two_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Scoring on 2 splits in place of 20 shows as much."""

    def quick(cell: Any, graph: Any, protocols: Any, **options: Any) -> Any:
        return measure(cell, graph, [protocol.with_splits(2) for protocol in protocols], **options)

    monkeypatch.setattr("sfa.paper.runner.measure", quick)


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


@pytest.mark.parametrize("words", [[], ["list"]])
def test_which_there_are(run_sfa: RunSfa, words: list[str]) -> None:
    result = run_sfa("table", *words)
    assert (result.code, result.err) == (0, "")
    lines = [line for line in result.out.splitlines() if line[:1].isdigit()]
    assert [int(line.split()[0]) for line in lines] == list(NUMBERS)
    assert result.out == run_sfa("list", "tables").out


def test_a_table_of_what_came_with_sfa_and_of_ones_own(run_sfa: RunSfa) -> None:
    shown = run_sfa("table", 11)
    assert (shown.code, shown.err) == (0, "")
    assert "5,278" in shown.out
    assert "4,732" in shown.out
    own = csv_rows(run_sfa("table", 7, "--own", format="csv").out)
    assert own
    assert {row["measured_mean"] for row in own} == {""}
    assert {row["published"] for row in own if row["row"] == "A_G + A_F*"} == {"88.74", "85.90", "75.05"}


@pytest.mark.slow
def test_the_missing_cells_are_measured(run_sfa: RunSfa, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["table", 1, "--datasets", "cora", "--method", "g-bt", *TINY]
    before = run_sfa(*words, "--dry-run")
    assert before.code == 0, before.err
    assert "2 cells, 2 to do" in before.out
    assert "table 1: 2 runs to do, " in before.err
    assert list(workplace.iterdir()) == [], "it leaves no trace"
    result = run_sfa(*words, "--run", format="csv")
    assert result.code == 0, result.err
    assert "table 1: 2 runs to do, " in result.err
    assert "in runs/results.json" in result.err
    plain, sfa = csv_rows(result.out)
    assert (plain["row"], sfa["row"]) == ("G-BT", "SFA_BT")
    with Ledger(workplace / "runs" / "results.json") as ledger:
        entries = {entry.spectral: entry for entry in ledger.select()}
    assert float(plain["measured_mean"]) == pytest.approx(entries["none"].scores[0].mean())
    assert float(sfa["measured_mean"]) == pytest.approx(entries["sfa"].scores[0].mean())
    assert plain["budget"] == sfa["budget"] == "1 of 200 epochs"
    assert float(sfa["difference"]) == pytest.approx(entries["sfa"].scores[0].mean() - entries["none"].scores[0].mean())

    again = run_sfa(*words, "--run", format="csv")
    assert "nothing to run" in again.err
    assert again.out == result.out
    more = run_sfa(*words, "--seeds", 0, 3, "--dry-run")
    assert "4 cells, 2 to do" in more.out

    load = Source.load

    def none_but_cora(self: Source, *args: Any) -> Any:
        if self.data != "cora":
            raise InputError("there is no network.")
        return load(self, *args)

    monkeypatch.setattr(Source, "load", none_but_cora)
    wider = run_sfa("table", 1, "--datasets", "citeseer", "cora", "--method", "g-bt", *TINY, "--run", format="csv")
    assert wider.code == 1, "some data could not be had"
    assert "citeseer cannot be had: there is no network." in wider.err
    assert len(csv_rows(wider.out)) == 4, "the table is shown"


def test_a_cell_that_fails(run_sfa: RunSfa, two_splits: None) -> None:
    words = ["table", 1, "--datasets", "cora", "--method", "g-bt", *TINY, "training.lr=1e30", "--run"]
    result = run_sfa(*words, format="csv")
    assert result.code == 1
    assert "Failed: cora, g-bt, seed 0: " in result.err
    plain, _ = csv_rows(result.out)
    assert plain["failure"]
    assert "--retry-failed" in plain["command"]


def test_statistics_are_counted_anew(run_sfa: RunSfa) -> None:
    result = run_sfa("table", 11, "--datasets", "cora", "--run", format="csv")
    assert result.code == 0, result.err
    counted = {row["column"]: row["measured_text"] for row in csv_rows(result.out)}
    assert (counted["Edges"], counted["Classes"]) == ("5,278", "7")


@cache
def commands_on_cora() -> list[str]:
    """Those below every table, and those of its cells, asked for on Cora."""
    found = []
    for number in NUMBERS:
        definition = definition_of(number)
        if definition is not None and definition.task == "node":
            table = make_table(number, shipped=(), selection=Selection(datasets=("cora",), seeds=(0, 1)))
            found += [*table.commands, *(cell.command for row in table.rows for cell in row.cells if cell.command)]
    return list(dict.fromkeys(found))


@pytest.mark.parametrize("kind", ["--recipe", "many methods", "one method"])
def test_every_command_can_be_typed(run_sfa: RunSfa, kind: str) -> None:
    """The shortest of each kind; options of all are looked at below."""
    commands = commands_on_cora()
    of_kind = {
        "--recipe": [line for line in commands if "--recipe" in line],
        "many methods": [line for line in commands if "study methods" in line and "--recipe" not in line],
        "one method": [line for line in commands if "study methods" not in line and "clustering" not in line],
    }[kind]
    command = min((line for line in of_kind if "public" not in line), key=len)
    result = run_sfa(*shlex.split(command)[1:], "--dry-run")
    assert result.code == 0, result.err
    assert " to do" in result.out
    assert "cora" in result.out


def test_every_command_is_of_an_option_that_there_is(run_sfa: RunSfa) -> None:
    import typer

    from sfa.cli.app import app

    study = typer.main.get_command(app).commands["study"]  # type: ignore[attr-defined]
    commands = commands_on_cora()
    assert len(commands) > 20
    for command in commands:
        first, second, *words = shlex.split(command)
        assert (first, second) == ("sfa", "study")
        context = study.make_context("study", list(words))
        assert context.params["datasets"] == ["cora"]
        assert context.params["seeds"] == [0, 1]


def test_nothing_but_the_commands(run_sfa: RunSfa) -> None:
    result = run_sfa("table", 8, "--missing", "--own", "--datasets", "cora", ledger="mine.json")
    assert result.code == 2
    assert "There is no ledger at mine.json" in result.err
    result = run_sfa("table", 8, "--missing", "--own", "--datasets", "cora")
    assert (result.code, result.err) == (0, "")
    assert result.out == "sfa study iterations --datasets cora\n"


def test_ones_own_ledger_is_named_in_the_commands(run_sfa: RunSfa, workplace: Path) -> None:
    with Ledger(workplace / "mine.json", create=True) as ledger:
        ledger.add(entry_by(1, "aa11"))
    result = run_sfa("table", 8, "--missing", "--own", "--datasets", "cora", ledger="mine.json")
    assert result.out == "sfa study iterations --datasets cora --ledger mine.json\n"


@pytest.mark.parametrize(
    ("name", "begins"), [("t.md", "#"), ("t.csv", "table,"), ("t.tex", "%"), ("t.html", "<!"), ("t.txt", "Table 12")]
)
def test_written_by_suffix(run_sfa: RunSfa, workplace: Path, name: str, begins: str) -> None:
    result = run_sfa("table", 12, out=name)
    assert (result.code, result.out) == (0, "")
    assert f"table 12 in {name}" in result.err
    text = (workplace / name).read_text(encoding="utf-8")
    assert text.lstrip().lower().startswith(begins.lower())
    assert "256" in text


def test_all_of_them_in_a_folder(run_sfa: RunSfa, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfa.paper.tables.definition.NUMBERS", range(11, 14))
    result = run_sfa("table", "all", out="new/tables", format="md")
    assert result.code == 0, result.err
    written = sorted(path.name for path in (workplace / "new" / "tables").iterdir())
    assert written == ["table_11.md", "table_12.md", "table_13.md"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["18"], "no table 18"),
        (["seven"], "asked for by its number"),
        (["1", "--datasets", "nci1"], "Table 1 is of one graph"),
        (["1", "--datasets", "coar"], "did you mean 'cora'"),
        (["1", "--method", "grcae"], "did you mean 'grace'"),
        (["8", "--set", "encoder.hiden=3"], "did you mean 'hidden'"),
        (["8", "--epochs", "0"], "epochs"),
        (["8", "--out", "t.docx"], ".tex"),
        (["8", "--out", "nowhere/t.md"], "nowhere"),
        (["8", "--ledger", "nowhere.json"], "There is no ledger at nowhere.json"),
        (["8", "--missing", "--run"], "choose one"),
        (["12", "--run"], "nothing to run"),
        (["all", "--datasets", "cora"], "leave out --datasets"),
    ],
)
def test_refused(refuses: Callable[..., str], words: list[str], says: str) -> None:
    assert says in refuses("table", *words)


def test_import(run_sfa: RunSfa, workplace: Path) -> None:
    with Ledger(workplace / "their_results.json", create=True) as ledger:
        ledger.add_all([entry_by(1, "aa11"), entry_by(2, "bb22")])
    assert run_sfa("ledger", "export", ledger="their_results.json", out="theirs.json.gz").code == 0
    with Ledger(workplace / "mine.json", create=True) as ledger:
        ledger.add(entry_by(3, "aa11"))
    result = run_sfa("ledger", "import", "theirs.json.gz", ledger="mine.json")
    assert (result.code, result.out) == (0, "")
    assert "2 runs of theirs.json.gz, 1 of them new, in mine.json" in result.err
    with Ledger(workplace / "mine.json") as ledger:
        assert {entry.key: entry.recipe["writer"] for entry in ledger.select()} == {"aa11": 3, "bb22": 2}
    assert run_sfa("ledger", "import", "theirs.json.gz", ledger="new/folder/mine.json").code == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["import"], "needs the exported file"),
        (["show", "x.json"], "`sfa ledger show` takes no file: --ledger says which ledger"),
        (["import", "nowhere.json"], "does not exist"),
        (["import", "foreign.json"], "is not a ledger of sfa"),
        (["import", "foreign.json", "--study", "kappa"], "imported whole"),
    ],
)
def test_import_refused(refuses: Callable[..., str], workplace: Path, words: list[str], says: str) -> None:
    (workplace / "foreign.json").write_text(json.dumps([{"key": "aa"}]))
    assert says in refuses("ledger", *words)
