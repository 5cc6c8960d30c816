"""Runs in Python: trained, opened, scored, embedded, compared and shown on a page, as the command line does it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

import sfa
from sfa.data import build_images
from sfa.run import Recipe, Run, compare_runs, embed_run, evaluate_run, open_run, report_run, train_run

TINY: dict[str, Any] = {"hidden": 8, "set": {"method.projection": 8}, "epochs": 3}


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(planted: Data) -> Run:
    return train_run(planted, **TINY)


def test_the_package_has_the_functions() -> None:
    for name in ("train_run", "open_run", "evaluate_run", "embed_run", "compare_runs", "report_run"):
        assert getattr(sfa, name) is getattr(sfa.run, name)
        assert name in dir(sfa)
    with pytest.raises(AttributeError, match="no attribute 'tarin_run'"):
        _ = sfa.run.tarin_run


def test_a_run_in_memory_is_the_run_of_the_command_line(
    run: Run, planted: Data, planted_file: Path, run_sfa: Callable[..., Any], tmp_path: Path
) -> None:
    options = ["--hidden", "8", "--set", "method.projection=8", "--epochs", "3", "--out", "cli"]
    assert run_sfa("train", planted_file, *options).code == 0
    other = open_run(tmp_path / "cli")
    assert run.recipe == other.recipe
    assert torch.equal(run.method.embed(run.data), other.method.embed(other.data))
    assert run.scores is not None
    kept = json.loads((tmp_path / "cli" / "scores-honest-10-10-80.json").read_text())
    assert run.scores.as_dict()["scores"] == kept["scores"]
    assert other.scores is None
    assert run.path == Path("runs/planted-neighbor-contrast-none")


def test_nothing_is_printed_but_when_asked(planted: Data, capfd: pytest.CaptureFixture[str]) -> None:
    run = train_run(planted, **TINY)
    evaluate_run(run, protocol="knn")
    embed_run(run, out="z.npz")
    report_run(run, protocol="knn")
    assert capfd.readouterr() == ("", "")
    train_run(planted, **TINY, evaluate=False, progress=True)
    out, err = capfd.readouterr()
    assert out == ""
    assert "training  3/3" in err


def test_every_kind_of_data(planted: Data, molecule_list: list[Data], pictures_arrays: dict[str, Any]) -> None:
    drawn = networkx.Graph(name="drawn")
    drawn.add_nodes_from((i, {"x": row.tolist()}) for i, row in enumerate(planted.x))
    drawn.add_edges_from(planted.edge_index.T.tolist())
    given = {
        "a graph of networkx": drawn,
        "a pair": (planted.x.numpy(), planted.edge_index.numpy()),
        "graphs": molecule_list,
        "an image set": build_images(pictures_arrays["x"], name="pictures"),
        "an array of images": pictures_arrays["x"],
    }
    tasks = {}
    for name, data in given.items():
        run = train_run(data, epochs=1, hidden=4, evaluate=False, out=name)
        tasks[name] = str(embed_run(run).item)
    assert list(tasks.values()) == ["node", "node", "graph", "image", "image"]


def test_changes_by_keyword_and_by_path(planted: Data, tmp_path: Path) -> None:
    changes = {"spectral": "noise,sfa", "training": {"lr": 0.25}, "postprocess": "concat-features", "seed": 3}
    run = train_run(planted, epochs=3, **changes, evaluate=False, recipe={"method": "g-bt"}, set={"encoder.layers": 1})
    recipe = run.recipe
    assert (recipe.method["name"], recipe.spectral_label, recipe.training.lr) == ("g-bt", "noise + sfa", 0.25)
    assert recipe.encoder is not None
    assert (recipe.training.seed, recipe.encoder["layers"]) == (3, 1)
    assert recipe.postprocess[0]["name"] == "concat-features"
    again = train_run(planted, recipe=recipe, out="again", evaluate=False)
    assert again.recipe == recipe
    resumed = train_run(planted, out="again", resume=True, recipe=Recipe.parse(recipe.as_dict()), evaluate=False)
    assert resumed.progress.finished


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda data: train_run(data, epoch=3), "did you mean 'epochs'"),
        (lambda data: train_run(data, method="grcae"), "did you mean 'grace'"),
        (lambda data: train_run(data, recipe={"methods": "grace"}), "did you mean 'method'"),
        (lambda data: train_run(data, labels="y.csv"), "data in memory"),
        (lambda data: train_run(None), "which data"),
        (lambda data: train_run(object()), "is no graph"),
        (lambda data: open_run("nowhere"), "not a run folder"),
        (lambda data: compare_runs("one"), "at least two"),
        (lambda data: report_run(), "at least one"),
        (lambda data: evaluate_run("nowhere", protocol="nkn"), "did you mean 'knn'"),
        (lambda data: embed_run("nowhere", out="z.png"), "z.png"),
    ],
)
def test_errors_are_those_of_the_command_line(planted: Data, call: Callable[[Data], Any], says: str) -> None:
    with pytest.raises(sfa.InputError, match=says):
        call(planted)


def test_a_run_on_data_in_memory_is_opened_with_them(run: Run, planted: Data, molecules: Data) -> None:
    with pytest.raises(sfa.InputError, match="in memory: give them again"):
        open_run(run.path)
    opened = open_run(run.path, data=planted)
    assert torch.equal(opened.method.embed(opened.data), run.method.embed(run.data))
    planted.x = planted.x + 1
    with pytest.raises(sfa.InputError, match="have changed"):
        open_run(run.path, data=planted)


def test_embeddings_of_the_run_and_of_others(run: Run, planted: Data) -> None:
    found = embed_run(run, out="z.npz", with_labels=True)
    z = run.method.embed(run.data).numpy()
    np.testing.assert_array_equal(np.asarray(found), z)
    np.testing.assert_array_equal(np.load("z.npz")["embeddings"], z)
    assert found.columns is not None
    assert list(found.columns) == ["label", "predicted", "part"]
    assert "60 embeddings of width 8 in z.npz" in repr(found)
    half = planted.subgraph(torch.arange(30))
    assert embed_run(run, data=half).z.shape == (30, 8)


@pytest.mark.slow
def test_results_show_themselves(run: Run, planted: Data) -> None:
    assert run.scores is not None
    other = train_run(planted, spectral="sfa", **TINY)
    comparison, report = compare_runs(other, run), report_run(other, run, out="page.html")
    for result in (run, run.scores, comparison, embed_run(run)):
        assert "│" in repr(result), "a small table as text"
        html = result._repr_html_()
        assert "<table" in html or "<b>" in html
        assert html.count("<") == html.count(">")
    mean = f"{run.scores.of['honest-10-10-80'][-1].mean():.2f}"
    for shown in (repr(run), run._repr_html_()):
        for part in ("neighbor-contrast", "planted", "3 of 3", mean):
            assert part in shown
    (curve,) = re.findall(r'<svg.*?points="(.*?)"', run._repr_html_())
    assert len(curve.split()) == 3, "a point for each epoch"
    difference = comparison.differences[1]["accuracy"].mean
    assert f"{difference:+.2f}" in repr(comparison)
    assert f"{difference:+.2f}" in comparison._repr_html_()
    assert report.path.read_text().startswith("<!DOCTYPE html>")
    assert report.path.resolve().as_uri() in report._repr_html_()
    assert "page.html" in repr(report)


def test_one_label_is_one_layer(planted: Data, workplace: Path) -> None:
    options = {"method": "grace", **TINY, "evaluate": False}
    runs = [train_run(planted, spectral=spectral, **options) for spectral in (None, "sfa", "none")]
    assert [run.name for run in runs] == ["grace + sfa (64 passes)", "grace + sfa", "grace"]
    names = [path.name for path in sorted((workplace / "runs").iterdir())]
    assert names == ["planted-grace-none", "planted-grace-sfa", "planted-grace-sfa-64-passes"]


def test_scores_of_a_gentle_run_that_do_not_say_so_are_used(planted: Data) -> None:
    run = train_run(planted, method="grace", **TINY)
    path = run.path / "scores-honest-10-10-80.json"
    record = json.loads(path.read_text())
    record["scores"][-1]["name"] = "grace + sfa"
    record["scores"][-1]["values"]["accuracy"][0] = 12.5
    path.write_text(json.dumps(record))
    comparison = compare_runs(run, train_run(planted, method="grace", spectral="none", **TINY, evaluate=False))
    assert (comparison.scores[0].name, comparison.scores[0].of()[0]) == (run.name, 12.5)
