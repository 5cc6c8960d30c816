"""What a named figure is, and how one is found by its name or by its number in the paper."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from matplotlib.figure import Figure

from sfa.errors import InputError
from sfa.figures.needed_run import NeededRun
from sfa.registry import is_path, registered, resolve


class Takes(Enum):
    """What a figure is drawn from."""

    NO_RUN = "no run"
    RUNS = "one run or more"
    TIMES = "run times in the ledger"

    def allows(self, count: int) -> bool:
        """Whether so many runs are right."""
        return count >= 1 if self is Takes.RUNS else count == 0


@dataclass(frozen=True)
class NamedFigure:
    """A figure as `sfa list figures` shows it."""

    description: str
    takes: Takes
    draw: Callable[..., Figure]
    """Called with a :class:`~sfa.figures.run_log.RunLog` per run, or with the entries of a ledger and what the paper
    publishes, or with nothing."""
    number: str | None = None
    """In the paper: ``3``, or ``3a`` of a part."""
    caption: str | None = None
    """The paper's, in short."""
    tell: Callable[..., str] | None = None
    """Called as ``draw`` is: what is seen, in numbers, and whether that is what the caption says."""
    runs: tuple[NeededRun, ...] = ()
    """Those that the paper's figure is of."""


def find_figure(name: str) -> NamedFigure:
    """Return the figure of this name, or of this number in the paper."""
    figures = registered("figure")
    if name not in figures and name[:1].isdigit() and not is_path(name):
        found: list[NamedFigure] = [figure for figure in figures.values() if figure.number == name.lower()]
        if not found:
            numbers = ", ".join(figure.number for figure in figures.values() if figure.number is not None)
            raise InputError(
                f"The paper has no figure {name}, or it is drawn as a part of another: there are {numbers}."
            )
        return found[0]
    figure: NamedFigure = resolve("figure", name)
    return figure
