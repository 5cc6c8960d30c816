"""The entry of a run in the results, and files of entries: JSON, old SQLite files, and tables in CSV or Markdown."""

import gzip
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import pandas as pd
from annotated_types import Len
from pydantic import AfterValidator, BaseModel, ConfigDict, GetPydanticSchema, TypeAdapter, ValidationError

from sfa.atomic import atomic_path, ensure_writable, write_text
from sfa.errors import InputError
from sfa.evaluate import Score
from sfa.folders import parse_json, require_regular_file
from sfa.paper.tables.model import mean_and_std

FORMATS = (".csv", ".json", ".json.gz", ".md")
APPLICATION, FORMAT = 0x5346414C, 2  # application id and version of the SQLite files that ledgers were before
COLUMNS = "key studies dataset kind method spectral seed protocol metric mean std splits epochs train_seconds"
COLUMNS += " seconds_per_epoch evaluate_seconds peak_memory peak_memory_by device threads recipe_hash fingerprint"
COLUMNS += " sfa torch created failure"
MAX_BYTES = 2**28  # of a file of results, unpacked
TEXT_COLUMNS = "key,data set,run,seed,protocol,metric,mean ± std,epochs,s/epoch,MiB,studies"


class _Label(NamedTuple):
    study: str
    variant: str


class _Metric(BaseModel):
    """A score's values of one metric."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)
    embedding: str
    protocol: str
    splits_digest: str
    metric: str
    values: Annotated[list[float], Len(1)]
    validation: list[float] = []


def _make_scores(rows: Iterable[_Metric]) -> tuple[Score, ...]:
    found: dict[tuple[str, str, str], dict[str, _Metric]] = {}
    for row in rows:
        found.setdefault((row.embedding, row.protocol, row.splits_digest), {})[row.metric] = row
    return tuple(
        Score(
            embedding,
            protocol,
            {metric: tuple(row.values) for metric, row in metrics.items()},
            validation={metric: tuple(row.validation) for metric, row in metrics.items() if row.validation},
            splits=splits,
        )
        for (embedding, protocol, splits), metrics in found.items()
    )


def _read_as(written: Any) -> GetPydanticSchema:
    """Validate a field by the type that it is written as."""
    return GetPydanticSchema(lambda _, handler: handler(written))


@dataclass(frozen=True)
class Entry:
    """One run. A field that does not apply to it, or that it failed before, is ``None``."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    key: Annotated[str, Len(1)]
    kind: str  # trained, timed, or a baseline such as raw features, untrained encoder, supervised gcn
    dataset: str
    method: str | None
    spectral: str | None
    recipe: Mapping[str, Any]
    recipe_hash: str
    fingerprint: str  # hash of the data before any preparation, :func:`sfa.data.fingerprint`
    seed: int
    versions: Mapping[str, str]
    device: str
    threads: int
    created: str  # in UTC
    epochs: int | None = None  # done; fewer than planned if early stopping ended it
    train_seconds: float | None = None
    seconds_per_epoch: float | None = None
    evaluate_seconds: float | None = None
    peak_memory: int | None = None  # of the process in bytes while it trained
    peak_memory_by: str | None = None  # VmHWM, the peak of the training alone, or ru_maxrss, since the process started
    failure: str | None = None  # why it failed, in a sentence
    labels: Annotated[tuple[tuple[str, str], ...], _read_as(tuple[_Label, ...])] = ()  # its studies, its name in each
    scores: Annotated[tuple[Score, ...], _read_as(Annotated[list[_Metric], AfterValidator(_make_scores)])] = ()

    def score_under(self, protocol: str, splits: str) -> Score | None:
        """Return its score under a protocol with these settings and splits (:meth:`~sfa.evaluate.Protocol.digest`)."""
        found = (score for score in self.scores if (score.protocol, score.splits) == (protocol, splits))
        return next(found, None)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, with the value of every split; a single value has no standard deviation."""
        scores = [
            {
                "embedding": score.name,
                "protocol": score.protocol,
                "splits_digest": score.splits,
                "metric": metric,
                "mean": score.mean(metric),
                "std": score.std(metric) if len(values) > 1 else None,
                "splits": len(values),
                "values": list(values),
                **({"validation": list(score.validation[metric])} if metric in score.validation else {}),
            }
            for score in self.scores
            for metric, values in score.values.items()
        ]
        return {**vars(self), "labels": [_Label(*label)._asdict() for label in self.labels], "scores": scores}


ENTRIES = TypeAdapter(list[Entry])


def check_export(path: Path) -> None:
    """Raise unless entries can be written to ``path``."""
    if not path.name.endswith(FORMATS):
        raise InputError(f"The ledger is exported to {', '.join(FORMATS)}, not to {path.name!r}.")
    ensure_writable(path)


def write_entries(path: Path, entries: Sequence[Entry]) -> None:
    """Replace ``path`` in one step, in the format of its suffix.

    ``.json`` and ``.json.gz`` hold everything; ``.csv`` and ``.md`` have a line for each run, protocol and metric, with
    mean and standard deviation over the splits.
    """
    check_export(path)
    if path.name.endswith(".csv"):
        write_text(path, to_frame(entries).to_csv(index=False))
    elif path.name.endswith(".md"):
        escaped = to_text(entries).map(lambda text: " ".join(text.split()).replace("|", "\\|"))
        write_text(path, f"{escaped.to_markdown(index=False, tablefmt='github', disable_numparse=True)}\n")
    else:
        write_json(path, entries)


def write_json(path: Path, entries: Sequence[Entry]) -> None:
    """Replace ``path`` in one step by JSON, compressed if it ends in ``.gz``."""
    text = json.dumps([entry.as_dict() for entry in entries], indent=1, allow_nan=False) + "\n"
    content = gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode()  # no date in it
    with atomic_path(path) as temporary:
        temporary.write_bytes(content)


def to_frame(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return a data frame with a row for each run, protocol and metric; a run without scores has one row."""
    return pd.DataFrame(list(_rows(entries)), dtype=object, columns=COLUMNS.split() if entries else ["key"])


def _rows(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    for entry in entries:
        run = {**vars(entry), **{name: entry.versions.get(name) for name in ("sfa", "torch")}}
        run["studies"] = "; ".join(f"{study}: {variant}" for study, variant in entry.labels)
        yield from ({**run, **score} for score in entry.as_dict()["scores"] or [{}])


def to_text(entries: Sequence[Entry]) -> pd.DataFrame:
    """Return the columns of :func:`to_frame` that people read, as text."""
    rows = []
    for row in _rows(entries):
        kind, method = row["kind"], row["method"]
        named = method if row["spectral"] in (None, "none") else f"{method} + {row['spectral']}"
        run = kind if method is None else named if kind == "trained" else f"{kind}, {named}"
        failure, memory = row["failure"], row["peak_memory"] and row["peak_memory"] / 2**20
        value = f"failed: {failure}" if failure else mean_and_std(row.get("mean"), row.get("std"))
        costs = (row["epochs"], "d"), (row["seconds_per_epoch"], ".3g"), (memory, ".0f")
        formatted = ("" if cost is None else format(cost, digits) for cost, digits in costs)
        place = row["key"], row["dataset"], run, str(row["seed"]), row.get("protocol", ""), row.get("metric", "")
        rows.append((*place, value, *formatted, row["studies"]))
    return pd.DataFrame(rows, columns=TEXT_COLUMNS.split(","), dtype=object)


def read_entries(path: Path) -> list[Entry]:
    """Return the runs of a ``.json`` or ``.json.gz`` file."""
    file = require_regular_file(path, max_bytes=MAX_BYTES)
    try:
        with gzip.open(file) if path.suffix == ".gz" else file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ValueError(f"it holds more than {MAX_BYTES} bytes")
        entries = ENTRIES.validate_json(content)
        parse_json(content.decode())  # raises if a key is given twice
        if len({entry.key for entry in entries}) < len(entries):
            raise ValueError("two of its runs have the same key")
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} cannot be unpacked: it is damaged, or not a .gz.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = f"run {first['loc'][0]}, {'.'.join(map(str, first['loc'][1:]))}: " if first["loc"] else ""
        why = "it is not JSON" if first["type"] == "json_invalid" else f"{place}{first['msg']}"
        raise InputError(f"{path} is damaged or is not a ledger of sfa: {why}.") from error
    except ValueError as error:
        raise InputError(f"{path} is damaged or is not a ledger of sfa: {error}") from error
    return entries


def is_sqlite(path: Path) -> bool:
    """Tell whether a file is a SQLite file, as ledgers were before."""
    try:
        with require_regular_file(path).open("rb") as file:
            return file.read(16) == b"SQLite format 3\0"
    except (OSError, InputError):
        return False


def read_sqlite(path: Path) -> list[Entry]:
    """Return the runs of an old ledger, in the order in which they were entered."""
    import sqlite3

    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=60, uri=True)) as connection:
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
        return ENTRIES.validate_json(json.dumps(described))
    except InputError:
        raise
    except sqlite3.OperationalError as error:
        raise InputError(f"The ledger {path} cannot be used: {error}.") from error
    except (sqlite3.Error, LookupError, TypeError, ValueError, RecursionError) as error:
        why = str(error).partition("\n")[0]
        raise InputError(f"{path} is damaged or is not a ledger of sfa ({why}): name another by --ledger.") from error
