"""What the command says about itself."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import metadata, version
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest

from sfa.cli.listing import FILE, QUICK, Kind, make_rows
from sfa.data import names as datasets
from sfa.methods import available_methods
from sfa.paper.tables.definition import NUMBERS
from sfa.registry import registered
from sfa.run import shipped_recipes

RunSfa = Callable[..., Any]

EXPLORE = ("neighbors", "suggest-links", "cluster")


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("methods", list(available_methods())),
        (
            "spectral",
            [
                "none",
                "gentle",
                "sfa",
                "expectation",
                "soft-clip",
                "maxexp",
                "power-norm",
                "power-norm*",
                "grassmann",
                "pca",
                "precondition",
                "whiten",
                "noise",
                "costa",
                "schatten-penalty",
            ],
        ),
        ("datasets", [info.name for info in datasets()]),
        ("protocols", list(registered("protocol"))),
        ("recipes", list(shipped_recipes())),
        ("tables", [str(number) for number in NUMBERS]),
        ("figures", list(registered("figure"))),
    ],
)
def test_lists(run_sfa: RunSfa, kind: str, names: list[str]) -> None:
    result = run_sfa("list", kind)
    assert (result.code, result.err) == (0, "")
    lines = [line for line in result.out.splitlines() if line and not line.startswith(" ")]
    assert [line.split()[0] for line in lines] == names
    assert all(len(line.split()) > 2 for line in lines), "every name is explained"


def test_the_list_of_maps_tells_their_options(run_sfa: RunSfa) -> None:
    (line,) = [line for line in run_sfa("list", "spectral").out.splitlines() if line.startswith("maxexp ")]
    assert line.rstrip().endswith("eta=15, noise=1.5, detach=False")


def test_where_data_sets_come_from(run_sfa: RunSfa, tmp_path: Path) -> None:
    lines = {line.split()[0]: line for line in run_sfa("list", "datasets").out.splitlines() if line[:1].isalpha()}
    assert "bundled" in lines["cora"]
    assert "bundled" not in lines["citeseer"]
    result = run_sfa("list", "datasets", data_root=tmp_path / "nowhere")
    assert result.code == 2
    assert "nowhere" in result.err


def test_doctor(run_sfa: RunSfa, tmp_path: Path) -> None:
    result = run_sfa("doctor")
    assert (result.code, result.err) == (0, "")
    rows = {line.split()[0]: line for line in result.out.splitlines() if line.strip()}
    for package in ("torch", "numpy", "scikit-learn"):
        assert rows[package].split()[-1] == version(package)
    assert "bundled" in rows["cora"]
    assert "download" in rows["wikics"]
    assert "1 of" in rows["CPU"]
    assert "cpu" in rows["devices"]
    assert "SFA_DATA" in result.out
    assert rows["optuna"].split()[-1] == version("optuna")
    raw = tmp_path / "WikiCS" / "raw"
    raw.mkdir(parents=True)
    (raw / "data.json").write_text("{}")
    result = run_sfa("doctor", data_root=tmp_path)
    assert "download" not in next(line for line in result.out.splitlines() if line.strip().startswith("wikics"))


def test_doctor_tells_how_to_install_every_extra(run_sfa: RunSfa, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfa.cli.listing.distributions", lambda name: iter(()))
    told = run_sfa("doctor").out
    for extra in set(metadata("sfa").get_all("Provides-Extra")) - {"dev", "docs"}:
        assert f"pip install 'sfa[{extra}]'" in told


@pytest.mark.parametrize("flag", ["--help", "-h"])
@pytest.mark.parametrize(
    "command",
    [
        "train",
        "evaluate",
        "compare",
        "report",
        "embed",
        *EXPLORE,
        "convert",
        "table",
        "figure",
        "study",
        "ledger",
        "list",
        "doctor",
        "demo",
    ],
)
def test_help_shows_an_example(run_sfa: RunSfa, command: str, flag: str) -> None:
    result = run_sfa(command, flag)
    assert (result.code, result.err) == (0, "")
    assert result.out.count(f"sfa {command}") >= 2, "once in the usage, once in an example"


def test_help_of_all(run_sfa: RunSfa) -> None:
    result = run_sfa("--help")
    assert result.code == 0
    commands = (
        "train",
        "evaluate",
        "compare",
        "report",
        "embed",
        *EXPLORE,
        "convert",
        "figure",
        "study",
        "ledger",
        "list",
        "doctor",
        "demo",
    )
    for word in (*commands, "--version", "--debug"):
        assert word in result.out


def test_version(run_sfa: RunSfa) -> None:
    result = run_sfa("--version")
    assert (result.code, result.out.strip(), result.err) == (0, version("sfa"), "")


@pytest.mark.parametrize(
    "words", [["--help"], ["list", "methods"], ["list", "spectral"], ["list", "datasets"], ["list", "recipes"]]
)
def test_needs_no_torch(words: list[str]) -> None:
    code = f"import sys\nfrom sfa.cli import main\ntry: main({words})\nfinally: print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert result.stdout.splitlines()[-1] == "False"


def test_stored_lists_are_those_of_the_parts() -> None:
    stored = json.loads(files("sfa.cli").joinpath(FILE).read_text(encoding="utf-8"))
    made = {
        kind: json.loads(json.dumps(list(make_rows(kind, stored=True)))) for kind in get_args(Kind) if kind not in QUICK
    }
    assert stored == made, "write them anew: python -m sfa.cli.listing"
