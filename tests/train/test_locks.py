"""Two processes and one folder: the second is told so and touches nothing, and a killed one is in nobody's way."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfa.atomic import write_text
from sfa.train import RunFolder

pytestmark = pytest.mark.multiprocess

HOLD = """
import sys, time
from pathlib import Path
from sfa.atomic import atomic_path
from sfa.train.run_folder import RunFolder
path = Path(sys.argv[1])
with RunFolder(path).locked(), atomic_path(path / "x.txt") as temporary:
    temporary.write_text("half")
    print("held", flush=True)
    time.sleep(600)
"""


def hold(folder: Path) -> subprocess.Popen[str]:
    """Start a process that holds the lock of a folder and writes a file in it, until it is killed."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(folder)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def files(folder: Path) -> dict[Path, bytes]:
    return {file: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_second_process_is_refused_and_a_killed_one_is_forgotten(
    planted_file: Path, tiny: list[str], trained_run: Path, tmp_path: Path, run_sfa: Callable[..., Any]
) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    new.mkdir()
    shutil.copytree(trained_run, old)
    commands = (["train", planted_file, *tiny, "--epochs", 2], new), (["train", "--resume", "--no-evaluate"], old)
    holders = [hold(folder) for _, folder in commands]
    for words, folder in commands:
        before = files(folder)
        result = run_sfa(*words, out=folder)
        assert result.code == 2
        assert "Another process trains in" in result.err
        assert len(result.err.splitlines()) == 1
        assert files(folder) == before
    assert run_sfa("embed", old, out=tmp_path / "z.npz").code == 0, "reading needs no lock"
    for holder, (words, folder) in zip(holders, commands, strict=True):
        holder.kill()
        holder.communicate()
        assert (folder / ".lock").exists()
        result = run_sfa(*words, out=folder)
        assert result.code == 0, result.err
        assert not list(folder.glob(".*")), "neither the lock nor the file that was half written"


def test_two_that_start_at_once_in_an_empty_folder(planted_file: Path, tiny: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    words = [sys.executable, "-m", "sfa", "train", planted_file, *tiny, "--epochs", "30", "--out", out, "--quiet"]
    both = [subprocess.Popen(list(map(str, words)), stderr=subprocess.PIPE, text=True) for _ in range(2)]
    errors = [process.communicate()[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], errors
    assert [row["epoch"] for row in RunFolder(out).read_metrics()] == list(range(1, 31))
    assert not list(out.glob(".*"))


def test_temporary_files_of_a_live_process_stay(tmp_path: Path) -> None:
    process = hold(tmp_path)
    before = files(tmp_path)
    write_text(tmp_path / "y.txt", "whole")
    write_text(tmp_path / "x.txt", "whole")
    assert before.items() <= files(tmp_path).items()
    process.kill()
    process.communicate()
    (tmp_path / ".mine.tmp").mkdir()
    write_text(tmp_path / "y.txt", "whole")
    assert {file.name for file in tmp_path.iterdir()} == {"x.txt", "y.txt", ".lock", ".mine.tmp"}


def test_a_process_may_lock_its_folder_twice(tmp_path: Path) -> None:
    with RunFolder(tmp_path).locked():
        with RunFolder(tmp_path).locked():
            pass
        assert (tmp_path / ".lock").exists()
    assert not list(tmp_path.iterdir())
