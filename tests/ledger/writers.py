"""Processes that write to a ledger: all at once, or to their death."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from sfa.evaluate import Score
from sfa.ledger import Entry, Ledger
from sfa.ledger.database import Database


def entry_by(writer: int, key: str) -> Entry:
    """An entry that tells its writer."""
    values = tuple(100.0 * writer + split for split in range(20))
    return Entry(
        key=key,
        kind="trained",
        dataset="cora",
        method="grace",
        spectral="sfa",
        recipe={"writer": writer},
        recipe_hash="h",
        fingerprint="f",
        seed=0,
        versions={},
        device="cpu",
        threads=1,
        created="2026",
        labels=((f"study {writer}", "v"),),
        scores=(Score("z", "p", {"accuracy": values}),),
    )


def write(path: Path, writer: int, start: Path, count: int) -> None:
    """Wait for the start, then enter runs that all enter, and some of its own."""
    while not start.exists():
        time.sleep(0.001)
    with Ledger(path, create=True) as ledger:
        for number in range(count):
            ledger.add(entry_by(writer, f"shared {number}"))
            ledger.add(entry_by(writer, f"{writer}: {number}"))


def die_before_commit(path: Path) -> None:
    """Insert a row with all that belongs to it, and be killed before it is committed."""
    execute = Database.execute

    def die(self: Database, statement: str, values: Any = ()) -> list[tuple[Any, ...]]:
        if statement == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)
        return execute(self, statement, values)

    with Ledger(path, create=True) as ledger:
        Database.execute = die  # type: ignore[method-assign]
        ledger.add(entry_by(9, "killed"))
