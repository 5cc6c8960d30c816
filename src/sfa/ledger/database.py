"""The ledger's file: a SQLite database that several processes may fill at once."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sfa.errors import InputError, SfaError

APPLICATION = 0x5346414C
"""``SFAL``, by which a file is known as a ledger."""

FORMAT = 2
"""Of the tables; raised whenever an older `sfa` could no longer read what a newer one writes."""

PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

SCHEMA = """
CREATE TABLE runs (
    key TEXT PRIMARY KEY NOT NULL,
    kind TEXT NOT NULL,
    dataset TEXT NOT NULL,
    method TEXT,
    spectral TEXT,
    recipe TEXT NOT NULL,
    recipe_hash TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    seed INTEGER NOT NULL,
    versions TEXT NOT NULL,
    device TEXT NOT NULL,
    threads INTEGER NOT NULL,
    created TEXT NOT NULL,
    epochs INTEGER,
    train_seconds REAL,
    seconds_per_epoch REAL,
    evaluate_seconds REAL,
    peak_memory INTEGER,
    peak_memory_by TEXT,
    failure TEXT
);
CREATE TABLE labels (
    study TEXT NOT NULL,
    variant TEXT NOT NULL,
    run TEXT NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    PRIMARY KEY (study, variant, run)
);
CREATE TABLE scores (
    run TEXT NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    protocol TEXT NOT NULL,
    splits TEXT NOT NULL,
    embedding TEXT NOT NULL,
    metric TEXT NOT NULL,
    split INTEGER NOT NULL,
    value REAL NOT NULL,
    PRIMARY KEY (run, protocol, splits, embedding, metric, split)
);
"""


class Database:
    """An open ledger file with its tables.

    Args:
        path: The file.
        create: Make it, and its folder, if it is not there.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        self.path = path
        if path.is_dir():
            raise InputError(f"The ledger {path} is a folder: name a file in it.")
        if not create and not path.exists():
            raise InputError(f"There is no ledger at {path}: `sfa study` makes one; name another by --ledger.")
        if create:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise InputError(f"Cannot make the ledger {path}: {error.strerror or error}.") from error
        with self._explained():
            self._connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
        try:
            # Whoever removes a run's folder once its row is in relies on the row being on the disk, even if the power
            # fails: the most careful setting of the journal, of the kind that also works on network drives.
            self.execute("PRAGMA synchronous = EXTRA")
            self.execute("PRAGMA foreign_keys = ON")
            self._settle_format()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """All rows that a statement gives."""
        with self._explained():
            return self._connection.execute(statement, values).fetchall()

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], otherwise: str = "") -> None:
        """Add rows to a table."""
        places = ", ".join("?" * len(columns))
        with self._explained():
            self._connection.executemany(
                f"INSERT {otherwise} INTO {table} ({', '.join(columns)}) VALUES ({places})", rows
            )

    @contextmanager
    def transaction(self, kind: str = "IMMEDIATE") -> Iterator[None]:
        """Everything inside is written, or nothing is; and what is read is of one moment."""
        self.execute(f"BEGIN {kind}")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _settle_format(self) -> None:
        """Make the tables of a new ledger; refuse what is none, or one of another version."""
        if self._is_empty():
            with self.transaction():
                if self._is_empty():  # another process may have been first
                    for statement in SCHEMA.split(";")[:-1]:
                        self.execute(statement)
                    self.execute(f"PRAGMA application_id = {APPLICATION}")
                    self.execute(f"PRAGMA user_version = {FORMAT}")
        [(application,)], [(version,)] = self.execute("PRAGMA application_id"), self.execute("PRAGMA user_version")
        if application != APPLICATION:
            raise InputError(f"{self.path} is a SQLite file, but not a ledger of sfa: name another by --ledger.")
        if version != FORMAT:
            raise InputError(
                f"The ledger {self.path} was written by another version of sfa (format {version}, this one has "
                f"{FORMAT}): name another by --ledger, or install that version."
            )

    def _is_empty(self) -> bool:
        return self.execute("SELECT count(*) FROM sqlite_master") == [(0,)]

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What SQLite meets, in a sentence for the person at the keyboard."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise  # a fault of ours, not of the file
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise SfaError(
                    f"The ledger {self.path} is locked: another process has been writing to it for {PATIENCE:.0f} s."
                ) from error
            raise InputError(f"The ledger {self.path} cannot be used: {error}.") from error
        except sqlite3.DatabaseError as error:
            raise InputError(
                f"{self.path} is damaged or is not a ledger of sfa ({error}): name another by --ledger."
            ) from error
