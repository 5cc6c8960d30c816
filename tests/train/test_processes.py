"""Real processes, really killed."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from sfa.train import RunFolder, load_tensors

pytestmark = pytest.mark.multiprocess

EPOCHS = 600
OPTIONS = [
    *("--method", "grace"),
    *("--epochs", str(EPOCHS), "--hidden", "32", "--set", "method.projection=32", "--set", "training.patience=null"),
    *("--set", "method.batch_norm=true", "--set", "method.activation=rrelu", "--threads", "1", "--no-evaluate"),
]


@pytest.fixture(scope="module")
def whole(planted_file: Path, tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """The run that nobody interrupted."""
    from sfa.cli import main

    path = tmp_path_factory.mktemp("whole") / "run"
    with pytest.raises(SystemExit):
        main(["train", str(planted_file), "--out", str(path), "--quiet", *OPTIONS])
    return RunFolder.open(path)


def train_until(lines: int, number: signal.Signals, data: Path, out: Path, *options: str) -> subprocess.Popen[str]:
    """Start a run in a process of its own, and send it a signal once so many epochs are in its metrics."""
    command = [sys.executable, "-m", "sfa", "train", str(data), "--out", str(out), *OPTIONS, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    folder, deadline = RunFolder(out), time.monotonic() + 60
    while len(folder.read_metrics()) < lines:
        assert process.poll() is None, f"ended too early: {process.communicate()}"
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.001)
    process.send_signal(number)
    return process


def assert_same_run(folder: RunFolder, whole: RunFolder) -> None:
    (tensors, meta), (expected, expected_meta) = load_tensors(folder.checkpoint), load_tensors(whole.checkpoint)
    assert tensors.keys() == expected.keys()
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    assert meta == expected_meta
    losses, expected_losses = (
        [(row["epoch"], row["loss"], row["lr"]) for row in one.read_metrics()] for one in (folder, whole)
    )
    assert losses == expected_losses
    assert len(losses) == EPOCHS


@pytest.mark.parametrize(("lines", "every"), [(2, 100), (60, 7)], ids=["before a checkpoint", "after some"])
def test_kill_9(
    planted_file: Path, whole: RunFolder, tmp_path: Path, run_sfa: Callable[..., Any], lines: int, every: int
) -> None:
    out = tmp_path / "run"
    process = train_until(lines, signal.SIGKILL, planted_file, out, "--set", f"training.checkpoint_every={every}")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    folder = RunFolder(out)
    done = len(folder.read_metrics())
    assert lines <= done < EPOCHS, "the signal came too late"
    assert done == every or folder.checkpoint.exists() == (done > every)

    result = run_sfa("train", "--resume", "--out", out, "--threads", 1, "--no-evaluate")
    assert result.code == 0, result.err
    shown = re.findall(r"training +(\d+)/(\d+)", result.err)
    assert shown[-1] == (str(EPOCHS), str(EPOCHS))
    assert len(shown) == len(set(shown))
    assert max(int(step) for step, _ in shown) == EPOCHS
    assert_same_run(folder, whole)


def test_ctrl_c(planted_file: Path, whole: RunFolder, tmp_path: Path, run_sfa: Callable[..., Any]) -> None:
    out = tmp_path / "run"
    process = train_until(20, signal.SIGINT, planted_file, out)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stdout == ""
    assert "Traceback" not in stderr
    assert "\x1b" not in stderr
    last = stderr.splitlines()[-1]
    assert last.startswith("sfa: Stopped after epoch ")
    folder = RunFolder(out)
    done = len(folder.read_metrics())
    assert 20 <= done < EPOCHS
    assert load_tensors(folder.checkpoint)[1]["epoch"] == done

    program, *words = shlex.split(last.split("go on with: ")[1])
    assert program == "sfa"
    assert run_sfa(*words, "--no-evaluate").code == 0
    assert_same_run(folder, whole)


SLOW = """
import os, time
from sfa.methods import GRACE
class Slow(GRACE):
    def forward(self, *args, **options):
        open(__file__ + ".started", "w").close()
        for _ in range(int(os.environ["NAPS"])):
            time.sleep(0.01)
        return super().forward(*args, **options)
"""


class TestLongEpochs:
    """Steps that take long, in a process of its own that is sent Ctrl-C."""

    def start(self, data: Path, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, naps: int) -> Any:
        """Start a run and return its process once it trains."""
        (tmp_path / "slow_method.py").write_text(SLOW)
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
        monkeypatch.setenv("NAPS", str(naps))
        options = ["--method", "slow_method:Slow", "--batch-size", "16", "--epochs", "1", "--hidden", "8"]
        command = [sys.executable, "-m", "sfa", "train", str(data), "--out", str(out), "--no-evaluate", *options]
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 100
        while not (tmp_path / "slow_method.py.started").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < deadline, "no progress"
            time.sleep(0.01)
        return process

    def test_the_first_ctrl_c_is_answered_and_the_run_resumes(
        self, planted_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = tmp_path / "run"
        process = self.start(planted_file, out, tmp_path, monkeypatch, 100)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "stopping after this step; again to stop now" in said
        assert "sfa: Stopped within epoch 1 of 1; go on with:" in said
        assert 0 < load_tensors(RunFolder(out).checkpoint)[1]["step"] < 4
        monkeypatch.setenv("NAPS", "0")
        command = [sys.executable, "-m", "sfa", "train", "--resume", "--out", str(out), "--no-evaluate"]
        assert subprocess.run(command, check=False).returncode == 0
        assert load_tensors(RunFolder(out).checkpoint)[1]["finished"]

    def test_the_second_ctrl_c_stops_at_once_and_leaves_nothing_half_written(
        self, planted_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        out = tmp_path / "run"
        process = self.start(planted_file, out, tmp_path, monkeypatch, 100_000)
        process.send_signal(signal.SIGINT)
        assert "stopping after this step" in next(line for line in process.stderr if "stopping" in line)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 130
        process.stderr.close()
        assert sorted(path.name for path in out.iterdir()) == ["recipe.yaml", "run.json"]
