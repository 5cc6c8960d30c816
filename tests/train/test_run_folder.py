"""A run folder is made whole or not at all, and one that cannot be used is told from one that can."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from sfa.errors import InputError
from sfa.train import RunFolder, run_folder


def tree(path: Path) -> list[Path]:
    return sorted(path.rglob("*"))


def test_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "below" / "run"
    folder = RunFolder.create(path, {"method": {"name": "grace", "tau": 0.4}, "features": "row"}, {"seed": 7})
    assert RunFolder.open(path) == folder
    assert folder.record["seed"] == 7
    assert folder.record["versions"]["torch"] == version("torch")
    assert folder.record["versions"]["sfa"] == version("sfa")
    assert yaml.safe_load(folder.recipe_file.read_text()) == {
        "method": {"name": "grace", "tau": 0.4},
        "features": "row",
    }


def test_an_empty_folder_can_become_one(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert RunFolder.create(tmp_path / "run", {}, {}).record["format"] == run_folder.FORMAT


def test_a_folder_with_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("precious")
    before = tree(tmp_path)
    with pytest.raises(InputError, match=r"already holds files.*--resume"):
        RunFolder.create(tmp_path, {}, {})
    assert tree(tmp_path) == before


@pytest.mark.parametrize("out", ["file", "file/run", "file/deep/run"])
def test_a_file_in_the_way(tmp_path: Path, out: str) -> None:
    (tmp_path / "file").write_text("precious")
    with pytest.raises(InputError, match="is a file"):
        RunFolder.create(tmp_path / out, {}, {})
    assert (tmp_path / "file").read_text() == "precious"


def test_checking_leaves_no_trace(tmp_path: Path) -> None:
    RunFolder.check_creatable(tmp_path / "deep" / "run")
    assert tree(tmp_path) == []


@pytest.mark.parametrize("writes", [0, 1])
def test_killed_while_it_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int) -> None:
    """After so many of its files the process is gone: the same command must work when it is given again."""

    class Killed(BaseException):
        pass

    done = 0
    write_text = run_folder.write_text

    def write_or_die(path: Path, text: str) -> None:
        nonlocal done
        if done == writes:
            raise Killed
        done += 1
        write_text(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(run_folder, "write_text", write_or_die)
        with pytest.raises(Killed):
            RunFolder.create(tmp_path / "run", {"features": "row"}, {})
    RunFolder.create(tmp_path / "run", {"features": "row"}, {})
    assert RunFolder.open(tmp_path / "run").recipe_file.exists()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "not a run folder"),
        ("", "cannot be read"),
        ('{"format": 1, "see', "cannot be read"),
        ("[1, 2]", "cannot be read"),
        (b"\xff\xfe\x00", "cannot be read"),
        (json.dumps({"format": run_folder.FORMAT + 1}), "another version of sfa"),
        (json.dumps({"format": "1"}), "another version of sfa"),
        ("{}", "another version of sfa"),
    ],
)
def test_one_that_cannot_be_opened(tmp_path: Path, content: str | bytes | None, reason: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError, match=reason) as raised:
        RunFolder.open(tmp_path)
    assert str(tmp_path) in str(raised.value)


def test_one_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere.*run folder"):
        RunFolder.open(tmp_path / "nowhere")


def test_rewinding_forgets_later_epochs(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", {}, {})
    for epoch in range(1, 6):
        folder.append({"epoch": epoch, "seconds": 0.5 * epoch})
    assert folder.rewind(3) == 1.5
    assert [row["epoch"] for row in folder.read_metrics()] == [1, 2, 3]
    assert folder.rewind(0) == 0
    assert folder.read_metrics() == []
