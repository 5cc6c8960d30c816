"""Searches of a few tiny runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from torch_geometric.data import Data

from sfa.sweep import Search
from tests.sweep.tiny import pretended, tiny_search


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is the book-keeping that is tested."""
    monkeypatch.setattr(Search, "train_and_score", pretended)


@pytest.fixture
def short_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial whose process died is retried after two seconds."""
    monkeypatch.setattr("sfa.sweep.trials.HEARTBEAT", 1)
    monkeypatch.setattr("sfa.sweep.trials.GRACE", 2)


@pytest.fixture
def search(planted: Data, tmp_path: Path) -> Callable[..., Search]:
    """``search(seeds=(0, 1))`` on the planted graph, or on other data as ``graph``."""

    def make(**options: Any) -> Search:
        return tiny_search(options.pop("graph", planted), options.pop("folder", tmp_path / "search"), **options)

    return make
