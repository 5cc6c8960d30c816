"""``sfa study`` from the command line."""

from __future__ import annotations

import io
import json
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from sfa.cli.options import spread
from sfa.cli.study_display import Progress
from sfa.paper import measure
from sfa.paper.plans import Plan
from sfa.paper.results import Ledger
from sfa.paper.runner import Runner
from sfa.paper.summary import Estimator
from sfa.run import Recipe
from sfa.run import display as console
from sfa.run.display import Display
from sfa.run.run import Run
from tests.paper.tiny import shortened, tiny_plan

RunSfa = Callable[..., Any]
TINY = ["--epochs", "3", "--set", "method.hidden=8", "method.projection=8"]


@pytest.fixture(autouse=True)
def _few_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two cells a seed are enough to see how it goes."""
    monkeypatch.setattr("sfa.paper.studies.ITERATIONS", (0, 1))
    monkeypatch.delenv("SFA_LEDGER", raising=False)


def rows(text: str) -> list[list[str]]:
    """The cells of a table drawn with lines."""
    return [
        [cell.strip() for cell in line.replace("┃", "│").strip("│").split("│")]
        for line in text.splitlines()
        if line[:1] in "│┃"
    ]


def test_a_study_prints_its_table_and_goes_on(run_sfa: RunSfa, planted_file: Path, workplace: Path) -> None:
    result = run_sfa("study", "iterations", "--datasets", planted_file, "--seeds", 0, 1, *TINY)
    assert result.code == 0, result.err
    assert "iterations: 4 cells, 4 to do, in runs/results.json" in result.err
    assert "4/4  planted, k = 1, seed 1: accuracy" in result.err
    header, zero, one, difference = rows(result.out)
    assert header == ["variant", "baseline", "planted"]
    assert "over 2 seeds, of the means over splits" in result.out
    assert "paired difference from the baseline" in result.out
    with Ledger(workplace / "runs" / "results.json") as ledger:
        entries = {(entry.labels[0][1], entry.seed): entry for entry in ledger.select()}
    assert entries.keys() == {(f"k = {k}", seed) for k in (0, 1) for seed in (0, 1)}
    means = [entries["k = 0", seed].scores[0].mean() for seed in (0, 1)]
    assert zero[:2] == ["k = 0", ""]
    assert zero[2].startswith(f"{sum(means) / 2:.2f} ± ")
    assert one[:2] == ["k = 1", "k = 0"]
    assert difference[2][0] in "+-"

    again = run_sfa("study", "iterations", "--datasets", planted_file, "--seeds", 0, "--seeds", 1, *TINY)
    assert "4 cells, 0 to do" in again.err
    assert "4/4" not in again.err
    assert again.out == result.out


def test_dry_run(run_sfa: RunSfa, planted_file: Path, workplace: Path) -> None:
    words = ["study", "iterations", "--datasets", planted_file, *TINY]
    result = run_sfa(*words, "--dry-run")
    assert result.code == 0
    assert [row[:4] for row in rows(result.out)[1:]] == [["planted", f"k = {k}", "0", "to do"] for k in (0, 1)]
    assert "2 cells, 2 to do." in result.out
    assert list(workplace.iterdir()) == [], "it leaves no trace"
    run_sfa(*words, "--quiet")
    result = run_sfa(*words, "--seeds", 0, 1, "--dry-run")
    assert [row[3] for row in rows(result.out)[1:]] == ["done", "done", "to do", "to do"]
    assert [bool(row[4]) for row in rows(result.out)[1:]] == [False, False, True, True]
    assert "4 cells, 2 to do, about " in result.out


def test_a_cell_that_fails(run_sfa: RunSfa, planted_file: Path) -> None:
    words = ["study", "iterations", "--datasets", planted_file, *TINY, "training.lr=1e30"]
    result = run_sfa(*words, "--quiet")
    assert result.code == 1
    assert result.out == "", "there is nothing to tabulate"
    assert "Failed: planted, k = 0, seed 0: " in result.err
    assert "--retry-failed" in result.err
    dry = run_sfa(*words, "--dry-run")
    assert [row[3].split(":")[0] for row in rows(dry.out)[1:]] == ["failed", "failed"]
    assert "2 cells, 0 to do" in dry.out
    assert "2 cells, 2 to do" in run_sfa(*words, "--retry-failed", "--dry-run").out
    assert run_sfa(*words, "--retry-failed").code == 1
    with pytest.raises(Exception, match="epoch"):
        run_sfa(*words, "--retry-failed", "--debug")


def test_some_fail(run_sfa: RunSfa, planted_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = measure.train_recipe

    def fail_without_iterations(recipe: Recipe, *args: Any, **options: Any) -> Run:
        if recipe.spectral["iterations"] == 0 and recipe.training.seed == 1:
            raise MemoryError
        if recipe.spectral["iterations"] == 1:
            raise RuntimeError("surprise")
        return train(recipe, *args, **options)

    monkeypatch.setattr(measure, "train_recipe", fail_without_iterations)
    result = run_sfa("study", "iterations", "--datasets", planted_file, "--seeds", 0, 1, *TINY)
    assert result.code == 1
    zero, one = rows(result.out)[1:]
    assert zero[2].endswith("(1 of 2 seeds)")
    assert one[2] == "failed"
    assert "Failed: planted, k = 0, seed 1: Not enough memory" in result.err
    assert "Failed: planted, k = 1, seed 1: Unforeseen RuntimeError: surprise" in result.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["iteration"], "did you mean 'iterations'"),
        (["iterations", "--datasets", "core"], "did you mean 'cora'"),
        (["iterations", "--protocol", "honest"], "Unknown protocol"),
        (["iterations", "--method", "grcae"], "did you mean 'grace'"),
        (["iterations", "--set", "epochs"], "KEY=VALUE"),
        (["iterations", "--ledger", "."], "is a folder"),
        (["iterations", "--protocol", "public"], "split"),
    ],
)
def test_refused(refuses: Callable[..., str], planted_file: Path, words: list[str], says: str) -> None:
    given = words if "--datasets" in words else [*words, "--datasets", str(planted_file)]
    assert says in refuses("study", *given)


def test_a_ledger_that_is_none(refuses: Callable[..., str], planted_file: Path, workplace: Path) -> None:
    (workplace / "notes.txt").write_text("not a ledger " * 50)
    message = refuses("study", "iterations", "--datasets", planted_file, "--ledger", "notes.txt")
    assert "notes.txt is damaged or is not a ledger" in message


def test_under_torchrun(refuses: Callable[..., str], planted_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    assert "one process" in refuses("study", "iterations", "--datasets", planted_file)


def test_the_ledger_of_the_environment(
    run_sfa: RunSfa, planted_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFA_LEDGER", str(tmp_path / "elsewhere" / "all.sqlite"))
    assert run_sfa("study", "iterations", "--datasets", planted_file, *TINY, "--quiet").code == 0
    with Ledger(tmp_path / "elsewhere" / "all.sqlite") as ledger:
        assert len(ledger.select()) == 2


def test_run_time_tells_the_ratio(run_sfa: RunSfa, planted_file: Path) -> None:
    result = run_sfa("study", "run-time", "--datasets", planted_file, *TINY[2:], epochs=10)
    assert result.code == 0, result.err
    assert "run-time: seconds per epoch" in result.out
    assert rows(result.out)[-1][2].startswith("× ")
    assert "paired ratio to the baseline" in result.out
    assert "over the turns of one seed" in result.out


def test_ctrl_c(run_sfa: RunSfa, planted_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it trains, which ends with the step at hand; and while it scores, which ends at once."""
    words = ["study", "iterations", "--datasets", planted_file, *TINY]
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "step", lambda *_: signal.raise_signal(signal.SIGINT))
        result = run_sfa(*words)
    assert (result.code, result.out) == (130, "")
    assert result.err.splitlines()[-1] == (
        "sfa: planted, k = 0, seed 0: Stopped after epoch 1 of 3; the same command goes on from there."
    )
    assert [row[3] for row in rows(run_sfa(*words, "--dry-run").out)[1:]] == ["begun", "to do"]
    with monkeypatch.context() as patch:
        patch.setattr("sfa.paper.measure._score", lambda *_: signal.raise_signal(signal.SIGINT))
        result = run_sfa(*words)
    assert (result.code, result.out) == (130, "")
    assert result.err.splitlines()[-1] == "sfa: Stopped; the same command goes on from there."
    assert run_sfa(*words, "--quiet").code == 0


def shown(plan: Plan, path: Path, *, terminal: bool) -> str:
    display, screen = Display(), io.StringIO()
    display.console = Console(file=screen, force_terminal=terminal, width=150, highlight=False)
    with (
        Ledger(path, create=True) as ledger,
        Progress(display, plan, plan.cells, Estimator()) as progress,
    ):
        Runner(ledger, device="cpu", watcher=progress).run(plan)
    return screen.getvalue()


def test_progress_over_the_grid(planted_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "PLAIN_INTERVAL", 0.0)
    plan = shortened(tiny_plan("iterations", planted_file), 2)
    lines = shown(plan, tmp_path / "a" / "l.sqlite", terminal=False).splitlines()
    assert lines[0] == "iterations  0/2  planted, k = 0, seed 0"
    assert lines[3].startswith("iterations  0/2  planted, k = 0, seed 0  epoch 3/6  loss ")
    assert "left" not in lines[3], "nothing was measured yet"
    assert lines[7].startswith("1/2  planted, k = 0, seed 0: accuracy ")
    assert lines[-2].startswith("iterations  1/2  planted, k = 1, seed 0  epoch 6/6  loss ")
    assert lines[-2].endswith("s left"), "measured by the first cell"
    screen = shown(plan, tmp_path / "b" / "l.sqlite", terminal=True)
    assert "\x1b" in screen
    assert "planted, k = 1, seed 0  epoch 6/6" in screen


def test_words_are_spread_over_their_option() -> None:
    words = ["ablation", "--datasets", "cora", "citeseer", "--quiet", "--seeds=3", "--seeds", "0", "1", "2"]
    assert list(spread(words, {"--datasets", "--seeds"})) == [
        *["ablation", "--datasets", "cora", "--datasets", "citeseer", "--quiet", "--seeds=3"],
        *["--seeds", "0", "--seeds", "1", "--seeds", "2"],
    ]


def test_pairs_end_where_an_argument_begins() -> None:
    words = ["--set", "a=1", "b=2", "cora", "--set=c=3", "--set", "d=4", "--quiet"]
    spread_out = ["--set", "a=1", "--set", "b=2", "cora", "--set=c=3", "--set", "d=4", "--quiet"]
    assert list(spread(words, {"--set"}, pairs={"--set"})) == spread_out
    assert list(spread(["--set", "wrong"], {"--set"}, pairs={"--set"})) == ["--set", "wrong"], "which is told of later"


def test_list_studies(run_sfa: RunSfa) -> None:
    result = run_sfa("list", "studies")
    names = [line.split()[0] for line in result.out.splitlines()]
    assert names == [
        "ablation",
        "iterations",
        "passes",
        "noisy-features",
        "noisy-edges",
        "spectral-maps",
        "kappa",
        "clustering",
        "run-time",
        "run-time-k",
        "map-run-time",
        "methods",
    ]


def test_a_kept_cell_is_a_run(run_sfa: RunSfa, planted_file: Path, workplace: Path) -> None:
    assert run_sfa("study", "iterations", "--datasets", planted_file, *TINY, "--keep-runs", "--quiet").code == 0
    folders = sorted((workplace / "runs" / "cells").iterdir())
    assert len(folders) == 2
    result = run_sfa("evaluate", folders[0], "--json")
    assert result.code == 0
    values = json.loads(result.out)["scores"][-1]["values"]["accuracy"]
    with Ledger(workplace / "runs" / "results.json") as ledger:
        entry = ledger.get(folders[0].name)
    assert entry is not None
    assert list(entry.scores[0].of()) == values
