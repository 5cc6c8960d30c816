"""``sfa figure``: pictures of runs, and sentences for what cannot be drawn."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from sfa.paper.figures import NO_RUN, NamedFigure
from sfa.paper.figures.show import published_ratios
from sfa.registry import registered, resolve
from sfa.run.display import Tracker
from tests.parts import replace_part

RunSfa = Callable[..., Any]


@pytest.fixture
def bare_run(trained_run: Path, tmp_path: Path) -> Path:
    """A run of which nothing is left but its record and its metrics."""
    run = tmp_path / "bare"
    run.mkdir()
    for name in ("run.json", "metrics.jsonl"):
        shutil.copy(trained_run / name, run / name)
    record = json.loads((run / "run.json").read_text())
    record["source"]["data"] = "/nowhere/graph.npz"
    (run / "run.json").write_text(json.dumps(record))
    return run


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spectrum", "alignment"])
def test_both_formats_by_default(bare_run: Path, run_sfa: RunSfa, workplace: Path, name: str) -> None:
    """And neither data nor weights are needed."""
    result = run_sfa("figure", name, bare_run)
    assert (result.code, result.out) == (0, ""), result.err
    assert sorted(file.name for file in workplace.iterdir()) == [f"{name}.png", f"{name}.svg"]
    assert f"{name}.png and {name}.svg" in result.err
    assert min(imread(workplace / f"{name}.png").shape[:2]) > 300
    assert (workplace / f"{name}.svg").read_text().startswith("<?xml")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("out", "files"),
    [
        ("mine.png", ["mine.png"]),
        ("mine.svg", ["mine.svg"]),
        ("mine.PDF", ["mine.PDF"]),
        ("mine", ["mine.png", "mine.svg"]),
        ("folder/mine", ["folder/mine.png", "folder/mine.svg"]),
        ("folder", ["folder/spectrum.png", "folder/spectrum.svg"]),
        ("folder.v1", ["folder.v1/spectrum.png", "folder.v1/spectrum.svg"]),
    ],
)
def test_where_it_goes(trained_run: Path, run_sfa: RunSfa, workplace: Path, out: str, files: list[str]) -> None:
    for folder in ("folder", "folder.v1"):
        (workplace / folder).mkdir()
    result = run_sfa("figure", "spectrum", trained_run, "--quiet", out=out)
    assert (result.code, result.out, result.err) == (0, "", "")
    written = [str(file.relative_to(workplace)) for file in workplace.rglob("*") if file.is_file()]
    assert sorted(written) == files


@pytest.mark.slow
def test_drawing_again_replaces_with_the_same_bytes(trained_run: Path, run_sfa: RunSfa, workplace: Path) -> None:
    (workplace / "alignment.svg").write_text("an older one")
    pictures = []
    for _ in range(2):
        assert run_sfa("figure", "alignment", trained_run, trained_run).code == 0
        pictures.append([(workplace / f"alignment{suffix}").read_bytes() for suffix in (".png", ".svg")])
    assert pictures[0] == pictures[1]
    assert len(list(workplace.iterdir())) == 2


def test_a_figure_of_no_run(run_sfa: RunSfa, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replace_part(monkeypatch, "figure", "blank", NamedFigure("A blank page.", NO_RUN, Figure))
    assert run_sfa("figure", "blank").code == 0
    assert (workplace / "blank.svg").exists()


@pytest.mark.slow
def test_a_number_is_the_name_of_the_same_figure(trained_run: Path, run_sfa: RunSfa, workplace: Path) -> None:
    """Drawn into other files, with the same words."""
    by_name, by_number = run_sfa("figure", "alignment", trained_run), run_sfa("figure", 6, trained_run)
    assert by_number.err == by_name.err.replace("alignment.", "figure-6.")
    assert by_number.err.startswith("Figure 6 (alignment) in figure-6.png and figure-6.svg\nThe paper: Alignment ")
    assert "\nHere: At the end ‖Hα − Hβ‖² is " in by_number.err
    for suffix in (".png", ".svg"):
        drawn = [(workplace / f"{stem}{suffix}").read_bytes() for stem in ("alignment", "figure-6")]
        assert drawn[0] == drawn[1]


def test_several_runs_in_one_picture_of_spectra(trained_run: Path, run_sfa: RunSfa, workplace: Path) -> None:
    result = run_sfa("figure", "5", trained_run, trained_run, out="both.svg")
    assert result.code == 0, result.err
    assert result.err.count("its effective rank from") == 2
    assert (workplace / "both.svg").read_text().count(f"{trained_run}: ") >= 2


def test_names_and_numbers(trained_run: Path, refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    replace_part(monkeypatch, "figure", "blank", NamedFigure("A blank page.", NO_RUN, Figure))
    assert "did you mean 'spectrum'" in refuses("figure", "spectra", trained_run)
    assert "no figure 11" in refuses("figure", "11")
    assert "no run, not from 1" in refuses("figure", "blank", trained_run)
    assert "no run: leave out --run" in refuses("figure", "blank", "--run")
    assert "run times in the ledger, not from 1" in refuses("figure", 4, trained_run)
    assert "leave it out, or the run folders" in refuses("figure", 5, trained_run, "--run")


@pytest.mark.parametrize("name", ["5", "spectrum", "alignment"])
def test_without_runs_it_says_what_is_needed(refuses: Callable[..., str], name: str) -> None:
    said = refuses("figure", name)
    assert f"`sfa figure {name} --run`" in said
    for spectral in ("none", "sfa"):
        command = f"sfa train cora --recipe grace/cora --spectral {spectral} --out runs/figures/cora-grace-{spectral}"
        assert f"`{command}`" in said


def test_all_that_need_no_run(run_sfa: RunSfa, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, figure in registered("figure").items():
        replace_part(monkeypatch, "figure", name, replace(figure, draw=Figure, tell=None))
    result = run_sfa("figure", "all", out="new/pictures")
    assert result.code == 0, result.err
    stems = ["figure-1", "figure-10", "figure-2", "figure-3", "figure-3a", "figure-3b", "figure-3c", "figure-7"]
    stems += ["figure-8", "levelling", "surrogate-error"]
    assert sorted({file.stem for file in (workplace / "new" / "pictures").iterdir()}) == stems
    assert len(list((workplace / "new" / "pictures").iterdir())) == 2 * len(stems)
    assert "Not drawn, as they need runs or run times: 4, 5, 6, 9" in result.err


def test_all_goes_into_a_folder(
    trained_run: Path, refuses: Callable[..., str], workplace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workplace / "file").touch()
    assert "--out is a folder" in refuses("figure", "all", out="all.png")
    assert "Cannot make the folder file" in refuses("figure", "all", out="file")
    assert "leave out --run and run folders" in refuses("figure", "all", trained_run)
    assert "leave out --run and run folders" in refuses("figure", "all", "--run")


@pytest.fixture
def figure_of_planted(planted_file: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figure 5 is of two small runs, and of two on data that cannot be had."""
    shutil.copy(planted_file, workplace / "planted.npz")
    (workplace / "grace").mkdir()
    tiny = {"name": "grace", "hidden": 8, "projection": 8}
    (workplace / "grace" / "planted.npz").write_text(json.dumps({"method": tiny, "training": {"epochs": 3}}))
    datasets = ("planted.npz", "missing.npz")
    replace_part(monkeypatch, "figure", "spectrum", replace(resolve("figure", "spectrum"), datasets=datasets))


@pytest.mark.slow
@pytest.mark.usefixtures("figure_of_planted")
def test_run_trains_what_is_missing_and_draws(run_sfa: RunSfa, workplace: Path) -> None:
    result = run_sfa("figure", 5, "--run", out="first.svg")
    assert result.code == 0, result.err
    told = result.err.splitlines()
    assert told[0].startswith("Without missing.npz: ")
    assert told[1].startswith("2 runs to train in runs/figures, about ")
    assert told[1].endswith(": grace on planted.npz, grace + sfa on planted.npz.")
    folders = [workplace / "runs" / "figures" / f"planted.npz-grace-{spectral}" for spectral in ("none", "sfa")]
    assert all((folder / "checkpoint.safetensors").exists() for folder in folders)
    assert "planted.npz-grace-sfa: from epoch 1 to 3 " in result.err

    before = [(folder / "metrics.jsonl").read_bytes() for folder in folders]
    shutil.rmtree(folders[0])
    again = run_sfa("figure", 5, "--run", out="second.svg")
    assert "1 run to train in runs/figures" in again.err
    assert [(folder / "metrics.jsonl").read_bytes() for folder in folders][1] == before[1], "it was there"
    third = run_sfa("figure", 5, "--run", out="third.svg")
    assert "to train" not in third.err
    assert (workplace / "third.svg").read_bytes() == (workplace / "first.svg").read_bytes()


@pytest.mark.usefixtures("figure_of_planted")
def test_a_run_that_was_stopped_goes_on(run_sfa: RunSfa, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Tracker, "step", lambda *_, **__: signal.raise_signal(signal.SIGINT))
        stopped = run_sfa("figure", 5, "--run")
    assert stopped.code == 130
    assert stopped.err.splitlines()[-1].endswith("; the same command goes on from there.")
    assert not (workplace / "figure-5.png").exists()
    result = run_sfa("figure", 5, "--run")
    assert result.code == 0, result.err
    assert "Going on from epoch 1." in result.err
    assert (workplace / "figure-5.png").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("figure_of_planted")
def test_a_run_that_patience_ended_is_complete(run_sfa: RunSfa, workplace: Path) -> None:
    recipe = workplace / "grace" / "planted.npz"
    recipe.write_text(recipe.read_text().replace('"epochs": 3', '"epochs": 60, "patience": 1, "lr": 1e-9'))
    first = run_sfa("figure", 5, "--run")
    assert first.err.count("no progress for 1 epoch") == 2
    assert "to train" not in run_sfa("figure", 5, "--run").err


@pytest.mark.usefixtures("figure_of_planted")
def test_runs_that_are_others_are_left_alone(refuses: Callable[..., str], run_sfa: RunSfa, workplace: Path) -> None:
    assert run_sfa("figure", 5, "--run", "--quiet").err == ""
    recipe = workplace / "grace" / "planted.npz"
    recipe.write_text(recipe.read_text().replace('"epochs": 3', '"epochs": 4'))
    assert "planted.npz-grace-none holds another run" in refuses("figure", 5, "--run", "--quiet")
    (workplace / "planted.npz").unlink()
    assert "planted.npz" in refuses("figure", 5, "--run"), "no data at all"


def test_run_in_one_process(refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    assert "without torchrun" in refuses("figure", 5, "--run")


@pytest.fixture
def timed(planted_file: Path, run_sfa: RunSfa, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ledger with run times of a small graph, and nothing that came with sfa."""
    monkeypatch.delenv("SFA_LEDGER", raising=False)
    monkeypatch.setattr("sfa.paper.figures.show.shipped_entries", tuple)
    monkeypatch.setattr("sfa.paper.studies.ITERATIONS", (0, 1))
    tiny = ["--set", "method.hidden=8", "--set", "method.projection=8", "--epochs", "10", "--quiet"]
    assert run_sfa("study", "run-time-k", "--datasets", planted_file, *tiny).code == 0


@pytest.mark.usefixtures("timed")
def test_run_times_of_the_ledger(run_sfa: RunSfa, workplace: Path) -> None:
    result = run_sfa("figure", 4)
    assert (result.code, result.out) == (0, ""), result.err
    assert "Here: planted: an epoch takes × " in result.err
    assert "planted, grace, cpu, 1 thread" in (workplace / "figure-4.svg").read_text()


def test_without_run_times(refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SFA_LEDGER", raising=False)
    monkeypatch.setattr("sfa.paper.figures.show.shipped_entries", tuple)
    said = refuses("figure", "run-time")
    assert "runs/results.json has none" in said
    assert "`sfa figure run-time --run`" in said
    assert "`sfa study run-time-k --datasets cora citeseer wikics`" in said
    assert "nowhere.sqlite" in refuses("figure", 4, ledger="nowhere.sqlite")


def test_run_times_are_measured_by_their_study(
    run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch, workplace: Path
) -> None:
    asked: dict[str, Any] = {}
    monkeypatch.setattr("sfa.cli.study.study", lambda context, *names, **options: asked.update(options, names=names))
    monkeypatch.setattr("sfa.paper.figures.show.available", lambda names, *_: dict.fromkeys(list(names)[:2]))
    monkeypatch.setattr("sfa.paper.figures.show.shipped_entries", tuple)
    result = run_sfa("figure", 4, "--run", ledger=workplace / "l.sqlite")
    assert (asked["names"], asked["ledger"]) == (("run-time-k", ["cora", "citeseer"]), workplace / "l.sqlite")
    assert result.code == 2, "nothing was measured here"


def test_the_papers_ratios_of_run_times() -> None:
    ratios = published_ratios()
    assert {name: round(ratio, 3) for name, ratio in ratios.items()} == {
        "cora": 1.042,
        "citeseer": 1.055,
        "wikics": 1.007,
    }


@pytest.mark.parametrize(
    ("out", "reason"),
    [
        ("mine.xcf", ".png, .svg, .pdf"),
        ("missing/mine.png", "does not exist"),
        ("missing/mine", "does not exist"),
        ("file/mine.png", "file"),
        ("taken", "is a folder"),
    ],
)
def test_where_it_cannot_go(
    trained_run: Path,
    workplace: Path,
    refuses: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    out: str,
    reason: str,
) -> None:
    (workplace / "taken.png").mkdir()
    (workplace / "file").touch()
    monkeypatch.setattr("sfa.paper.figures.show.read_runs", None)  # refused before any work
    assert reason in refuses("figure", "spectrum", trained_run, out=out)


def test_a_folder_that_cannot_be_written(
    trained_run: Path, refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkdtemp", read_only)
    assert "Read-only file system" in refuses("figure", "spectrum", trained_run)


@pytest.mark.parametrize("name", ["spectrum", "alignment"])
def test_runs(bare_run: Path, tmp_path: Path, refuses: Callable[..., str], name: str) -> None:
    metrics = bare_run / "metrics.jsonl"
    assert "not a run folder" in refuses("figure", name, tmp_path)
    assert "not a run folder" in refuses("figure", name, "nowhere")
    assert "not a run folder" in refuses("figure", name, metrics)
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    old = [{key: value for key, value in row.items() if key != "diagnostics"} for row in rows]
    metrics.write_text("".join(json.dumps(row) + "\n" for row in old))
    assert "--set training.diagnose_every=10" in refuses("figure", name, bare_run)
    metrics.write_text('{"epoch": 1, "seconds": 1, "diagnostics": [1]}\n')
    assert "damaged" in refuses("figure", name, bare_run)
    metrics.write_bytes(b"\xff\xfe")
    assert "not text" in refuses("figure", name, bare_run)
    metrics.unlink()
    assert "diagnose_every" in refuses("figure", name, bare_run)
    (bare_run / "run.json").write_text('{"format": 999}')
    assert "another version" in refuses("figure", name, bare_run)


@pytest.mark.slow
def test_an_old_run_can_be_resumed_and_then_drawn(
    planted_file: Path, tiny: list[str], run_sfa: RunSfa, tmp_path: Path
) -> None:
    """Its recipe says nothing of diagnostics, nor do its metrics."""
    run = tmp_path / "old"
    assert run_sfa("train", planted_file, *tiny, out=run, epochs=12, set="training.checkpoint_every=5").code == 0
    recipe, metrics = run / "recipe.yaml", run / "metrics.jsonl"
    recipe.write_text(recipe.read_text().replace("  diagnose_every: 10\n", ""))
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    assert [row["epoch"] for row in rows if row.pop("diagnostics", None)] == [1, 10, 12]
    metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "diagnose_every" not in recipe.read_text() + metrics.read_text()
    assert run_sfa("train", "--resume", "--no-evaluate", out=run).code == 0
    assert run_sfa("embed", run, out="z.npz").code == 0
    (run / "checkpoint.safetensors").unlink()
    assert run_sfa("train", "--resume", "--no-evaluate", out=run).code == 0
    assert run_sfa("figure", "spectrum", run).code == 0
