"""Entries to put into ledgers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sfa.evaluate import Score
from sfa.experiments.entry import Entry


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
