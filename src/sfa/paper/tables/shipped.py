"""The tables of the shipped runs, made beforehand, so that showing them imports no heavy libraries.

``python -m sfa.paper.tables.shipped`` makes them anew, after a change of methods, recipes or shipped runs.
"""

from __future__ import annotations

import gzip
import json
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import TypeAdapter

from sfa.paper.tables.definition import NUMBERS
from sfa.paper.tables.model import Table
from sfa.registry import entry_points

FILE = files("sfa.paper").joinpath("measured/tables.json.gz")
_TABLES = TypeAdapter(dict[int, Table])


def shipped_table(number: int) -> Table:
    """Return a table of the shipped runs; made now, if installed packages have methods or data for it."""
    if entry_points(group="sfa.method") or entry_points(group="sfa.dataset"):
        return made_tables(number)[number]
    return _read()[number]


@cache
def _read() -> dict[int, Table]:
    return _TABLES.validate_json(gzip.decompress(FILE.read_bytes()))


def made_tables(*numbers: int) -> dict[int, Table]:
    """Make tables of the shipped runs now, by default all."""
    from sfa.paper.tables.make import make_table

    return {number: make_table(number) for number in numbers or NUMBERS}


if __name__ == "__main__":
    text = json.dumps(_TABLES.dump_python(made_tables(), exclude_defaults=True))  # some means are NaN
    Path(str(FILE)).write_bytes(gzip.compress(text.encode(), mtime=0))
