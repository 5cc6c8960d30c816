"""The runs that came with sfa."""

from __future__ import annotations

from functools import cache
from importlib.resources import as_file, files

from sfa.ledger import Entry, read_entries


@cache
def shipped_entries() -> tuple[Entry, ...]:
    """An exported ledger, made where this version of sfa was; none, if there is none in the package."""
    file = files("sfa.tables").joinpath("measured/ledger.json.gz")
    if not file.is_file():
        return ()
    with as_file(file) as path:
        return tuple(read_entries(path))
