"""Files of results: JSON as the ledger keeps it, old SQLite files, and tables in CSV or Markdown for people."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from sfa.atomic import atomic_path, ensure_writable
from sfa.errors import InputError
from sfa.paper.entry import Entry, make_scores, parse_entries, summary
from sfa.paper.words import mean_and_std, run_name

FORMATS = (".csv", ".json", ".json.gz", ".md")
APPLICATION, FORMAT = 0x5346414C, 2
"""By which a SQLite file is known as a ledger, and the layout of its tables."""


def check_export(path: Path) -> None:
    """Raise unless entries can be written to ``path``."""
    if _format(path) not in FORMATS:
        raise InputError(f"The ledger is exported to {', '.join(FORMATS)}, not to {path.name!r}.")
    ensure_writable(path)


def write_entries(path: Path, entries: Sequence[Entry], suffix: str | None = None) -> None:
    """Replace ``path`` in one step, in the format of its suffix if none is given.

    ``.json`` holds everything, the value of every split included, and ``.json.gz`` the same in less room; ``.csv`` and
    ``.md`` have a line for each run, protocol and metric, with mean and standard deviation over the splits. A run with
    no scores has one line.
    """
    if suffix is None:
        check_export(path)
        suffix = _format(path)
    if suffix in (".json", ".json.gz"):
        text = json.dumps([entry.as_dict() for entry in entries], indent=1, allow_nan=False) + "\n"
    else:
        frame = to_frame(entries)
        text = frame.to_csv(index=False) if suffix == ".csv" else _markdown(frame)
    with atomic_path(path) as temporary:
        content = text.encode()
        temporary.write_bytes(gzip.compress(content, mtime=0) if suffix == ".json.gz" else content)  # no date in it


def _format(path: Path) -> str:
    return "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix


def to_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return a data frame with a row for each run, protocol and metric."""
    return pd.DataFrame(list(_rows(entries)), dtype=object, columns=None if entries else ["key"])


def _rows(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        columns = entry.__dict__
        first = ("dataset", "kind", "method", "spectral", "seed")
        cost = ("epochs", "train_seconds", "seconds_per_epoch", "evaluate_seconds", "peak_memory", "peak_memory_by")
        last = (*cost, "device", "threads", "recipe_hash", "fingerprint")
        measured = [
            {"protocol": score.protocol, "metric": metric, **summary(score, metric)}
            for score in entry.scores
            for metric in score.values
        ]
        for one in measured or [dict.fromkeys(("protocol", "metric", "mean", "std", "splits"))]:
            yield {
                "key": entry.key,
                "studies": "; ".join(f"{study}: {variant}" for study, variant in entry.labels),
                **{name: columns[name] for name in first},
                **one,
                **{name: columns[name] for name in last},
                **{name: entry.versions.get(name) for name in ("sfa", "torch")},
                "created": entry.created,
                "failure": entry.failure,
            }


def to_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of :func:`to_frame` that people read, as they read them."""
    rows = [
        {
            "key": row["key"],
            "data set": row["dataset"],
            "run": run_name(row["kind"], row["method"], row["spectral"]),
            "seed": str(row["seed"]),
            "protocol": row["protocol"] or "",
            "metric": row["metric"] or "",
            "mean ± std": f"failed: {row['failure']}" if row["failure"] else mean_and_std(row["mean"], row["std"]),
            "epochs": _number(row["epochs"], "d"),
            "s/epoch": _number(row["seconds_per_epoch"], ".3g"),
            "MiB": _number(None if row["peak_memory"] is None else row["peak_memory"] / 2**20, ".0f"),
            "studies": row["studies"],
        }
        for row in frame.to_dict("records")
    ]
    return pd.DataFrame(rows, columns=COLUMNS, dtype=object)


COLUMNS = ("key", "data set", "run", "seed", "protocol", "metric", "mean ± std", "epochs", "s/epoch", "MiB", "studies")


def _markdown(frame: pd.DataFrame) -> str:
    escaped = to_text(frame).map(lambda text: " ".join(text.split()).replace("|", "\\|"))
    return f"{escaped.to_markdown(index=False, tablefmt='github', disable_numparse=True)}\n"


def _number(value: float | None, spec: str) -> str:
    return "" if value is None else f"{value:{spec}}"


def read_entries(path: Path) -> list[Entry]:
    """Return the runs of a ``.json`` or ``.json.gz`` file that a ledger is kept in, or was exported to."""
    try:
        content = path.read_bytes()
        content = gzip.decompress(content) if path.suffix == ".gz" else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} cannot be unpacked: it is damaged, or not a .gz.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        return parse_entries(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = f"run {first['loc'][0]}, {'.'.join(map(str, first['loc'][1:]))}: " if first["loc"] else ""
        why = "it is not JSON" if first["type"] == "json_invalid" else f"{place}{first['msg']}"
        raise InputError(f"{path} is damaged or is not a ledger of sfa: {why}.") from error


def is_sqlite(path: Path) -> bool:
    """Tell whether a file is a SQLite file, as ledgers were before."""
    try:
        with path.open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except OSError:
        return False


def read_sqlite(path: Path) -> list[Entry]:
    """Return the runs of an old ledger, in the order in which they were entered."""
    import sqlite3
    from contextlib import closing

    try:
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            connection.row_factory = sqlite3.Row
            (application,), (version,) = (
                connection.execute(f"PRAGMA {name}").fetchone() for name in ("application_id", "user_version")
            )
            if application != APPLICATION:
                raise InputError(f"{path} is a SQLite file, but not a ledger of sfa: name another by --ledger.")
            if version != FORMAT:
                raise InputError(
                    f"The ledger {path} was written by another version of sfa (format {version}, this one has "
                    f"{FORMAT}): name another by --ledger, or install that version."
                )
            connection.execute("BEGIN")  # all tables of one moment
            runs, labels, scores = (
                connection.execute(f"SELECT * FROM {table} ORDER BY rowid").fetchall()
                for table in ("runs", "labels", "scores")
            )
    except sqlite3.OperationalError as error:
        raise InputError(f"The ledger {path} cannot be used: {error}.") from error
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path} is damaged or is not a ledger of sfa ({error}): name another by --ledger.") from error
    labelled: dict[str, list[tuple[str, str]]] = {}
    for row in labels:
        labelled.setdefault(row["run"], []).append((row["study"], row["variant"]))
    scored: dict[str, dict[tuple[str, str, str, str], list[float]]] = {}
    for row in scores:
        place = row["protocol"], row["splits"], row["embedding"], row["metric"]
        scored.setdefault(row["run"], {}).setdefault(place, []).append(row["value"])
    try:
        return [
            Entry(
                **{**dict(run), **{column: json.loads(run[column]) for column in ("recipe", "versions")}},
                labels=tuple(labelled.get(run["key"], ())),
                scores=make_scores((*place, values, ()) for place, values in scored.get(run["key"], {}).items()),
            )
            for run in runs
        ]
    except (TypeError, ValueError) as error:
        raise InputError(f"The ledger {path} is damaged: it holds a recipe that is not JSON.") from error
