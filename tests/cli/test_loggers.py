"""``sfa train --log``: the log has what the run folder has, through an interruption too."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfa.registry import registered, resolve
from sfa.train import RunFolder, load_tensors, save_tensors

RunSfa = Callable[..., Any]


def curve(run: Path, tag: str) -> list[tuple[int, float]]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    read = EventAccumulator(str(run / "tensorboard"), size_guidance={"scalars": 0}).Reload()
    return [(one.step, one.value) for one in read.Scalars(tag)]


def test_the_log_is_that_of_the_run(planted_file: Path, tiny: list[str], run_sfa: RunSfa) -> None:
    result = run_sfa("train", planted_file, *tiny, "--evaluate", epochs=3, log="tensorboard", out="run")
    assert result.code == 0
    assert "Log: tensorboard --logdir run/tensorboard" in result.err
    rows = RunFolder(Path("run")).read_metrics()
    for key in ("loss", "lr", "seconds"):
        assert curve(Path("run"), key) == [(row["epoch"], pytest.approx(row[key])) for row in rows]
    rank = [(row["epoch"], row["diagnostics"]["effective_rank_tilde"]) for row in rows if "diagnostics" in row]
    assert len(rank) == 2
    assert curve(Path("run"), "diagnostics/effective_rank_tilde") == [(at, pytest.approx(value)) for at, value in rank]
    *_, own = json.loads(Path("run/scores-honest-10-10-80.json").read_text())["scores"]
    assert curve(Path("run"), "scores/honest-10-10-80/accuracy") == [(3, pytest.approx(own["mean"]))]
    assert curve(Path("run"), "scores/honest-10-10-80/accuracy_std") == [(3, pytest.approx(own["std"]))]


def test_a_resumed_run_goes_on_in_its_log(planted_file: Path, tiny: list[str], run_sfa: RunSfa) -> None:
    """As if killed at epoch 5 with a checkpoint of epoch 3; the log may also begin with the resumed part."""
    settings = [*tiny, "--set", "training.checkpoint_every=3"]
    assert run_sfa("train", planted_file, *settings, epochs=6, log="tensorboard", out="whole").code == 0
    shutil.copytree("whole", "cut")
    assert run_sfa("train", planted_file, *settings, epochs=3, out="short").code == 0
    weights, meta = load_tensors(Path("short/checkpoint.safetensors"))
    save_tensors(Path("cut/checkpoint.safetensors"), weights, {**meta, "finished": False})
    lines = Path("cut/metrics.jsonl").read_text().splitlines(keepends=True)
    Path("cut/metrics.jsonl").write_text("".join(lines[:5]))
    shutil.copytree("cut", "late")
    shutil.rmtree("late/tensorboard")
    for run in ("cut", "late"):
        result = run_sfa("train", "--resume", "--no-evaluate", out=run, log="tensorboard")
        assert "Going on from epoch 3." in result.err
        assert curve(Path(run), "loss") == curve(Path("whole"), "loss")
    assert len(curve(Path("whole"), "loss")) == 6


def test_what_cannot_be_logged_to(
    planted_file: Path, refuses: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Unknown logger 'tensorbord': did you mean 'tensorboard'?" in refuses(
        "train", planted_file, log="tensorbord"
    )
    monkeypatch.setitem(sys.modules, "wandb", None)
    assert "pip install 'sfa[wandb]'" in refuses("train", planted_file, log="wandb")


def test_a_logger_that_fails_costs_no_training(
    planted_file: Path, tiny: list[str], run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(resolve("logger", "tensorboard"), "log", fail)
    result = run_sfa("train", planted_file, *tiny, "--quiet", epochs=3, log="tensorboard", out="run")
    assert result.code == 0
    assert result.err == (
        "Logging to tensorboard has ended (OSError: [Errno 28] No space left on device); "
        "the run goes on, and its metrics.jsonl has every epoch.\n"
    )
    assert len(RunFolder(Path("run")).read_metrics()) == 3


def test_loggers_are_listed(run_sfa: RunSfa) -> None:
    lines = run_sfa("list", "loggers").out.splitlines()
    assert [line.split()[0] for line in lines] == list(registered("logger"))
    assert all(len(line.split()) > 3 for line in lines)
