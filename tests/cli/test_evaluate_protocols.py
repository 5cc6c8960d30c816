"""``sfa evaluate`` under several protocols."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.evaluate import Classification
from sfa.evaluate.probes import AdamProbe, OneVsRestProbe
from sfa.registry import registered
from sfa.run.display import Display
from sfa.run.run import open_run
from sfa.run.score_cache import trained_anew
from tests.parts import replace_part

RunSfa = Callable[..., Any]
ROWS = ["raw features", "propagated features", "untrained encoder", "grace + sfa (64 passes)"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two repeats of everything, and fewer fits in each."""
    probes = {
        "pygcl-10-80-10": AdamProbe(steps=40),
        "grace-10-90": OneVsRestProbe(cs=(1.0, 10.0)),
        "bgrl-20-80": OneVsRestProbe(cs=(1.0, 10.0), selection="5 halves"),
    }
    for name, protocol in registered("protocol").items():
        few = protocol.with_splits(2)
        if name in probes:
            assert isinstance(few, Classification)
            few = replace(few, probe=probes[name])
        replace_part(monkeypatch, "protocol", name, few)


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(trained_run, tmp_path / "run"))


@pytest.mark.slow
def test_all_in_one_table(run: Path, run_sfa: RunSfa) -> None:
    result = run_sfa("evaluate", run, protocol="all")
    assert result.code == 0, result.err
    table, notes = result.out.split("└")
    names, metrics, *rows = [line for line in table.splitlines() if "┃" in line or "│" in line]
    assert [cell.strip() for cell in names.split("┃")[1:-1]] == [
        "",
        "honest-10-10-80",
        "few-5",
        "pygcl-10-80-10",
        "grace-10-90",
        "bgrl-20-80",
        *["clustering"] * 3,
        "knn",
        *["link-prediction"] * 2,
    ]
    metric_cells = [cell.strip() for cell in metrics.split("┃")[1:-1]]
    assert metric_cells == ["embedding", *["accuracy"] * 5, "nmi", "ari", "accuracy", "accuracy", "auc", "ap"]
    cells = [[cell.strip() for cell in row.split("│")[1:-1]] for row in rows]
    assert [row[0] for row in cells] == ROWS
    assert all(" ± " in cell for row in cells for cell in row[1:])
    assert "not here, public: There is no public split here" in notes
    assert "not here, honest-10-10-80-sklearn: It gives the scores of honest-10-10-80" in notes
    assert "not here, honest-1-10-89: 60 labeled nodes give a training part of 1, too few for 3 classes" in notes
    assert "grace + sfa (64 passes) is trained anew 2 times, up to 5 epochs each" in result.err
    assert result.err.count("training without edges held out  5/5") == 2
    assert result.err.index("is trained anew") < result.err.index("scoring, honest"), "said before any work"
    kept = {path.name for path in run.glob("scores-*.json")}
    absent = {
        "public",
        "honest-10-10-80-sklearn",
        "honest-1-10-89",
        "label-signal",
        "tu-svm-10fold",
        "tu-linear-10fold",
        "ridge-60-20-20",
        "ridge-scaffold",
        "linear-scaffold",
        "minibatch-10-10-80",
    }
    absent |= {name for name in registered("protocol") if name.startswith("image-")}
    assert kept == {f"scores-{name}.json" for name in registered("protocol") if name not in absent}


def test_a_narrow_terminal_gets_the_table_on_its_side(
    run: Path, run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfa.run.display.PLAIN_WIDTH", 80)
    result = run_sfa(
        "evaluate", run, "--protocol", "knn", "--protocol", "clustering", "--protocol", "grace-10-90", "-q"
    )
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in result.out.splitlines() if "│" in line]
    assert [row[:2] for row in rows] == [
        ["knn", "accuracy"],
        ["clustering", "nmi"],
        ["clustering", "ari"],
        ["clustering", "accuracy"],
        ["grace-10-90", "accuracy"],
    ]
    kept = json.loads((run / "scores-clustering.json").read_text())["scores"]
    for column, score in enumerate(kept, 2):
        assert score["name"] == ROWS[column - 2]
        assert rows[1][column] == f"{score['mean']:.2f} ± {score['std']:.2f}"
        assert rows[2][column].startswith(f"{np.mean(score['values']['ari']):.2f} ")


def test_json_of_one_and_of_several(run: Path, run_sfa: RunSfa) -> None:
    alone = json.loads(run_sfa("evaluate", run, "--json", "-q", protocol="knn").out)
    assert alone == json.loads((run / "scores-knn.json").read_text())
    assert [score["name"] for score in alone["scores"]] == ROWS
    assert {score["protocol"] for score in alone["scores"]} == {"knn"}
    assert alone["data"] == json.loads((run / "run.json").read_text())["fingerprint"]
    assert len(alone["splits"]) == len(alone["checkpoint"]) == 64
    several = run_sfa("evaluate", run, "--json", "-q", "--protocol", "knn", "--protocol", "clustering")
    printed = json.loads(several.out)
    assert printed["protocols"][0] == alone
    assert [record["protocol"] for record in printed["protocols"]] == ["knn", "clustering"]
    assert list(printed["protocols"][1]["scores"][0]["values"]) == ["nmi", "ari", "accuracy"]
    assert printed["not possible"] == {}


def test_public_masks_of_the_data_are_used(planted: Data, run_sfa: RunSfa, tiny: list[str], tmp_path: Path) -> None:
    graph, part = planted.clone(), torch.arange(60) // 3 % 6
    graph.train_mask, graph.val_mask, graph.test_mask = part < 2, part == 2, part > 2
    torch.save(graph, tmp_path / "masked.pt")
    assert run_sfa("train", tmp_path / "masked.pt", *tiny, epochs=1, out=tmp_path / "masked").code == 0
    result = run_sfa("evaluate", tmp_path / "masked", "--json", "-q", protocol="public")
    assert result.code == 0, result.err
    for score in json.loads(result.out)["scores"]:
        (value,) = score["values"]["accuracy"]
        assert value == pytest.approx(100 * round(value * 27 / 100) / 27), "of the 27 nodes of the test part"
        assert score["std"] is None


@pytest.mark.slow
def test_supervised_rows_where_splits_have_a_validation_part(run: Path, run_sfa: RunSfa, refuses: Any) -> None:
    words = ["evaluate", run, "--supervised", "--json", "-q"]
    printed = json.loads(run_sfa(*words, "--protocol", "honest-10-10-80", "--protocol", "grace-10-90").out)
    honest, grace = ([score["name"] for score in record["scores"]] for record in printed["protocols"])
    assert honest == [*ROWS, "MLP, supervised", "GCN, supervised"]
    assert grace == ROWS
    assert all(0 <= value <= 100 for value in printed["protocols"][0]["scores"][-1]["values"]["accuracy"])
    assert "grace-10-90 has none" in refuses("evaluate", run, "--supervised", protocol="grace-10-90")


def test_what_these_data_do_not_allow_is_refused_when_named(run: Path, refuses: Any) -> None:
    assert "no public split" in refuses("evaluate", run, "--protocol", "knn", "--protocol", "public")


def test_edges_held_out_are_gone_before_training(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training, and embedding with what was trained, get the training graph and nothing else."""
    opened, trained_on = open_run(run), []

    def train(method: torch.nn.Module, graph: Data, **settings: Any) -> None:
        trained_on.append((graph, settings))

    monkeypatch.setattr("sfa.run.score_cache.train", train)
    smaller = opened.data.clone()
    smaller.edge_index = smaller.edge_index[:, :0]
    z = trained_anew(opened, Display(quiet=True))(smaller)
    ((graph, settings),) = trained_on
    assert graph is smaller
    assert (settings["epochs"], settings["seed"], settings["lr"]) == (5, 0, opened.recipe.training.lr)
    untrained = opened.untrained
    assert torch.equal(z, untrained.embed(smaller)), "from the first epoch, not from the weights of the run"
    assert not torch.equal(z, opened.method.embed(smaller))
