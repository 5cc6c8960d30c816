"""Searches of a few tiny runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from torch_geometric.data import Data

from sfa.experiments.results import Ledger
from sfa.sweep import Search
from tests.sweep.tiny import pretended, tiny_search


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "runs" / "ledger.sqlite", create=True) as opened:
        yield opened


@pytest.fixture
def no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it is the book-keeping that is tested."""
    monkeypatch.setattr("sfa.experiments.runner.measure", pretended)


@pytest.fixture
def search(planted: Data, tmp_path: Path) -> Callable[..., Search]:
    """``search(seeds=(0, 1))`` on the planted graph, or on other data as ``graph``."""

    def make(**options: Any) -> Search:
        return tiny_search(options.pop("graph", planted), options.pop("folder", tmp_path / "search"), **options)

    return make
