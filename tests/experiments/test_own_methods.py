"""Studies of methods that are not sfa's own, and of several maps at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sfa.errors import InputError
from sfa.experiments.cells import Dataset, Plan
from sfa.experiments.plans import make_plan
from sfa.experiments.results import Ledger
from sfa.experiments.runner import Runner
from sfa.registry import resolve

NAME = "tests.recipes.my_parts:Mine"
SMALL = {"encoder.hidden": 4, "method.projection": 4, "training.epochs": 2}


def test_a_method_by_its_path(dataset: Dataset, tmp_path: Path) -> None:
    plan = make_plan(resolve("study", "ablation"), [dataset], [0], methods=[NAME], changes=SMALL)
    assert {cell.variant.recipe.method["name"] for cell in plan.cells} == {NAME}
    wanted = [cell for cell in plan.cells if cell.variant.label in ("A_G", "A_G + A_F + A_F*")]
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        runner = Runner(ledger, device="cpu", strict=True)
        runner.run(Plan(plan.study, plan.protocols, tuple((cell,) for cell in wanted)))
        entries = ledger.select()
    assert runner.failures == {}
    assert {(entry.method, entry.spectral) for entry in entries} == {(NAME, "none"), (NAME, "noise + sfa")}
    assert all(entry.scores and entry.epochs == 2 for entry in entries)


def test_many_methods_with_one_of_ones_own(dataset: Dataset) -> None:
    plan = make_plan(resolve("study", "methods"), [dataset], [0], methods=["grace", NAME])
    labels = [cell.variant.label for cell in plan.cells if cell.variant.kind == "trained"]
    assert labels == ["grace", "grace + SFA", NAME, f"{NAME} + SFA"]
    with pytest.raises(InputError, match="did you mean 'Mine'"):
        make_plan(resolve("study", "methods"), [dataset], [0], methods=["tests.recipes.my_parts:Mien"])


def test_on_the_command_line(planted_file: Path, run_sfa: Callable[..., Any], tmp_path: Path) -> None:
    words = [f"{path}={value}" for path, value in SMALL.items()]
    result = run_sfa(
        "study", "iterations", "--datasets", planted_file, "--method", NAME, "--ledger", tmp_path / "ledger.sqlite",
        "--set", *words, "--quiet",
    )  # fmt: skip
    assert result.code == 0, result.err
    with Ledger(tmp_path / "ledger.sqlite") as ledger:
        entries = ledger.select()
    assert {entry.method for entry in entries} == {NAME}
    assert len(entries) == 5
