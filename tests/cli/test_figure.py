"""``sfa figure``: pictures of runs, and sentences for what cannot be drawn."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from sfa.figures import FIGURES
from sfa.figures.resolver import NamedFigure, Takes

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


@pytest.mark.parametrize("name", ["spectrum", "alignment"])
def test_both_formats_by_default(bare_run: Path, run_sfa: RunSfa, workplace: Path, name: str) -> None:
    """And neither data nor weights are needed."""
    result = run_sfa("figure", name, bare_run)
    assert (result.code, result.out) == (0, ""), result.err
    assert sorted(file.name for file in workplace.iterdir()) == [f"{name}.png", f"{name}.svg"]
    assert f"{name}.png and {name}.svg" in result.err
    assert min(imread(workplace / f"{name}.png").shape[:2]) > 300
    assert (workplace / f"{name}.svg").read_text().startswith("<?xml")


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


def test_drawing_again_replaces_with_the_same_bytes(trained_run: Path, run_sfa: RunSfa, workplace: Path) -> None:
    (workplace / "alignment.svg").write_text("an older one")
    pictures = []
    for _ in range(2):
        assert run_sfa("figure", "alignment", trained_run, trained_run).code == 0
        pictures.append([(workplace / f"alignment{suffix}").read_bytes() for suffix in (".png", ".svg")])
    assert pictures[0] == pictures[1]
    assert len(list(workplace.iterdir())) == 2


def test_a_figure_of_no_run(run_sfa: RunSfa, workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FIGURES, "blank", NamedFigure("A blank page.", Takes.NO_RUN, Figure))
    assert run_sfa("figure", "blank").code == 0
    assert (workplace / "blank.svg").exists()


def test_names_and_numbers(trained_run: Path, refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FIGURES, "blank", NamedFigure("A blank page.", Takes.NO_RUN, Figure))
    assert "did you mean 'spectrum'" in refuses("figure", "spectra", trained_run)
    assert "exactly one run, not from 0" in refuses("figure", "spectrum")
    assert "exactly one run, not from 2" in refuses("figure", "spectrum", trained_run, trained_run)
    assert "one run or more, not from 0" in refuses("figure", "alignment")
    assert "no run, not from 1" in refuses("figure", "blank", trained_run)


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
    monkeypatch.setattr("sfa.cli.figure.read_runs", None)  # refused before any work
    assert reason in refuses("figure", "spectrum", trained_run, out=out)


def test_a_folder_that_cannot_be_written(
    trained_run: Path, refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(*_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("tempfile.mkstemp", read_only)
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
