"""The ledger: runs with their labels and scores, entered once and found again."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from sfa.errors import InputError
from sfa.evaluate import Score
from sfa.ledger.database import Database
from sfa.ledger.entry import Entry

COLUMNS = tuple(field.name for field in fields(Entry) if field.name not in ("labels", "scores"))

SCORED = ("run", "protocol", "splits", "embedding")
"""What tells a score of the table ``scores`` from others."""

Labels = dict[str, list[tuple[str, str]]]
Values = dict[str, dict[tuple[str, str, str], dict[str, list[float]]]]


def default_path() -> Path:
    """The file named by the environment variable SFA_LEDGER, else ``runs/ledger.sqlite``."""
    return Path(os.environ.get("SFA_LEDGER") or "runs/ledger.sqlite")


class Ledger:
    """A ledger that is open. A row appears in it whole or not at all, and stays as it was first entered.

    Nothing is claimed in it: who runs what is settled elsewhere, and what was run twice is kept once.

    Args:
        path: The file.
        create: Make it, and its folder, if it is not there.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.path = path
        self._database = Database(path, create=create)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def add(self, entry: Entry) -> Entry:
        """Enter a run; returns what the ledger then holds of it. See :meth:`add_all`."""
        (held,) = self.add_all([entry])
        return held

    def add_all(self, entries: Sequence[Entry]) -> list[Entry]:
        """Enter runs with their labels and scores, all or none; returns what the ledger then holds of them.

        Of a run that is in already the row and its scores stay as they are; labels and scores under other protocols,
        or on other splits, are added. A failure gives way to whatever comes after it, but takes the place of nothing.
        """
        with self._database.transaction():
            for entry in entries:
                self._add(entry)
            return [held for entry in entries for held in self._entries("WHERE key = ?", [entry.key])]

    def _add(self, entry: Entry) -> None:
        known = self._database.execute("SELECT failure FROM runs WHERE key = ?", [entry.key])
        if known and known[0][0] is not None:
            labels = self._database.execute("SELECT study, variant FROM labels WHERE run = ?", [entry.key])
            entry = replace(entry, labels=(*((study, variant) for study, variant in labels), *entry.labels))
            self._database.execute("DELETE FROM runs WHERE key = ?", [entry.key])
            known = []
        if not known:
            self._database.insert("runs", COLUMNS, [[_to_sql(getattr(entry, column)) for column in COLUMNS]])
        self._label(entry.key, entry.labels)
        for score in entry.scores:
            self._add_score(entry.key, score)

    def label(self, key: str, study: str, variant: str) -> None:
        """Note that a run in the ledger belongs to a study, under a name."""
        with self._database.transaction():
            self._label(key, [(study, variant)])

    def get(self, key: str) -> Entry | None:
        """The run of this key, if it is in."""
        found = self.select(keys=[key])
        return found[0] if found else None

    def select(
        self,
        *,
        study: str | None = None,
        dataset: str | None = None,
        method: str | None = None,
        keys: Iterable[str] | None = None,
    ) -> list[Entry]:
        """The runs of a study, on a data set, of a method, with these keys: all conditions hold. Oldest first."""
        conditions, values = ["1"], []
        if study is not None:
            conditions.append("key IN (SELECT run FROM labels WHERE study = ?)")
            values.append(study)
        for column, value in (("dataset", dataset), ("method", method)):
            if value is not None:
                conditions.append(f"{column} = ?")
                values.append(value)
        if keys is not None:
            conditions.append("key IN (SELECT value FROM json_each(?))")
            values.append(_list(keys))
        with self._database.transaction("DEFERRED"):
            return self._entries(f"WHERE {' AND '.join(conditions)}", values)

    def unlabel(self, keys: Iterable[str], study: str) -> None:
        """Note that runs no longer belong to a study."""
        with self._database.transaction():
            query = "DELETE FROM labels WHERE study = ? AND run IN (SELECT value FROM json_each(?))"
            self._database.execute(query, [study, _list(keys)])

    def remove(self, keys: Iterable[str]) -> None:
        """Forget runs with their labels and scores."""
        with self._database.transaction():
            self._database.execute("DELETE FROM runs WHERE key IN (SELECT value FROM json_each(?))", [_list(keys)])

    def _add_score(self, key: str, score: Score) -> None:
        where = [key, score.protocol, score.splits, score.name]
        query = "SELECT 1 FROM scores WHERE run = ? AND protocol = ? AND splits = ? AND embedding = ? LIMIT 1"
        if not self._database.execute(query, where):
            rows = [
                [*where, metric, split, float(value)]
                for metric, values in score.values.items()
                for split, value in enumerate(values)
            ]
            self._database.insert("scores", (*SCORED, "metric", "split", "value"), rows)

    def _label(self, key: str, labels: Iterable[tuple[str, str]]) -> None:
        rows = [[study, variant, key] for study, variant in labels]
        self._database.insert("labels", ("study", "variant", "run"), rows, otherwise="OR IGNORE")

    def _entries(self, where: str, values: Sequence[Any]) -> list[Entry]:
        """Rows of ``runs`` with what the other tables hold of them."""
        execute = self._database.execute
        rows = execute(f"SELECT {', '.join(COLUMNS)} FROM runs {where} ORDER BY created, rowid", values)
        labels: Labels = {row[0]: [] for row in rows}
        scores: Values = {row[0]: {} for row in rows}
        chosen = f"WHERE run IN (SELECT key FROM runs {where}) ORDER BY rowid"
        for key, study, variant in execute(f"SELECT run, study, variant FROM labels {chosen}", values):
            labels[key].append((study, variant))
        for key, *scored, metric, value in execute(
            f"SELECT {', '.join(SCORED)}, metric, value FROM scores {chosen}", values
        ):
            protocol, splits, embedding = scored
            scores[key].setdefault((protocol, splits, embedding), {}).setdefault(metric, []).append(value)
        return [self._entry(row, labels, scores) for row in rows]

    def _entry(self, row: Sequence[Any], labels: Labels, scores: Values) -> Entry:
        columns = dict(zip(COLUMNS, row, strict=True))
        try:
            columns |= {column: json.loads(columns[column]) for column in ("recipe", "versions")}
        except (TypeError, ValueError) as error:
            raise InputError(f"The ledger {self.path} is damaged: it holds a recipe that is not JSON.") from error
        measured = tuple(
            Score(embedding, protocol, {metric: tuple(values) for metric, values in metrics.items()}, splits=splits)
            for (protocol, splits, embedding), metrics in scores[columns["key"]].items()
        )
        return Entry(**columns, labels=tuple(labels[columns["key"]]), scores=measured)


def _to_sql(value: Any) -> Any:
    return json.dumps(value) if isinstance(value, dict) else value


def _list(keys: Iterable[str]) -> str:
    return json.dumps(list(keys))
