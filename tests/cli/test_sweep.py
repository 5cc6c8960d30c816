"""``sfa sweep`` from the command line."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfa.run import Recipe
from sfa.sweep import Search, shipped_ranges
from sfa.sweep import search as module
from sfa.train import Interrupted
from tests.sweep.tiny import pretended

RunSfa = Callable[..., Any]
GRACE = ["--method", "grace", "--epochs", "2"]
TINY = [*GRACE, "--set", "method.hidden=8", "method.projection=8", "--range", "method.tau=0.2..1"]


@pytest.mark.slow
def test_a_search_its_recipe_and_its_report(run_sfa: RunSfa, planted_file: Path, workplace: Path) -> None:
    words = ["sweep", planted_file, *TINY, "spectral=none,sfa", "--out", "sweeps/one"]
    result = run_sfa(*words, "--trials", 2)
    assert result.code == 0, result.err
    assert "2 trials, 0 there, in sweeps/one" in result.err
    assert "2/2  trial 1: validation" in result.err
    assert "  best " in result.err
    assert "left" in result.err
    assert "Test labels are unread: sfa sweep report sweeps/one" in result.err
    assert result.out.startswith("Trial ")
    assert "in sweeps/one/best.yaml: spectral.name=" in result.out
    assert "Warning" not in result.err

    again = run_sfa(*words, "--trials", 2, "--quiet")
    assert (again.code, again.out, again.err) == (0, result.out, ""), "there is nothing to do, and it is said again"
    with (workplace / "sweeps" / "one" / "trials.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2

    trained = run_sfa("train", planted_file, "--recipe", "sweeps/one/best.yaml", "--out", "run", "--no-evaluate")
    assert trained.code == 0, trained.err

    report = run_sfa("sweep", "report", "sweeps/one", "--report-seeds", 4)
    assert report.code == 0, report.err
    assert "one: test accuracy, honest-10-10-80" in report.out
    assert "test, labels never seen" in report.out
    assert "Trained with the fresh seed 4; mean ± standard deviation over the splits" in report.out
    assert "1/1  seed 4: done" in report.err
    refused = run_sfa(*words, "--trials", 3)
    assert refused.code == 2
    assert "has been reported on" in refused.err


def test_arms_side_by_side(
    run_sfa: RunSfa, planted_file: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Search, "train_and_score", pretended)
    words = ["sweep", planted_file, *TINY, "--ablate", "spectral=none,sfa", "--trials", 1, "--report-seeds", 1, 2]
    result = run_sfa(*words)
    assert result.code == 0, result.err
    assert "1 trial for each of spectral.name=none, spectral.name=sfa" in result.err
    assert "spectral.name=sfa: trial 0, validation" in result.out
    assert "paired difference from spectral.name=none" in result.out
    assert "+1.00 [+1.00, +1.00]" in result.out
    assert (workplace / "sweeps" / "planted-grace" / "best-sfa.yaml").exists()


def test_a_report_stopped_by_hand(
    run_sfa: RunSfa, planted_file: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same command goes on with it, and with nothing else."""

    def stop(search: Search, recipe: Recipe, *args: Any) -> Any:
        if recipe.training.seed == 2:
            raise KeyboardInterrupt
        return pretended(search, recipe, *args)

    words = ["sweep", planted_file, *TINY, "--trials", 2]
    monkeypatch.setattr(Search, "train_and_score", stop)
    result = run_sfa(*words, "--report-seeds", 1, 2)
    assert result.code == 130
    assert result.err.splitlines()[-1].endswith("Stopped; the same command goes on from there.")
    monkeypatch.setattr(Search, "train_and_score", pretended)
    result = run_sfa(*words, "--report-seeds", 1, 2)
    assert result.code == 0, result.err
    assert "Trained with the fresh seeds 1 2" in result.out
    assert "trial 2" not in result.err
    result = run_sfa(*words)
    assert result.code == 0, result.err
    assert "Test labels were read: sweeps/planted-grace/report.json" in result.err


def test_no_report_before_the_search_is_at_its_end(
    run_sfa: RunSfa, planted_file: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Search, "train_and_score", pretended)
    words = ["sweep", planted_file, *TINY, "--trials"]
    assert run_sfa(*words, 1).code == 0
    result = run_sfa(*words, 3, "--report-seeds", 1, "--timeout", 1e-9, "--quiet")
    assert result.code == 1
    assert result.err == "No report yet, with 2 trials still to come: the same command goes on from there.\n"
    assert not (workplace / "sweeps" / "planted-grace" / "report.json").exists()
    result = run_sfa(*words, 3, "--report-seeds", 1)
    assert result.code == 0, result.err
    assert "Trained with the fresh seed 1" in result.out


def test_dry_run(run_sfa: RunSfa, planted_file: Path, workplace: Path) -> None:
    result = run_sfa("sweep", planted_file, "--dry-run", "--trials", 30, "--seeds", 0, 1)
    assert result.code == 0, result.err
    for found in shipped_ranges()["neighbor-contrast"]:
        assert found.key in result.out
    assert "Chosen by the labels of 12 nodes; reported under honest-10-10-80" in result.out
    assert "30 trials: 60 runs" in result.out
    assert list(workplace.iterdir()) == [], "it leaves no trace"
    run_sfa("sweep", planted_file, *TINY, "--trials", 1, "--quiet")
    result = run_sfa("sweep", planted_file, *TINY, "--trials", 10, "--dry-run")
    assert "10 trials: 10 runs, about " in result.out
    result = run_sfa("sweep", planted_file, "--ablate", "spectral=none,sfa", "--dry-run", "--out", "x")
    assert "none,sfa, each on its own" in result.out
    assert "20 trials for each of spectral.name=none, spectral.name=sfa: 40 runs" in result.out


def test_all_trials_fail(run_sfa: RunSfa, planted_file: Path, workplace: Path) -> None:
    result = run_sfa("sweep", planted_file, *TINY, "--set", "training.lr=1e30", "--trials", 2)
    assert result.code == 1
    assert "1/2  trial 0: failed: The " in result.err
    assert result.out == ""
    assert "epoch" in (workplace / "sweeps" / "planted-grace" / "trials.csv").read_text()
    debugged = ["sweep", planted_file, *TINY, "--set", "training.lr=1e30", "--out", "other", "--debug"]
    with pytest.raises(Exception, match="epoch"):
        run_sfa(*debugged)


@pytest.mark.slow
def test_stopped_by_hand(run_sfa: RunSfa, planted_file: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    train = module.train_recipe

    stops: list[BaseException] = [KeyboardInterrupt(), Interrupted("Stopped at epoch 1; resume it.")]

    def stop(recipe: Recipe, *args: Any, **options: Any) -> Any:
        if stops and list(workplace.glob("sweeps/*/best.yaml")):
            raise stops.pop()
        return train(recipe, *args, **options)

    monkeypatch.setattr(module, "train_recipe", stop)
    words = ["sweep", planted_file, *TINY, "--trials", 2]
    for _ in range(2):
        result = run_sfa(*words)
        assert result.code == 130
        assert result.err.splitlines()[-1].endswith("the same command goes on from there.")
        assert (workplace / "sweeps" / "planted-grace" / "best.yaml").exists()
    result = run_sfa(*words)
    assert result.code == 0
    assert "2/2  trial 1: validation" in result.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--range", "training.rl=1e-4..1"], "did you mean 'training.lr'"),
        (["--range", "training.lr=1..0"], "must rise"),
        (["--range", "training.lr"], "KEY=LOW..HIGH"),
        (["--range", "training.lr=0.1,1", "--range", "training.lr=1..2"], "two ranges of training.lr"),
        (["--ranges", "nowhere.yaml"], "does not exist"),
        (["--method", "grcae"], "did you mean 'grace'"),
        (["--method", "dgi"], "No ranges come with dgi"),
        (["--method", "graphcl"], "is one graph"),
        (["--seeds", "0", "1", "--report-seeds", "1"], "fresh ones"),
        (["--pruner", "median"], "there is but one"),
        (["--sampler", "grid"], "has no grid"),
        (["--ablate", "spectral.nam=none,sfa"], "Unknown recipe key"),
        (["--ablate", "spectral=none,sfa", "--range", "spectral.name=none"], "compared by --ablate"),
        (["--protocol", "clustering"], "judged by classification"),
        (["--protocol", "public"], "no public split"),
        (["--set", "training.lrr=1"], "did you mean 'lr'"),
        (["--out", "/proc/nothing"], "Cannot search in"),
        (["elsewhere"], "One data set is searched on"),
    ],
)
def test_refused(refuses: Callable[..., str], planted_file: Path, words: list[str], says: str) -> None:
    assert says in refuses("sweep", planted_file, *words)


def test_refused_reports(refuses: Callable[..., str], workplace: Path) -> None:
    assert "There is no search in nowhere" in refuses("sweep", "report", "nowhere")
    assert "'report'" in refuses("sweep", "report"), "a file of that name, if there is one"


def test_under_torchrun(refuses: Callable[..., str], planted_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "x")
    assert "one process" in refuses("sweep", planted_file)


def test_without_optuna(refuses: Callable[..., str], planted_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    assert "pip install 'sfa[sweep]'" in refuses("sweep", planted_file)
