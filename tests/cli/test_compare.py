"""``sfa compare``: runs over the same splits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfa.cli import main
from sfa.registry import resolve
from tests.parts import replace_part

RunSfa = Callable[..., Any]


@pytest.fixture(scope="module")
def second(planted_file: Path, tiny: list[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "second"
    words = ["train", str(planted_file), "--spectral", "none", "--seed", "3", "--epochs", "2"]
    with pytest.raises(SystemExit) as ended:
        main([*words, "--out", str(path), "--quiet", *tiny])
    assert not ended.value.code
    return path


@pytest.fixture
def runs(trained_run: Path, second: Path, tmp_path: Path) -> tuple[Path, Path]:
    return Path(shutil.copytree(trained_run, tmp_path / "a")), Path(shutil.copytree(second, tmp_path / "b"))


@pytest.mark.slow
def test_difference_interval_and_p_are_of_the_scores_of_both(runs: tuple[Path, Path], run_sfa: RunSfa) -> None:
    result = run_sfa("compare", *runs, "--json", "-q")
    assert (result.code, result.err) == (0, "")
    printed = json.loads(result.out)
    values = []
    for path, entry in zip(runs, (printed["baseline"], *printed["others"]), strict=True):
        assert entry["run"] == str(path)
        assert run_sfa("evaluate", path, "-q").code == 0
        (own,) = (
            score
            for score in json.loads((path / "scores-honest-10-10-80.json").read_text())["scores"]
            if score["name"].startswith("grace")
        )
        assert entry["score"] == own
        values.append(np.array(own["values"]["accuracy"]))
    (difference,) = printed["others"][0]["differences"].values()
    expected = values[1] - values[0]
    assert difference["mean"] == pytest.approx(expected.mean())
    interval = stats.ttest_rel(values[1], values[0]).confidence_interval(0.95)
    assert (difference["low"], difference["high"]) == pytest.approx((interval.low, interval.high))
    assert 0 < difference["p_value"] <= 1
    assert "seed" in printed["note"]

    table = run_sfa("compare", *runs)
    assert table.code == 0
    assert f"{difference['mean']:+.2f}" in table.out
    assert f"[{difference['low']:+.2f}, {difference['high']:+.2f}]" in table.out
    assert "over splits of the same data, for one training seed" in table.out
    assert "grace + sfa (64 passes)" in table.out


@pytest.mark.slow
def test_kept_scores_are_used_again_and_only_if_they_fit(
    runs: tuple[Path, Path], run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run_sfa("compare", *runs, "-q", protocol="clustering").code == 0
    first = json.loads((runs[0] / "scores-clustering.json").read_text())
    with monkeypatch.context() as patch:
        patch.setattr("sfa.run.score_cache.score_all", None)
        again = run_sfa("compare", *runs, "-q", "--json", protocol="clustering")
        assert again.code == 0, "nothing is scored"
        assert json.loads(again.out)["baseline"]["score"] == first["scores"][-1]

    for damage in (
        {"splits": "0" * 64},
        {"checkpoint": "0" * 64},
        {"data": "0" * 64},
        {"scores": [{}]},
        {"scores": []},
        {"own_features": 1.0},
    ):
        (runs[0] / "scores-clustering.json").write_text(json.dumps({**first, **damage}))
        result = run_sfa("compare", *runs, protocol="clustering")
        assert f"{runs[0]}: scoring by clustering" in result.err
        assert f"{runs[1]}: scoring" not in result.err
        assert json.loads((runs[0] / "scores-clustering.json").read_text()) == first
    for torn in ("{torn", '"scores"', "5", "null", "[]"):
        (runs[0] / "scores-clustering.json").write_text(torn)
        assert run_sfa("compare", *runs, "-q", protocol="clustering").code == 0


def test_scores_of_what_is_embedded_otherwise_are_made_anew(runs: tuple[Path, Path], run_sfa: RunSfa) -> None:
    """The same weights, and features beside the embeddings from now on."""
    assert run_sfa("compare", *runs, "-q", protocol="knn").code == 0
    recipe = runs[0] / "recipe.yaml"
    text = recipe.read_text()
    assert "postprocess: []" in text
    recipe.write_text(text.replace("postprocess: []", "postprocess: [{name: concat-features, weight: 1.0}]"))
    result = run_sfa("compare", *runs, protocol="knn")
    assert result.code == 0, result.err
    assert f"{runs[0]}: scoring by knn" in result.err
    assert f"{runs[1]}: scoring" not in result.err
    assert json.loads((runs[0] / "scores-knn.json").read_text())["own_features"] == 1.0


def test_scores_of_other_weights_are_made_anew(runs: tuple[Path, Path], run_sfa: RunSfa, tiny: list[str]) -> None:
    assert run_sfa("compare", *runs, "-q", protocol="knn").code == 0
    checkpoint = runs[1] / "checkpoint.safetensors"
    other = runs[0].parent / "other"
    words = ["--spectral", "none", "--seed", "4", "--epochs", "2", *tiny]
    source = json.loads((runs[1] / "run.json").read_text())["source"]["data"]
    assert run_sfa("train", source, *words, "-q", out=other).code == 0
    shutil.copy(other / "checkpoint.safetensors", checkpoint)
    result = run_sfa("compare", *runs, protocol="knn")
    assert f"{runs[1]}: scoring by knn" in result.err
    assert f"{runs[0]}: scoring" not in result.err


def test_more_than_two_are_compared_with_the_first(runs: tuple[Path, Path], run_sfa: RunSfa) -> None:
    third = Path(shutil.copytree(runs[1], runs[0].parent / "c"))
    result = run_sfa("compare", *runs, third, "--json", "-q", protocol="knn")
    printed = json.loads(result.out)
    assert [entry["run"] for entry in printed["others"]] == [str(runs[1]), str(third)]
    assert printed["others"][0]["differences"] == printed["others"][1]["differences"]
    same = json.loads(run_sfa("compare", runs[1], third, "--json", "-q", protocol="knn").out)
    assert same["others"][0]["differences"]["accuracy"] == {"mean": 0, "low": 0, "high": 0, "p_value": 1}


def test_a_full_disk_does_not_take_the_result(
    runs: tuple[Path, Path], run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("sfa.run.score_cache.write_text", fail)
    result = run_sfa("compare", *runs, protocol="knn")
    assert result.code == 0
    assert "could not be kept" in result.err
    assert "p (Wilcoxon)" in result.out


def test_refusals(
    runs: tuple[Path, Path],
    planted_arrays: dict[str, np.ndarray],
    run_sfa: RunSfa,
    refuses: Any,
    tiny: list[str],
    tmp_path: Path,
) -> None:
    np.savez(tmp_path / "other.npz", **{**planted_arrays, "x": planted_arrays["x"] + 1})
    assert run_sfa("train", tmp_path / "other.npz", *tiny, "-q", epochs=1, out=tmp_path / "other").code == 0
    assert "trained on different data" in refuses("compare", *runs, tmp_path / "other")
    assert "at least two runs" in refuses("compare", runs[0])
    assert "no run.json" in refuses("compare", runs[0], tmp_path / "nowhere")
    assert "did you mean 'clustering'" in refuses("compare", *runs, protocol="clusterin")
    assert "no public split" in refuses("compare", *runs, protocol="public")


def test_of_a_single_split_the_difference_alone_is_told(
    runs: tuple[Path, Path], run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of images, which have one test part."""
    replace_part(monkeypatch, "protocol", "knn", resolve("protocol", "knn").with_splits(1))
    printed = run_sfa("compare", *runs, protocol="knn")
    assert printed.code == 0, printed.err
    assert "There is but one split, and so no interval: judge over training seeds" in printed.out
    found = json.loads(run_sfa("compare", *runs, "--json", protocol="knn").out)
    first, second = found["baseline"]["score"]["mean"], found["others"][0]["score"]["mean"]
    expected = {"mean": pytest.approx(second - first), "low": None, "high": None, "p_value": None}
    assert found["others"][0]["differences"]["accuracy"] == expected
    assert f"{second - first:+.2f}" in printed.out
