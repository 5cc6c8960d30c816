"""``sfa list``: names and what they stand for."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from sfa.data import DatasetInfo, locate, names
from sfa.methods import available_methods
from sfa.registry import registered
from sfa.run import shipped_recipes
from sfa.run.display import results_console
from sfa.run.parsing import GENTLE
from sfa.sweep import shipped_ranges
from sfa.tables.paper_tables import filled_by, titles

CLASSES = {
    "encoders": "encoder",
    "augmentations": "augmentation",
    "postprocess": "postprocess",
    "samplers": "sampler",
    "loggers": "logger",
}
"""Lists of classes or functions that show the first line of their docstrings, and the kind of each in the registry."""


def run(kind: str, data_root: Path | None) -> None:
    """Print one kind of names as a table."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in _rows(kind, data_root):
        table.add_row(*row)
    results_console().print(table)


def _rows(kind: str, data_root: Path | None) -> Iterator[tuple[str, ...]]:
    if kind == "methods":
        yield from ((name, f"{method.level}s", _summary(method)) for name, method in available_methods().items())
    elif kind == "spectral":
        yield "none", "The plain method: no spectral map."
        gentle = ", ".join(f"{key}={value}" for key, value in GENTLE.items() if key != "name")
        yield "gentle", "Short for sfa in many gentle passes, the default for the nodes of a graph.", gentle
        maps = registered("spectral")
        yield from ((name, _summary(made), _defaults(made)) for name, made in maps.items() if name != "none")
    elif kind in CLASSES:
        yield from ((name, _summary(part)) for name, part in registered(CLASSES[kind]).items())
    elif kind == "protocols":
        yield from ((name, protocol.description) for name, protocol in registered("protocol").items())
    elif kind == "recipes":
        yield from ((name, recipe["about"]) for name, recipe in shipped_recipes().items())
    elif kind == "studies":
        yield from ((name, study.description) for name, study in registered("study").items())
    elif kind == "tables":
        yield from ((str(number), title, filled_by(number)) for number, title in titles().items())
    elif kind == "figures":
        for name, figure in registered("figure").items():
            yield name, figure.number or "–", figure.description, figure.takes.value
    elif kind == "ranges":
        for method, ranges in shipped_ranges().items():
            yield method, ", ".join(f"{one.key}={one.text}" for one in ranges)
    else:
        for dataset in names():
            found = availability(dataset, data_root)
            level = "–" if dataset.level is None else f"{dataset.level}s"
            yield dataset.name, level, dataset.description, found


def availability(dataset: DatasetInfo, data_root: Path | None) -> str:
    """Return where a data set will come from."""
    if dataset.loader is not None:
        return f"loaded by {dataset.loader}"
    if dataset.bundled:
        return "bundled"
    found = locate(dataset.name, data_root)
    if found is not None:
        return str(found)
    return "to be downloaded" if dataset.downloaded else "not here, and not to be downloaded"


def _defaults(spectral: Any) -> str:
    """Return the options of a spectral map with their defaults; nothing of one that cannot be made without options."""
    try:
        return str(spectral().extra_repr())
    except (TypeError, AttributeError):
        return ""


def _summary(described: Any) -> str:
    first, *_ = (inspect.getdoc(described) or "").splitlines() or [""]
    return re.sub(r":\w+:`~?(?:\w+\.)*(\w+)`", r"\1", first).replace("`", "")
