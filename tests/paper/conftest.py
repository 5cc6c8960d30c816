"""Entries to put into ledgers, and plans of a few tiny runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sfa.data import load
from sfa.evaluate import Score
from sfa.paper.plans import Dataset, Plan
from sfa.paper.results import Ledger
from sfa.paper.results_files import Entry
from sfa.paper.runner import Runner
from tests.paper.tiny import results, tiny_plan


@pytest.fixture
def new_entry() -> Callable[..., Entry]:
    def make(key: str = "00ff", **changes: Any) -> Entry:
        values: dict[str, Any] = {
            "kind": "trained",
            "dataset": "cora",
            "method": "grace",
            "spectral": "sfa",
            "recipe": {"method": {"name": "grace", "edge_drop": [0.2, 0.4]}, "feature_noise": 1e-4},
            "recipe_hash": "abcd",
            "fingerprint": "f" * 64,
            "seed": 3,
            "versions": {"sfa": "0.1.0", "torch": "2.13.0"},
            "device": "cpu",
            "threads": 2,
            "created": "2026-01-02T03:04:05.678+00:00",
            "epochs": 200,
            "train_seconds": 12.5,
            "seconds_per_epoch": 0.0625,
            "evaluate_seconds": 1.25,
            "peak_memory": 2**30,
            "peak_memory_by": "VmHWM",
            "labels": (("ablation", "A_G + A_F*"),),
            "scores": (
                Score("grace + sfa", "honest-10-10-80", {"accuracy": (83.125, 81.0, 1 / 3)}),
                Score(
                    "grace + sfa", "clustering", {"nmi": (50.0, 51.0), "ari": (40.0, 41.5), "accuracy": (60.0, 61.0)}
                ),
            ),
        }
        return Entry(key, **{**values, **changes})

    return make


@pytest.fixture(scope="session")
def dataset(planted_file: Path) -> Dataset:
    return Dataset.of(lambda: load(planted_file), {"data": str(planted_file)}, lambda task: ["honest-10-10-80"])


@pytest.fixture
def plan(planted_file: Path) -> Callable[..., Plan]:
    """``plan("iterations", seeds=[0, 1])`` on the planted graph."""

    def make(study: str = "iterations", **options: Any) -> Plan:
        return tiny_plan(study, planted_file, **options)

    return make


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "runs" / "ledger.sqlite", create=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def left_in_peace(planted_file: Path, tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What a ledger holds after a study whose five cells were run without a break."""
    with Ledger(tmp_path_factory.mktemp("peace") / "ledger.sqlite", create=True) as opened:
        Runner(opened, device="cpu").run(tiny_plan("iterations", planted_file))
        return results(opened)
