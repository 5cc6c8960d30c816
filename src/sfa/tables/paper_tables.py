"""The tables of the paper by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sfa.errors import InputError
from sfa.ledger import Entry
from sfa.tables import hyper_parameters, settings, statistics
from sfa.tables.ask import Ask
from sfa.tables.definitions import DEFINITIONS
from sfa.tables.make import Maker
from sfa.tables.matching import Measurements
from sfa.tables.model import Table
from sfa.tables.published import NUMBERS, load
from sfa.tables.shipped import shipped_entries

NOTHING = Ask()
READ = (hyper_parameters.NUMBER, settings.NUMBER)
"""Tables in which there is nothing to measure."""


def titles() -> dict[int, str]:
    """What each table of the paper is about, by its number."""
    return {number: load(number).title for number in NUMBERS}


def filled_by(number: int) -> str:
    """What fills a table, in a few words."""
    if number in DEFINITIONS:
        return f"sfa study {DEFINITIONS[number].study}"
    return "read from recipes and methods" if number in READ else "counted from the data"


def check_number(number: int) -> None:
    """Raise unless the paper has a table of this number."""
    load(number)


def make_table(
    number: int,
    entries: Iterable[Entry] = (),
    *,
    ask: Ask = NOTHING,
    shipped: Iterable[Entry] | None = None,
    more_words: Sequence[str] = (),
) -> Table:
    """A table of the paper: published and measured values side by side. Reads no data.

    Args:
        number: Of the table, 1 to 17.
        entries: Of the user's own ledger; they go before those that came with sfa.
        ask: On which data, of which methods, with which settings.
        shipped: In place of those that came with sfa.
        more_words: Added to every command that fills a cell.
    """
    check_number(number)
    if number in DEFINITIONS:
        return maker(number, entries, ask=ask, shipped=shipped, more_words=more_words).table()
    if number == settings.NUMBER:
        ask.check(number, "node", many_methods=True)
        if ask.datasets:
            raise InputError(f"Table {number} is of methods, not of data sets: leave out --datasets.")
        return settings.settings_table(ask)
    ask.check(number, "node", many_methods=False)
    if ask.methods:
        raise InputError(f"Table {number} is of data sets, not of methods: leave out --method.")
    if number == hyper_parameters.NUMBER:
        return hyper_parameters.hyper_parameters_table(ask)
    return statistics.statistics_table(statistics.shipped_counts(), ask, more_words)


def maker(
    number: int,
    entries: Iterable[Entry] = (),
    *,
    ask: Ask = NOTHING,
    shipped: Iterable[Entry] | None = None,
    more_words: Sequence[str] = (),
) -> Maker:
    """What makes a table of measurements; as in :func:`make_table`."""
    measurements = Measurements.of(entries, shipped_entries() if shipped is None else shipped)
    return Maker(DEFINITIONS[number], ask, measurements, tuple(more_words))
