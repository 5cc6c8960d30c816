"""Small tables of all sorts, with labels that are markup in some format."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from hypothesis import strategies as st

from sfa.paper.tables.definition import load
from sfa.paper.tables.model import Cell, Interval, Measured, Row, Table

HOSTILE = r"""a|b & <c> _d_ *e* 50% $f$ #g {h} ~i~ ^j \k [l](m) 'n' "o" κ ± × ✓ – ε"""
"""Every character that is markup somewhere."""

_CHARACTERS = "aZ0|&<>_*%$#{}~^\\[]()'\"κ±×éµ–"
texts = st.text(st.sampled_from(f"{_CHARACTERS} "), min_size=1, max_size=9).map(
    lambda text: " ".join(f"{text}x".split())
)
numbers = st.floats(1, 100).map(lambda number: round(number, 4))
differences = st.builds(Interval, mean=numbers, low=numbers.map(lambda low: -low), high=numbers)
measured = st.builds(
    Measured,
    mean=numbers,
    std=st.none() | numbers,
    seeds=st.sampled_from([(), (0,), (0, 1, 2), (3, 7)]),
    splits=st.sampled_from([1, 20]),
    protocol=st.sampled_from(["honest-10-10-80", "clustering", "run-time, 2 threads"]),
    metric=st.sampled_from(["accuracy", "nmi"]),
    budget=st.none() | texts,
    mine=st.booleans(),
    text=st.none() | texts,
    difference=st.none() | differences,
    difference_from=st.none() | texts,
)
cells = st.builds(
    Cell,
    published=st.none() | texts,
    best=st.booleans(),
    measured=st.none() | measured,
    command=st.none() | texts.map(lambda text: f"sfa {text}"),
    failure=st.none() | texts,
    note=st.none() | texts,
    missing=st.none() | texts,
)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Of one to three columns and rows."""
    columns = draw(st.lists(texts, min_size=1, max_size=3))
    of_row = st.lists(cells, min_size=len(columns), max_size=len(columns)).map(tuple)
    flags = {flag: st.booleans() for flag in ("ours", "highlighted", "rule_above")}
    rows = draw(st.lists(st.builds(Row, label=texts, cells=of_row, **flags), min_size=1, max_size=3))
    return Table(
        number=draw(st.integers(1, 17)),
        title=draw(texts),
        caption=draw(texts),
        columns=tuple(columns),
        rows=tuple(rows),
        row_header=draw(texts),
        notes=tuple(draw(st.lists(texts, max_size=2))),
        command=draw(st.sampled_from(["", "sfa table 7"])),
        commands=tuple(draw(st.lists(texts.map(lambda text: f"sfa {text}"), max_size=2))),
    )


def small_table(*rows: Row, columns: tuple[str, ...] = ("Cora",), **options: object) -> Table:
    """A table with rows of one's choice."""
    return Table(1, "Title", "Caption.", columns, rows, **options)  # type: ignore[arg-type]


def value(mean: float = 83.4, **options: object) -> Measured:
    """A measured one."""
    settings = {"std": 0.5, "seeds": (0, 1, 2), "splits": 20, "protocol": "honest-10-10-80", "metric": "accuracy"}
    return Measured(mean, **{**settings, **options})  # type: ignore[arg-type]


def values_of(cell: Cell) -> Iterator[str]:
    """The texts of a cell that every format shows, as they are to be read."""
    if cell.published:
        yield cell.published
    if cell.measured is not None:
        one = cell.measured
        yield one.text or (f"{one.mean:.2f}" if one.std is None else f"{one.mean:.2f} ± {one.std:.2f}")
        if one.difference is not None:
            yield f"{one.difference.mean:+.2f} [{one.difference.low:+.2f}, {one.difference.high:+.2f}]"


def remarks_of(table: Table) -> Iterator[str]:
    """The texts below a table that every format shows."""
    for row in table.rows:
        for cell in row.cells:
            yield from (text for text in (cell.failure, cell.note, cell.missing) if text)
            if cell.measured is not None and cell.measured.budget:
                yield cell.measured.budget
    yield from table.notes


def printed_table(number: int) -> Table:
    """A table of the paper, of which nothing was measured yet."""
    paper = load(number)
    rows = (
        replace(row, cells=tuple(replace(cell, command="sfa study methods") for cell in row.cells))
        for row in paper.rows
    )
    return replace(paper, rows=tuple(rows))
