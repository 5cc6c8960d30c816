"""Studies of a few tiny runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sfa.data import load
from sfa.ledger import Ledger
from sfa.studies import Dataset, Plan, Runner
from tests.studies.tiny import results, tiny_plan


@pytest.fixture(scope="session")
def dataset(planted_file: Path) -> Dataset:
    return Dataset.of(lambda: load(planted_file), {"data": str(planted_file)}, lambda level: ["honest-10-10-80"])


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
