"""Scores as one table: a row an embedding, a column a protocol and metric."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from sfa.evaluate import Score
from sfa.run.display import results_console

UNBOUNDED = 10_000
"""A width that no table reaches."""


def print_scores(
    scores: Mapping[str, Sequence[Score]], descriptions: Mapping[str, str], refused: Mapping[str, str] | None = None
) -> None:
    """On standard output: the table, what its protocols are, and why others are not in it.

    Args:
        scores: Those of several embeddings, by the name of the protocol.
        descriptions: What these protocols are, by their names.
        refused: Why other protocols are not possible here, by their names.
    """
    console = results_console()
    console.print(_fitting(scores, console))
    for name in scores:
        console.print(f"{name}: {descriptions[name]}", markup=False)
    for name, reason in (refused or {}).items():
        console.print(f"not here, {name}: {reason}", markup=False)


def _fitting(scores: Mapping[str, Sequence[Score]], console: Console) -> Table:
    """The table; its transpose, if the terminal is too narrow for it."""
    embeddings = list(dict.fromkeys(score.name for of in scores.values() for score in of))
    columns = [
        (protocol, metric, {score.name: score.text(metric) for score in of})
        for protocol, of in scores.items()
        for metric in of[0].values
    ]
    wide = Table()
    wide.add_column("embedding", no_wrap=True)
    for protocol, metric, _ in columns:
        wide.add_column(metric if len(scores) == 1 else f"{protocol}\n{metric}", justify="right", no_wrap=True)
    for name in embeddings:
        wide.add_row(name, *(cells.get(name, "") for _, _, cells in columns))
    if console.measure(wide, options=console.options.update(width=UNBOUNDED)).maximum <= console.width:
        return wide
    tall = Table(padding=0)  # 80 columns hold four embeddings
    for heading in ("protocol", "metric"):
        tall.add_column(heading)
    for name in embeddings:
        tall.add_column(name, justify="right")
    for protocol, metric, cells in columns:
        tall.add_row(protocol, metric, *(cells.get(name, "") for name in embeddings))
    return tall
