"""Files of results: JSON as the ledger keeps it, old SQLite files, and tables in CSV or Markdown."""

import gzip
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
from pydantic import ValidationError

from sfa.atomic import atomic_path, ensure_writable
from sfa.errors import InputError
from sfa.paper.entry import Entry, entries_adapter
from sfa.paper.tables.text import mean_and_std

FORMATS = (".csv", ".json", ".json.gz", ".md")
APPLICATION, FORMAT = 0x5346414C, 2  # application id and version of the SQLite files that ledgers were before
COLUMNS = "key studies dataset kind method spectral seed protocol metric mean std splits epochs train_seconds"
COLUMNS += " seconds_per_epoch evaluate_seconds peak_memory peak_memory_by device threads recipe_hash fingerprint"
COLUMNS += " sfa torch created failure"
TEXT_COLUMNS = "key,data set,run,seed,protocol,metric,mean ± std,epochs,s/epoch,MiB,studies"


def check_export(path: Path) -> None:
    """Raise unless entries can be written to ``path``."""
    if _format(path) not in FORMATS:
        raise InputError(f"The ledger is exported to {', '.join(FORMATS)}, not to {path.name!r}.")
    ensure_writable(path)


def write_entries(path: Path, entries: Sequence[Entry], suffix: str | None = None) -> None:
    """Replace ``path`` in one step, in the format of its suffix if none is given.

    ``.json`` and ``.json.gz`` hold everything; ``.csv`` and ``.md`` have a line for each run, protocol and metric, with
    mean and standard deviation over the splits.
    """
    if suffix is None:
        check_export(path)
        suffix = _format(path)
    if suffix in (".json", ".json.gz"):
        text = json.dumps([entry.as_dict() for entry in entries], indent=1, allow_nan=False) + "\n"
    elif suffix == ".csv":
        text = to_frame(entries).to_csv(index=False)
    else:
        escaped = to_text(to_frame(entries)).map(lambda text: " ".join(text.split()).replace("|", "\\|"))
        text = f"{escaped.to_markdown(index=False, tablefmt='github', disable_numparse=True)}\n"
    with atomic_path(path) as temporary:
        content = text.encode()
        temporary.write_bytes(gzip.compress(content, mtime=0) if suffix == ".json.gz" else content)  # no date in it


def _format(path: Path) -> str:
    return "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix


def to_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return a data frame with a row for each run, protocol and metric; a run without scores has one row."""
    return pd.DataFrame(list(_rows(entries)), dtype=object, columns=COLUMNS.split() if entries else ["key"])


def _rows(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        run = {**vars(entry), **{name: entry.versions.get(name) for name in ("sfa", "torch")}}
        run["studies"] = "; ".join(f"{study}: {variant}" for study, variant in entry.labels)
        yield from ({**run, **score} for score in entry.as_dict()["scores"] or [{}])


def to_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the columns of :func:`to_frame` that people read, as text."""
    rows = []
    for row in frame.astype(object).where(frame.notna(), None).itertuples():
        method = row.method if row.spectral in (None, "none") else f"{row.method} + {row.spectral}"
        run = row.kind if row.method is None else method if row.kind == "trained" else f"{row.kind}, {method}"
        value = f"failed: {row.failure}" if row.failure else mean_and_std(row.mean, row.std)
        memory = row.peak_memory and row.peak_memory / 2**20
        costs = (row.epochs, "d"), (row.seconds_per_epoch, ".3g"), (memory, ".0f")
        formatted = ("" if cost is None else format(cost, digits) for cost, digits in costs)
        place = row.key, row.dataset, run, str(row.seed), row.protocol or "", row.metric or ""
        rows.append((*place, value, *formatted, row.studies))
    return pd.DataFrame(rows, columns=TEXT_COLUMNS.split(","), dtype=object)


def read_entries(path: Path) -> list[Entry]:
    """Return the runs of a ``.json`` or ``.json.gz`` file."""
    try:
        content = path.read_bytes()
        return entries_adapter().validate_json(gzip.decompress(content) if path.suffix == ".gz" else content)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} cannot be unpacked: it is damaged, or not a .gz.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
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

    try:
        with closing(sqlite3.connect(path, timeout=60)) as connection:
            connection.row_factory = sqlite3.Row
            names = "application_id", "user_version"
            application, version = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
            if (application, version) != (APPLICATION, FORMAT):
                raise InputError(
                    f"{path} is a SQLite file, but not a ledger of sfa, or one of another version of sfa (format "
                    f"{version}): name another by --ledger."
                )
            connection.execute("BEGIN")  # all tables of one moment
            runs, labels, scores = (
                [dict(row) for row in connection.execute(f"SELECT * FROM {table} ORDER BY rowid")]
                for table in ("runs", "labels", "scores")
            )
        found: dict[str, Any] = {}
        for run in runs:
            sections = {name: json.loads(run[name]) for name in ("recipe", "versions")}
            found[run["key"]] = {**run, **sections, "labels": [], "scores": {}}
        for row in labels:
            found[row.pop("run")]["labels"].append(row)
        for row in scores:
            place = {"splits_digest": row["splits"], **{key: row[key] for key in ("embedding", "protocol", "metric")}}
            of_run = found[row["run"]]["scores"]
            of_run.setdefault(tuple(place.values()), {**place, "values": []})["values"].append(row["value"])
        described = [{**run, "scores": list(run["scores"].values())} for run in found.values()]
        return entries_adapter().validate_json(json.dumps(described))
    except InputError:
        raise
    except sqlite3.OperationalError as error:
        raise InputError(f"The ledger {path} cannot be used: {error}.") from error
    except (sqlite3.DatabaseError, KeyError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise InputError(f"{path} is damaged or is not a ledger of sfa ({why}): name another by --ledger.") from error
