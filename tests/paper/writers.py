"""Processes that write to a ledger: all at once, or to their death."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sfa.evaluate import Score
from sfa.paper.results import Ledger
from sfa.paper.results_files import Entry


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


def die_while_writing(path: Path) -> None:
    """Be killed after the new file was written, and before it takes the place of the old one."""
    Path.replace = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[assignment, misc, return-value]
    Ledger(path).add(entry_by(9, "killed"))


SCHEMA = """
CREATE TABLE runs (key TEXT PRIMARY KEY NOT NULL, kind TEXT NOT NULL, dataset TEXT NOT NULL, method TEXT, spectral TEXT,
    recipe TEXT NOT NULL, recipe_hash TEXT NOT NULL, fingerprint TEXT NOT NULL, seed INTEGER NOT NULL,
    versions TEXT NOT NULL, device TEXT NOT NULL, threads INTEGER NOT NULL, created TEXT NOT NULL, epochs INTEGER,
    train_seconds REAL, seconds_per_epoch REAL, evaluate_seconds REAL, peak_memory INTEGER, peak_memory_by TEXT,
    failure TEXT);
CREATE TABLE labels (study TEXT NOT NULL, variant TEXT NOT NULL,
    run TEXT NOT NULL REFERENCES runs (key) ON DELETE CASCADE, PRIMARY KEY (study, variant, run));
CREATE TABLE scores (run TEXT NOT NULL REFERENCES runs (key) ON DELETE CASCADE, protocol TEXT NOT NULL,
    splits TEXT NOT NULL, embedding TEXT NOT NULL, metric TEXT NOT NULL, split INTEGER NOT NULL, value REAL NOT NULL,
    PRIMARY KEY (run, protocol, splits, embedding, metric, split));
PRAGMA application_id = 1397113164;
PRAGMA user_version = 2;
"""
"""Of ledgers as they were before they were JSON files."""


def make_sqlite(path: Path, entries: Sequence[Entry], more: str = "") -> None:
    """Make a ledger of the old kind, and do something to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.executescript(SCHEMA)
        for entry in entries:
            columns = {key: value for key, value in vars(entry).items() if key not in ("labels", "scores")}
            values = [json.dumps(value) if isinstance(value, dict) else value for value in columns.values()]
            raw.execute(f"INSERT INTO runs ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})", values)
            raw.executemany("INSERT INTO labels VALUES (?, ?, ?)", [(*label, entry.key) for label in entry.labels])
            for score in entry.scores:
                place = entry.key, score.protocol, score.splits, score.name
                for metric, of_splits in score.values.items():
                    rows = [(*place, metric, split, value) for split, value in enumerate(of_splits)]
                    raw.executemany("INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        raw.executescript(more)
