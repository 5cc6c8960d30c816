"""The tables of what came with sfa, made beforehand: showing them takes none of the libraries that measured them.

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

FILE = "measured/tables.json.gz"
_TABLES = TypeAdapter(dict[int, Table])


def shipped_table(number: int) -> Table:
    """Return a table of the runs that came with sfa; made now, if installed packages have methods or data for it."""
    if entry_points(group="sfa.method") or entry_points(group="sfa.dataset"):
        from sfa.paper.tables.make import make_table

        return make_table(number)
    return _read()[number]


@cache
def _read() -> dict[int, Table]:
    return _TABLES.validate_json(gzip.decompress(files("sfa.paper").joinpath(FILE).read_bytes()))


def made_tables() -> dict[int, Table]:
    """Return all tables of the runs that came with sfa, made now."""
    from sfa.paper.tables.make import make_table

    return {number: make_table(number) for number in NUMBERS}


if __name__ == "__main__":
    path = Path(str(files("sfa.paper").joinpath(FILE)))
    text = json.dumps(_TABLES.dump_python(made_tables(), exclude_defaults=True))  # some means are NaN
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
