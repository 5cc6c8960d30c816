"""Misspelled names and missing files are refused before PyTorch is imported, with the sentence that comes later too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfa.cli import early
from sfa.data import load
from sfa.errors import InputError
from sfa.registry import HOMES, known_names, resolve
from sfa.run import load_recipe

HELP = "train evaluate compare report embed neighbors suggest-links cluster table figure study ledger sweep list doctor"
LISTS = "methods encoders augmentations spectral postprocess datasets samplers protocols recipes tables figures studies"
REFUSED = """
train nowhere.csv
train missing
train edges.csv --features nowhere.npy
train edges.csv --labels nowhere.csv
train edges.csv --method grcae
train cora --method simclrr
train cora --recipe papre
train cora --recipe nowhere.yaml
train cora --spectral sfa,noies
train cora --encoder gnc
train cora --augmentation unifrom
train cora --sampler nieghbors
train cora --log tensorbord
train cora --set tau
train --resume --out nowhere
evaluate nowhere
neighbors nowhere 5
suggest-links nowhere
cluster run --data nowhere.csv
evaluate run --protocol cluster
embed nowhere --out z.npz
report nowhere
report run --protocol cluster
evaluate run --labels nowhere.csv
compare run run --data nowhere.csv
compare run nowhere
compare run run --protocol cluster
sweep nowhere.csv
sweep cora --method grcae
figure spectrun
figure spectrum nowhere
study ablatoin --datasets cora
table 99
ledger --ledger nowhere.json
""".strip().splitlines()
PROGRAM = """
import contextlib, io, json, sys
from sfa.cli import main
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as err:
        try:
            main(words)
            code = 0
        except SystemExit as ended:
            code = ended.code
    heavy = sorted({"torch", "torch_geometric", "sklearn", "matplotlib", "scipy"} & sys.modules.keys())
    print(json.dumps([words, code or 0, heavy, err.getvalue()]))
"""


def run_all(commands: list[list[str]], folder: Path) -> list[Any]:
    """Run commands in one process; return the words, exit code, modules loaded by then, and errors of each."""
    command = [sys.executable, "-c", PROGRAM, json.dumps(commands)]
    result = subprocess.run(command, check=True, capture_output=True, text=True, cwd=folder)
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_help_lists_and_mistakes_import_nothing_heavy(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n1,2\n")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text('{"format": 3}')
    (tmp_path / "results.json").write_text("")
    fine = [["--help"], *([name, "--help"] for name in HELP.split()), *(["list", name] for name in LISTS.split())]
    fine += [["ledger", "--ledger", "results.json"]]
    refused = [line.split() for line in REFUSED]
    for words, code, heavy, err in run_all([*fine, *refused], tmp_path):
        assert (heavy, code) == ([], 2 if words in refused else 0), (words, err)
        assert err.startswith("sfa: ") == (words in refused), (words, err)


@pytest.mark.parametrize("kind", [kind for kind in HOMES if kind != "postprocess"])
def test_names_are_refused_in_the_same_words(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "are_stored", lambda kind: True)
    early.check_names(kind, *known_names(kind), None, "some.module:Class")
    with pytest.raises(InputError) as later:
        resolve(kind, "nonsense")
    with pytest.raises(InputError) as now:
        early.check_names(kind, "nonsense")
    assert str(now.value).replace("gentle, ", "") == str(later.value)


@pytest.mark.parametrize("name", ["missing", "missing.csv", "folder/missing"])
def test_data_and_recipes_are_refused_in_the_same_words(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "are_stored", lambda kind: True)
    pairs: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
        (early.check_data, load),
        (lambda name: early.check_recipe(name, "cora"), lambda name: load_recipe(name, "cora")),
    ]
    for check, use in pairs:
        with pytest.raises(InputError) as later:
            use(name)
        with pytest.raises(InputError) as now:
            check(name)
        assert str(now.value) == str(later.value)


def test_what_may_be_known_later_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "are_stored", lambda kind: True)
    assert early.check_data("CORA") == "nodes"
    assert early.check_data("tu:Synthie") is None
    assert early.check_data("my_module:load") is None
    early.check_names("sampler", "neighbors", "whole")
    early.check_names("augmentation", "none")
    early.check_recipe("Paper", "Cora")
