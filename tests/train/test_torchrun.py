"""Real processes under torchrun: they train one run, and one that is killed ends it without spoiling it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfa.train import RunFolder

pytestmark = pytest.mark.multiprocess

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m", "sfa"]
OPTIONS = ["--batch-size", "16", "--set", "training.patience=null", "--set", "training.checkpoint_every=2"]


@pytest.fixture
def environment() -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def process_of_rank(rank: int, torchrun: int) -> int:
    """The child of torchrun that has this rank."""
    for entry in Path("/proc").iterdir():
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == torchrun and f"RANK={rank}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                return int(entry.name)
        except (OSError, ValueError, IndexError):
            continue
    raise AssertionError(f"no process of rank {rank}")


@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_a_killed_rank_ends_the_run_and_the_last_checkpoint_resumes(
    planted_file: Path, tiny: list[str], tmp_path: Path, environment: dict[str, str], run_sfa: Callable[..., Any]
) -> None:
    out = tmp_path / "run"
    words = ["train", str(planted_file), "--out", str(out), "--epochs", "100000", *OPTIONS, *tiny]
    torchrun = subprocess.Popen([*TORCHRUN, *words], stderr=subprocess.PIPE, text=True, env=environment)
    folder, deadline = RunFolder(out), time.monotonic() + 90
    while len(folder.read_metrics()) < 4:
        assert torchrun.poll() is None, torchrun.communicate()[1]
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.02)
    os.kill(process_of_rank(1, torchrun.pid), signal.SIGKILL)
    _, said = torchrun.communicate(timeout=60)
    assert torchrun.returncode != 0
    assert "Another process of this run has ended or cannot be reached" in said
    assert "--resume" in said

    done = len(folder.read_metrics())
    assert folder.checkpoint.exists()
    recipe = folder.recipe_file.read_text().replace("epochs: 100000", f"epochs: {done + 3}")
    folder.recipe_file.write_text(recipe)  # to the end, but not for ever
    result = subprocess.run(
        [*TORCHRUN, "train", "--resume", "--out", str(out), "--no-evaluate"],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "2 processes" in result.stderr
    assert [row["epoch"] for row in folder.read_metrics()] == list(range(1, done + 4))

    # What several processes trained is a run like any other.
    assert run_sfa("embed", out, "--out", tmp_path / "z.npz").code == 0


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
def test_torchrun_restarts_a_run_from_its_last_checkpoint(
    planted_file: Path, tiny: list[str], tmp_path: Path, environment: dict[str, str]
) -> None:
    """It goes on without --resume, where it would otherwise refuse a folder that holds a run."""
    out = tmp_path / "run"
    words = ["train", str(planted_file), "--out", str(out), "--epochs", "60", "--no-evaluate", *OPTIONS, *tiny]
    command = [*TORCHRUN[:-2], "--max-restarts", "1", *TORCHRUN[-2:], *words]
    torchrun = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    folder, deadline = RunFolder(out), time.monotonic() + 90
    while len(folder.read_metrics()) < 4:
        assert torchrun.poll() is None, torchrun.communicate()[1]
        assert time.monotonic() < deadline, "no progress"
        time.sleep(0.005)
    os.kill(process_of_rank(1, torchrun.pid), signal.SIGKILL)
    _, said = torchrun.communicate(timeout=120)
    assert torchrun.returncode == 0, said
    assert said.count(f"torchrun has started the processes again: going on with the run in {out}.") == 1
    assert "Going on from epoch" in said
    assert [row["epoch"] for row in folder.read_metrics()] == list(range(1, 61))


def test_bad_input_is_one_sentence_under_torchrun_too(tmp_path: Path, environment: dict[str, str]) -> None:
    missing = tmp_path / "missing.npz"
    result = subprocess.run(
        [*TORCHRUN, "train", str(missing)], capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert result.returncode != 0
    assert str(missing) in result.stderr
    assert "Unforeseen" not in result.stderr
    assert not (tmp_path / "runs").exists()


def test_two_processes_learn_from_images_with_a_probe_beside(
    pictures_file: Path, tmp_path: Path, environment: dict[str, str]
) -> None:
    out = tmp_path / "run"
    narrow = ["--hidden", "4", "--set", "method.head_hidden=16", "--set", "method.head_width=8", "--no-evaluate"]
    words = ["train", str(pictures_file), "--method", "swav", "--set", "method.prototypes=6", "--batch-size", "16"]
    result = subprocess.run(
        [*TORCHRUN, *words, "--epochs", "2", "--online-probe", "--out", str(out), *narrow],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "2 processes" in result.stderr
    assert result.stderr.count("Online probe:") == 1
    assert [0 <= row["online"]["validation"] <= 100 for row in RunFolder(out).read_metrics()] == [True, True]
