"""A command reads its data, builds its method and makes its Fabric once, and imports no more than it needs."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lightning_fabric import Fabric

from sfa.evaluate import Protocol
from sfa.run import Recipe, source
from sfa.train import RunFolder

RunSfa = Callable[..., Any]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each expensive function is called."""
    counts: Counter[str] = Counter()

    def count(owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def counting(*args: Any, **options: Any) -> Any:
            counts[name] += 1
            return real(*args, **options)

        monkeypatch.setattr(owner, name, counting)

    count(source, "load")
    count(source, "fingerprint")
    count(Recipe, "build_for")
    count(Recipe, "prepare")
    count(Fabric, "__init__")
    count(Protocol, "digest")
    count(RunFolder, "read_metrics")
    return counts


@pytest.fixture
def runs(planted_file: Path, run_sfa: RunSfa, tiny: list[str], tmp_path: Path) -> list[Path]:
    paths = [tmp_path / name for name in ("none", "sfa")]
    for path in paths:
        assert run_sfa("train", planted_file, *tiny, "-q", epochs=2, spectral=path.name, out=path).code == 0
    return paths


def test_train(planted_file: Path, run_sfa: RunSfa, calls: Counter[str], tmp_path: Path, tiny: list[str]) -> None:
    options = [word for word in tiny if word != "--no-evaluate"]
    assert run_sfa("train", planted_file, *tiny, "-q", epochs=2, out=tmp_path / "a").code == 0
    assert (calls["load"], calls["build_for"], calls["prepare"], calls["__init__"]) == (1, 1, 1, 1)
    calls.clear()
    assert run_sfa("train", planted_file, *options, "-q", epochs=2, out=tmp_path / "b").code == 0
    assert calls["load"] == calls["prepare"] == calls["__init__"] == 1
    assert calls["build_for"] == 2, "the method, and the untrained encoder that it is compared with"
    assert calls["digest"] <= 5, "for each of four scores, and for the record of all"


def test_evaluate_and_embed(runs: list[Path], run_sfa: RunSfa, calls: Counter[str], tmp_path: Path) -> None:
    assert run_sfa("evaluate", runs[0], "-q", protocol="knn").code == 0
    assert (calls["load"], calls["prepare"], calls["fingerprint"], calls["build_for"]) == (1, 1, 1, 2)
    assert calls["digest"] <= 5
    calls.clear()
    assert run_sfa("embed", runs[0], "-q", out=tmp_path / "z.npz").code == 0
    assert (calls["load"], calls["prepare"], calls["build_for"], calls["digest"]) == (1, 1, 1, 0)


def test_several_runs_share_their_data(runs: list[Path], run_sfa: RunSfa, calls: Counter[str]) -> None:
    assert run_sfa("compare", *runs, "-q", protocol="knn").code == 0
    assert (calls["load"], calls["build_for"]) == (1, 2)
    assert calls["digest"] == 4, "for the splits of each run, and for each score"
    calls.clear()
    assert run_sfa("report", *runs, "-q", protocol="knn").code == 0
    assert (calls["load"], calls["build_for"]) == (1, 4), "each run's method, trained and untrained"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "absent"),
    [
        ("--help", ["torch", "numpy", "yaml"]),
        ("train --help", ["torch", "numpy", "yaml"]),
        ("list recipes", ["torch", "numpy", "matplotlib"]),
        ("embed {run} --out {out} -q", ["matplotlib", "sqlite3", "sfa.paper.figures", "sfa.paper.studies"]),
        ("evaluate {run} --protocol knn -q", ["matplotlib", "sqlite3", "sfa.paper.figures"]),
    ],
)
def test_a_command_imports_no_more_than_it_needs(
    command: str, absent: list[str], trained_run: Path, tmp_path: Path
) -> None:
    words = command.format(run=trained_run, out=tmp_path / "z.npz").split()
    code = (
        "import sys\nfrom sfa.cli import main\n"
        f"try: main({words!r})\nexcept SystemExit as ended: assert not ended.code\n"
        f"print('imported:', [name for name in {absent!r} if name in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert result.stdout.splitlines()[-1] == "imported: []"
