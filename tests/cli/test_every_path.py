"""Every argument and option that takes a path, with what is no such path: one sentence, and nothing is touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from sfa.cli.app import app

COMMANDS: dict[str, tuple[str, ...]] = {  # what each command needs to begin with, before it gets a wrong path
    "convert": ("DATA", "--out", "made"),
    "train": ("DATA", "--epochs", "1", "--method", "grace"),
    "sweep": ("DATA", "--epochs", "1", "--method", "grace", "--trials", "1"),
    "study": ("iterations", "--datasets", "DATA", "--epochs", "1"),
    "evaluate": ("RUN",),
    "compare": ("RUN", "OTHER"),
    "report": ("RUN",),
    "embed": ("RUN", "--out", "z.npz", "--data", "DATA"),
    "neighbors": ("RUN", "0"),
    "suggest-links": ("RUN",),
    "cluster": ("RUN",),
    "table": ("1",),
    "figure": ("2",),
    "ledger": ("export",),
    "demo": (),
}
PATHS = ("FILE", "FOLDER", "DATA")  # metavars
OTHERS = {("figure", "--ledger"), ("figure", "--out")}  # figure 2 reads no results, and adds a suffix to any name
BAD = ["pipe", "loop", "~nosuchuser/x.csv", f"{'x' * 300}.csv", "file/x.csv"]


def cases() -> Iterator[tuple[str, str]]:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        for one in command.params if name in COMMANDS else ():
            is_path = one.param_type_name == "option" and one.metavar in PATHS
            # A data root plays no part where data are a file.
            if is_path and one.name != "data_root" and (name, one.opts[0]) not in OTHERS:
                yield name, one.opts[0]


def test_every_command_is_known() -> None:
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(commands) - {"list", "doctor"} == set(COMMANDS)
    assert len(list(cases())) > 30


@pytest.mark.parametrize(("command", "option"), list(cases()))
def test_wrong_paths(
    refuses: Callable[..., str], planted_file: Path, trained_run: Path, command: str, option: str
) -> None:
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    Path("file").write_text("mine")
    shutil.copytree(trained_run, "other")
    given = {"DATA": planted_file, "RUN": trained_run, "OTHER": "other"}
    words: list[Any] = [given.get(word, word) for word in COMMANDS[command]]
    for bad in BAD:
        said = refuses(command, *words, option, bad)
        assert "Errno" not in said
        assert "Error" not in said
