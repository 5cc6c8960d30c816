"""The tables of the shipped runs, made beforehand, so that showing them imports no heavy libraries.

``python -m sfa.paper.tables.shipped`` makes them anew, after a change of methods, recipes or shipped runs.
"""

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


@cache
def shipped_tables() -> dict[int, Table]:
    """Return the tables of the shipped runs; made now, if installed packages have methods or data for them."""
    if entry_points(group="sfa.method") or entry_points(group="sfa.dataset"):
        return make_tables()
    return _TABLES.validate_json(gzip.decompress(FILE.read_bytes()))


def make_tables() -> dict[int, Table]:
    """Make the tables of the shipped runs now."""
    from sfa.paper.tables.make import make_table

    return {number: make_table(number) for number in NUMBERS}


if __name__ == "__main__":
    text = json.dumps(_TABLES.dump_python(make_tables(), exclude_defaults=True))  # some means are NaN
    Path(str(FILE)).write_bytes(gzip.compress(text.encode(), mtime=0))
