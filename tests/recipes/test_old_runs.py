"""Run folders of the version before are opened, give the embeddings that they gave, and are gone on with.

Each folder in ``old_runs`` was trained for four epochs by the version before, and holds the embeddings that its
``sfa embed`` wrote. ``interrupted.safetensors`` is the checkpoint of the same run after two epochs.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfa.run.run import open_run
from sfa.train import load_tensors

FOLDER = Path(__file__).parent / "old_runs"
RUNS = ("grace", "sugrl", "g-bt", "dgi", "graphcl")
ROUNDING = {
    "g-bt": [f"model.encoder.{name}" for i in (0, 1) for name in (f"convolutions.{i}.bias", f"norms.{i}.running_mean")],
    "graphcl": ["model.encoder.layers.0.outer.bias", "model.encoder.layers.0.norm.running_mean"],
}
"""Biases that the batch normalization behind them takes away, and its means: rounding alone moves them."""


@pytest.fixture(params=RUNS)
def old_run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy, whose record says where the data are now."""
    path = tmp_path / str(request.param)
    shutil.copytree(FOLDER / request.param, path)
    record = json.loads((path / "run.json").read_text())
    record["source"]["data"] = str(FOLDER / record["source"]["data"])
    (path / "run.json").write_text(json.dumps(record))
    return path


def test_an_old_run_is_opened(old_run: Path) -> None:
    run = open_run(old_run)
    assert run.recipe.method["name"] == old_run.name
    assert (run.progress.epoch, run.progress.finished) == (4, True)
    found = run.method.embed(run.data).numpy()
    np.testing.assert_allclose(found, np.load(old_run / "embeddings.npy"), rtol=1e-5, atol=1e-6)


def test_steps_of_an_old_run_are_postprocessing() -> None:
    text = (FOLDER / "grace" / "recipe.yaml").read_text()
    assert "smoothing: 1" in text
    assert "own_features: 0.5" in text
    assert np.load(FOLDER / "grace" / "embeddings.npy").shape == (30, 4 + 6)


def test_an_old_run_embeds_as_it_did(old_run: Path, run_sfa: Callable[..., Any], tmp_path: Path) -> None:
    result = run_sfa("embed", old_run, out=tmp_path / "z.npz")
    assert result.code == 0, result.err
    found = np.load(tmp_path / "z.npz")["embeddings"]
    np.testing.assert_allclose(found, np.load(old_run / "embeddings.npy"), rtol=1e-5, atol=1e-6)


def test_an_interrupted_old_run_is_gone_on_with(old_run: Path, run_sfa: Callable[..., Any]) -> None:
    """It ends with the weights, and with the state of the optimizer, of the old version's uninterrupted run."""
    expected, _ = load_tensors(FOLDER / old_run.name / "checkpoint.safetensors")
    shutil.copy(old_run / "interrupted.safetensors", old_run / "checkpoint.safetensors")
    assert not open_run(old_run).progress.finished
    result = run_sfa("train", "--resume", "--no-evaluate", "--quiet", out=old_run)
    assert result.code == 0, result.err
    found, meta = load_tensors(old_run / "checkpoint.safetensors")
    assert meta["epoch"] == 4
    renamed = {name.replace("model.mlp.", "model.encoder."): value for name, value in expected.items()}
    assert found.keys() == renamed.keys()
    for name in found.keys() - set(ROUNDING.get(old_run.name, ())):
        error = (found[name].double() - renamed[name].double()).abs().max()
        # Another processor rounds differently, and Adam enlarges the rounding of small gradients.
        assert error <= 1e-4 * renamed[name].abs().max() + 2e-6, f"{old_run.name}: {name}"
    losses = [
        [json.loads(line)["loss"] for line in (folder / "metrics.jsonl").read_text().splitlines()]
        for folder in (old_run, FOLDER / old_run.name)
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
