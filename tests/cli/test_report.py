"""``sfa report``, and what makes a report at the end of other commands."""

from __future__ import annotations

import errno
import json
import re
import shutil
import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfa.cli import main
from sfa.registry import resolve
from sfa.report import page
from sfa.run import display as open_page
from tests.parts import replace_part

RunSfa = Callable[..., Any]
SCORES = "scores-knn.json"


@pytest.fixture(scope="module")
def second(planted_file: Path, tiny: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "second"
    words = ["train", str(planted_file), "--spectral", "none", "--epochs", "2"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--out", str(path), "--quiet", *tiny])
    assert not ended.value.code
    return path


@pytest.fixture
def runs(trained_run: Path, second: Path, tmp_path: Path) -> tuple[Path, Path]:
    return Path(shutil.copytree(trained_run, tmp_path / "a")), Path(shutil.copytree(second, tmp_path / "b"))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few splits, and principal components in the place of t-SNE."""
    for name in ("honest-10-10-80", "knn", "clustering"):
        replace_part(monkeypatch, "protocol", name, resolve("protocol", name).with_splits(3))
    monkeypatch.setattr("sfa.report.planar_map.plane", lambda rows, *, seed: np.asarray(rows[:, :2], np.float64))


def data_of(path: Path) -> dict[str, Any]:
    """What the page shows."""
    text = path.read_text(encoding="utf-8")
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    found: dict[str, Any] = json.loads(data)
    return found


def test_a_page_of_one_run_in_its_folder(runs: tuple[Path, Path], run_sfa: RunSfa) -> None:
    result = run_sfa("report", runs[0])
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines()[-1] == f"Report: {runs[0] / 'report.html'}"
    assert "scoring, honest-10-10-80" in result.err
    data = data_of(runs[0] / "report.html")
    assert data["commands"] == [f"sfa report {runs[0]}"]
    (found,) = data["runs"]
    assert found["name"] == str(runs[0])
    names = [row["embedding"] for row in found["scores"]]
    assert names == ["raw features", "propagated features", "untrained encoder", "grace + sfa (64 passes)"]
    kept = json.loads((runs[0] / "scores-honest-10-10-80.json").read_text())["scores"]
    assert [score["name"] for score in kept] == names
    assert [row["values"] for row in found["scores"]] == [score["values"]["accuracy"] for score in kept]
    assert sum(map(sum, found["confusion"]["matrix"])) == 48


def test_the_comparison_is_that_of_sfa_compare(runs: tuple[Path, Path], run_sfa: RunSfa, tmp_path: Path) -> None:
    out = tmp_path / "both.html"
    assert run_sfa("report", *runs, "-q", out=out, protocol="clustering").code == 0
    data = data_of(out)
    assert data["commands"] == [f"sfa report {runs[0]} {runs[1]} --protocol clustering --out {out}"]
    printed = json.loads(run_sfa("compare", *runs, "--json", "-q", protocol="clustering").out)
    assert data["comparison_note"] == printed["note"]
    first, second = (entry["score"]["values"] for entry in (printed["baseline"], *printed["others"]))
    means = {row["metric"]: row["mean"] for row in data["comparison"][:3]}
    assert means == {metric: pytest.approx(np.mean(values)) for metric, values in first.items()}
    for row in data["comparison"][3:]:
        expected = printed["others"][0]["differences"][row["metric"]]
        assert row["run"] == str(runs[1])
        assert row["mean"] == pytest.approx(np.mean(second[row["metric"]]))
        assert row["difference"] == [expected["mean"], expected["low"], expected["high"]]
        assert row["p"] == expected["p_value"]
        assert expected["mean"] != 0, "else nothing is shown by its being the same"
    assert [row["difference"] for row in data["comparison"][:3]] == [None] * 3
    assert len(data["comparison"]) == 6


def test_the_scores_are_those_of_sfa_evaluate(runs: tuple[Path, Path], run_sfa: RunSfa) -> None:
    assert run_sfa("report", *runs, "-q", protocol="knn").code == 0
    data, made = data_of(runs[0] / "report.html"), [json.loads((path / SCORES).read_text()) for path in runs]
    for path, shown, kept in zip(runs, data["runs"], made, strict=True):
        (path / SCORES).unlink()
        evaluated = json.loads(run_sfa("evaluate", path, "--json", "-q", protocol="knn").out)
        assert evaluated == kept
        assert [row["values"] for row in shown["scores"]] == [
            score["values"]["accuracy"] for score in evaluated["scores"]
        ]


def test_nothing_is_scored_twice(runs: tuple[Path, Path], run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch) -> None:
    from sfa.run import score_cache as shared_scores

    scored: list[int] = []
    real = shared_scores.score_all

    def counting(embeddings: Any, *rest: Any) -> Any:
        scored.append(len(embeddings))
        return real(embeddings, *rest)

    monkeypatch.setattr(shared_scores, "score_all", counting)
    assert run_sfa("report", *runs, "-q", protocol="knn").code == 0
    assert scored == [5], "raw and propagated features and untrained encoder once, and each run"
    assert run_sfa("report", *runs, "-q", protocol="knn").code == 0
    assert scored == [5], "all is kept"

    kept = json.loads((runs[1] / SCORES).read_text())
    more = {**kept["scores"][0], "name": "MLP, supervised"}
    (runs[1] / SCORES).write_text(json.dumps({**kept, "scores": [more, kept["scores"][-1]]}))
    assert run_sfa("report", *runs, "-q", protocol="knn").code == 0
    assert scored == [5], "the other run has the same"
    assert json.loads((runs[1] / SCORES).read_text())["scores"] == [*kept["scores"], more], "and nothing is lost"

    (runs[1] / SCORES).write_text(json.dumps({**kept, "checkpoint": "0" * 64}))
    assert run_sfa("report", *runs, "-q", protocol="knn").code == 0
    assert scored == [5, 1], "of other weights"
    assert json.loads((runs[1] / SCORES).read_text()) == kept


def test_without_labels_it_is_said_why_there_are_no_scores(
    planted_arrays: dict[str, np.ndarray], tiny: list[str], run_sfa: RunSfa, refuses: Any, tmp_path: Path
) -> None:
    np.savez(tmp_path / "bare.npz", x=planted_arrays["x"], edge_index=planted_arrays["edge_index"])
    bare = tmp_path / "bare"
    assert run_sfa("train", tmp_path / "bare.npz", *tiny, "-q", epochs=1, out=bare).code == 0
    result = run_sfa("report", bare)
    assert result.code == 0
    assert "No scores: Evaluation needs labels" in result.err
    (found,) = data_of(bare / "report.html")["runs"]
    assert (found["scores"], found["no_scores"][:23]) == ([], "Evaluation needs labels")
    assert not {"labels", "predicted", "confusion"} & found.keys()
    assert [row[0] for row in found["health"]["rows"]][1:3] == ["raw features", "propagated features"]
    assert {"cluster", "degree", "chance"} <= found.keys()
    assert "Evaluation needs labels" in refuses("report", bare, protocol="knn")

    rows = "\n".join(f"{node},{label}" for node, label in enumerate(planted_arrays["y"]))
    (tmp_path / "labels.csv").write_text(f"id,label\n{rows}\n")
    assert run_sfa("report", bare, "-q", labels=tmp_path / "labels.csv", protocol="knn").code == 0
    (found,) = data_of(bare / "report.html")["runs"]
    assert found["scores"]
    assert not {"health", "cluster"} & found.keys()


@pytest.mark.parametrize("kind", ["molecules", "pictures"])
def test_sets_of_graphs_and_of_images(
    kind: str, run_sfa: RunSfa, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    replace_part(monkeypatch, "protocol", "tu-svm-10fold", resolve("protocol", "tu-svm-10fold").with_splits(2))
    file = request.getfixturevalue(f"{kind}_file")
    small = ["--hidden", "4", "--epochs", "1", "--report"]
    result = run_sfa("train", file, *small, out=tmp_path / "run")
    assert result.code == 0, result.err
    assert f"Report: {tmp_path / 'run' / 'report.html'}" in result.err
    data = data_of(tmp_path / "run" / "report.html")
    assert data["items"] == {"molecules": "graphs", "pictures": "images"}[kind]
    (found,) = data["runs"]
    assert found["scores"][-1]["own"]
    assert found["confusion"]["accuracy"] == pytest.approx(found["scores"][-1]["values"][0])


def test_training_ends_with_a_report_when_asked_to(
    planted_file: Path, run_sfa: RunSfa, refuses: Any, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    words = ["--hidden", "8", "--set", "method.projection=8", "--epochs", "2"]
    result = run_sfa("train", planted_file, *words, "--report", out=out)
    assert result.code == 0, result.err
    assert f"Report: {out / 'report.html'}" in result.err
    assert len(re.findall(r"scoring, .* (\d+)/\1 ", result.err)) == 1, (
        "the baselines and the run, and not again for the page"
    )
    first = data_of(out / "report.html")
    assert f"{first['runs'][0]['scores'][-1]['mean']:.2f}" in result.out

    (out / "report.html").unlink()
    again = run_sfa("train", "--resume", "--report", "-q", out=out)
    assert (again.code, again.err) == (0, "")
    assert data_of(out / "report.html")["runs"] == first["runs"]

    (out / "report.html").unlink()
    (out / "report.html").mkdir()
    assert "it is a folder" in refuses("train", "--resume", "--report", out=out)


def test_a_run_that_is_not_to_be_scored_has_a_page_without_scores(
    planted_file: Path, tiny: list[str], run_sfa: RunSfa, tmp_path: Path
) -> None:
    assert run_sfa("train", planted_file, *tiny, "--report", "-q", epochs=1, out=tmp_path / "run").code == 0
    (found,) = data_of(tmp_path / "run" / "report.html")["runs"]
    assert (found["scores"], found["no_scores"]) == ([], "The run was trained with --no-evaluate.")
    assert "labels" in found
    assert "predicted" not in found
    assert not list((tmp_path / "run").glob("scores-*"))


def test_a_run_that_stands_half_way_says_so(
    planted_file: Path, tiny: list[str], run_sfa: RunSfa, refuses: Any, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    assert run_sfa("train", planted_file, *tiny, "-q", epochs=3, out=out).code == 0
    recipe = (out / "recipe.yaml").read_text()
    (out / "recipe.yaml").write_text(recipe.replace("epochs: 3", "epochs: 9"))
    assert run_sfa("report", out, "-q", protocol="knn").code == 0
    (found,) = data_of(out / "report.html")["runs"]
    assert (found["state"], found["epochs"], found["planned"]) == ("stopped early", 3, 9)
    (out / "report.html").unlink()
    (out / "checkpoint.safetensors").unlink()
    sentence = refuses("report", out)
    assert "no checkpoint yet" in sentence
    assert f"sfa train --resume --out {out}" in sentence


def test_refusals(
    runs: tuple[Path, Path],
    planted_arrays: dict[str, np.ndarray],
    tiny: list[str],
    run_sfa: RunSfa,
    refuses: Any,
    tmp_path: Path,
) -> None:
    np.savez(tmp_path / "other.npz", **{**planted_arrays, "x": planted_arrays["x"] + 1})
    assert run_sfa("train", tmp_path / "other.npz", *tiny, "-q", epochs=1, out=tmp_path / "other").code == 0
    assert "trained on different data" in refuses("report", *runs, tmp_path / "other")
    assert "given twice" in refuses("report", runs[0], runs[0].parent / "b" / ".." / "a")
    assert "it is a folder" in refuses("report", runs[0], out=tmp_path)
    assert "must end in .html" in refuses("report", runs[0], out=runs[0] / "run.json")
    assert "does not exist" in refuses("report", runs[0], out=tmp_path / "no" / "report.html")
    assert "no run.json" in refuses("report", tmp_path / "nowhere")
    assert "did you mean 'knn'" in refuses("report", runs[0], protocol="kn")
    assert "no public split" in refuses("report", runs[0], protocol="public")
    for damage in ({}, {"epoch": 1, "seconds": "long", "loss": 1}, {"epoch": 1, "seconds": 1, "loss": "high"}):
        (runs[0] / "metrics.jsonl").write_text(json.dumps(damage) + "\n")
        assert "metrics.jsonl is damaged" in refuses("report", runs[0])


def test_a_full_disk_leaves_the_page_that_was_there(
    runs: tuple[Path, Path], run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_sfa("report", runs[0], "-q", protocol="knn").code == 0
    (runs[0] / "report.html").write_text("an older page")
    before = {path: path.read_bytes() for path in runs[0].iterdir()}

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("sfa.atomic.flush_to_disk", full)
        result = run_sfa("report", runs[0], "-q", protocol="knn")
    assert result.code == 1
    assert result.err == f"sfa: Cannot write {runs[0] / 'report.html'}: No space left on device.\n"
    assert {path: path.read_bytes() for path in runs[0].iterdir()} == before


def test_scores_that_cannot_be_kept_are_shown(
    runs: tuple[Path, Path], run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def read_only(*_: object) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("sfa.run.score_cache.write_text", read_only)
    result = run_sfa("report", runs[0], out=tmp_path / "page.html", protocol="knn")
    assert result.code == 0
    assert "could not be kept" in result.err
    assert len(data_of(tmp_path / "page.html")["runs"][0]["scores"]) == 4


def test_the_page_is_opened_only_if_asked_and_if_somebody_is_there(
    runs: tuple[Path, Path], run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda address: bool(opened.append(address)) or True)
    monkeypatch.setattr(page, "render_page", lambda data: "page")
    result = run_sfa("report", runs[0], "--open", protocol="knn")
    assert (result.code, opened) == (0, [])
    assert f"no browser here to show it; open {runs[0] / 'report.html'}" in result.err
    monkeypatch.setattr(open_page, "_somebody_is_there", lambda: True)
    assert run_sfa("report", runs[0], protocol="knn").code == 0
    assert opened == []
    result = run_sfa("report", runs[0], "--open", protocol="knn")
    assert opened == [(runs[0] / "report.html").as_uri()]
    assert "no browser" not in result.err


@pytest.mark.parametrize(
    ("terminal", "environment", "expected"),
    [(True, {"DISPLAY": ":0"}, True), (True, {}, False), (False, {"DISPLAY": ":0"}, False)],
)
def test_who_is_there(
    terminal: bool, environment: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("sys.stderr.isatty", lambda: terminal)
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert open_page._somebody_is_there() is expected
