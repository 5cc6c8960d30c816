"""``sfa list``: names and what they stand for."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

from rich.table import Table

from sfa.cli.console import results_console
from sfa.data import DatasetInfo, locate, names
from sfa.evaluation import PROTOCOLS
from sfa.figures import FIGURES
from sfa.methods import METHODS
from sfa.recipes import shipped_recipes
from sfa.recipes.schema import GENTLE
from sfa.registry import registered
from sfa.sampling import SAMPLERS
from sfa.studies import STUDIES
from sfa.sweep import shipped_ranges
from sfa.tables.resolver import filled_by, titles
from sfa.training.loggers import LOGGERS


def run(kind: str, data_root: Path | None) -> None:
    """Print one kind of names as a table."""
    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for row in _rows(kind, data_root):
        table.add_row(*row)
    results_console().print(table)


def _rows(kind: str, data_root: Path | None) -> Iterator[tuple[str, ...]]:
    if kind == "methods":
        yield from ((name, f"{method.level}s", _summary(method)) for name, method in METHODS.items())
    elif kind == "spectral":
        yield "none", "The plain method: no spectral map."
        gentle = ", ".join(f"{key}={value}" for key, value in GENTLE.items() if key != "name")
        yield "gentle", "Short for sfa in many gentle passes, the default for the nodes of a graph.", gentle
        maps = {name: spectral for name, spectral in registered("spectral").items() if name != "none"}
        yield from ((name, _summary(spectral), spectral().extra_repr()) for name, spectral in maps.items())
    elif kind == "samplers":
        yield from ((name, _summary(sampler)) for name, sampler in SAMPLERS.items())
    elif kind == "protocols":
        yield from ((protocol.name, protocol.description) for protocol in PROTOCOLS.values())
    elif kind == "recipes":
        yield from ((name, recipe["about"]) for name, recipe in shipped_recipes().items())
    elif kind == "studies":
        yield from ((name, study.description) for name, study in STUDIES.items())
    elif kind == "tables":
        yield from ((str(number), title, filled_by(number)) for number, title in titles().items())
    elif kind == "figures":
        for name, figure in FIGURES.items():
            yield name, figure.number or "–", figure.description, figure.takes.value
    elif kind == "loggers":
        yield from ((name, _summary(logger)) for name, logger in LOGGERS.items())
    elif kind == "ranges":
        for method, ranges in shipped_ranges().items():
            yield method, ", ".join(f"{one.key}={one.text}" for one in ranges)
    else:
        for dataset in names():
            found = availability(dataset, data_root)
            yield dataset.name, f"{dataset.level}s", dataset.description, found


def availability(dataset: DatasetInfo, data_root: Path | None) -> str:
    """Where a data set will come from."""
    if dataset.bundled:
        return "bundled"
    found = locate(dataset.name, data_root)
    if found is not None:
        return str(found)
    return "to be downloaded" if dataset.downloaded else "not here, and not to be downloaded"


def _summary(described: type) -> str:
    return (inspect.getdoc(described) or "").splitlines()[0].replace(":func:", "").replace("`", "")
