"""The ledger as a file for others: a table in CSV or Markdown, or everything in JSON."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sfa.atomic import atomic_path, ensure_writable, write_text
from sfa.errors import InputError
from sfa.ledger.entry import Entry, summary

FORMATS = (".csv", ".json", ".json.gz", ".md")

COLUMNS = ("key", "data set", "run", "seed", "protocol", "metric", "mean ± std", "epochs", "s/epoch", "MiB", "studies")
"""What a table for people shows."""


def check_export(path: Path) -> None:
    """Raise unless entries can be written to ``path``."""
    if _format(path) not in FORMATS:
        raise InputError(f"The ledger is exported to {', '.join(FORMATS)}, not to {path.name!r}.")
    ensure_writable(path)


def write_entries(path: Path, entries: Sequence[Entry]) -> None:
    """Replace ``path`` in one step.

    ``.json`` holds everything, the value of every split included, and ``.json.gz`` the same in less room; ``.csv`` and
    ``.md`` have a line for each run, protocol and metric, with mean and standard deviation over the splits. A run with
    no scores has one line.
    """
    check_export(path)
    text = {".csv": _csv, ".json": _json, ".json.gz": _json, ".md": _markdown}[_format(path)](entries)
    if path.suffix != ".gz":
        write_text(path, text)
        return
    with atomic_path(path) as temporary:
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))  # the same runs are the same bytes


def _format(path: Path) -> str:
    return "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix


def table_rows(entries: Sequence[Entry]) -> Iterator[dict[str, Any]]:
    """A row for each run, protocol and metric."""
    for entry in entries:
        described = {
            "key": entry.key,
            "studies": "; ".join(f"{study}: {variant}" for study, variant in entry.labels),
            "dataset": entry.dataset,
            "kind": entry.kind,
            "method": entry.method,
            "spectral": entry.spectral,
            "seed": entry.seed,
        }
        cost = {
            "epochs": entry.epochs,
            "train_seconds": entry.train_seconds,
            "seconds_per_epoch": entry.seconds_per_epoch,
            "evaluate_seconds": entry.evaluate_seconds,
            "peak_memory": entry.peak_memory,
            "peak_memory_by": entry.peak_memory_by,
            "device": entry.device,
            "threads": entry.threads,
            "recipe_hash": entry.recipe_hash,
            "fingerprint": entry.fingerprint,
            "sfa": entry.versions.get("sfa"),
            "torch": entry.versions.get("torch"),
            "created": entry.created,
            "failure": entry.failure,
        }
        measured = [
            {"protocol": score.protocol, "metric": metric, **summary(score, metric)}
            for score in entry.scores
            for metric in score.values
        ]
        for one in measured or [dict.fromkeys(("protocol", "metric", "mean", "std", "splits"))]:
            yield {**described, **one, **cost}


def _csv(entries: Sequence[Entry]) -> str:
    rows, file = list(table_rows(entries)), io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]) if rows else ["key"], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)  # None is an empty field
    return file.getvalue()


def _json(entries: Sequence[Entry]) -> str:
    return json.dumps([entry.as_dict() for entry in entries], indent=1) + "\n"


def _markdown(entries: Sequence[Entry]) -> str:
    lines = [_line(COLUMNS), _line(["---"] * len(COLUMNS))]
    lines += [_line(cells_of(row)) for row in table_rows(entries)]
    return "\n".join(lines) + "\n"


def cells_of(row: dict[str, Any]) -> list[str]:
    """A row of :func:`table_rows` for people, under :data:`COLUMNS`."""
    return [
        row["key"],
        row["dataset"],
        run_name(row["kind"], row["method"], row["spectral"]),
        str(row["seed"]),
        row["protocol"] or "",
        row["metric"] or "",
        f"failed: {row['failure']}" if row["failure"] else mean_and_std(row["mean"], row["std"]),
        _number(row["epochs"], "d"),
        _number(row["seconds_per_epoch"], ".3g"),
        _number(None if row["peak_memory"] is None else row["peak_memory"] / 2**20, ".0f"),
        row["studies"],
    ]


def run_name(kind: str, method: str | None, spectral: str | None) -> str:
    """A run in a few letters: ``grace + sfa``, ``raw features``."""
    if kind == "trained" or method is None:
        return kind if method is None else method if spectral in (None, "none") else f"{method} + {spectral}"
    return f"{kind}, {run_name('trained', method, spectral)}"


def mean_and_std(mean: float | None, std: float | None) -> str:
    """``83.20 ± 1.05``; small numbers keep three digits."""
    if mean is None:
        return ""
    digits = ".2f" if abs(mean) >= 1 else ".3g"
    return f"{mean:{digits}}" if std is None else f"{mean:{digits}} ± {std:{digits}}"


def _number(value: float | None, digits: str) -> str:
    return "" if value is None else f"{value:{digits}}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"
