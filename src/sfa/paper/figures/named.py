"""Figures by name and by their number in the paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, TypeVar

from matplotlib.figure import Figure

from sfa.errors import InputError
from sfa.plots import style
from sfa.registry import is_path, registered, resolve

Draw = TypeVar("Draw", bound=Callable[..., Figure])


class Takes(Enum):
    """What a figure is drawn from."""

    NO_RUN = "no run"
    RUNS = "one run or more"
    TIMES = "run times in the ledger"


@dataclass(frozen=True)
class NamedFigure:
    """A figure as `sfa list figures` shows it.

    Attributes:
        description: One sentence.
        takes: What it is drawn from.
        draw: Called with a :class:`~sfa.train.run_log.RunLog` per run, or with the entries of a ledger and the paper's
            ratios, or with nothing.
        number: Its number in the paper: ``3``, or ``3a`` of a part.
        caption: The paper's caption, in short.
        tell: Called as ``draw`` is; says in numbers what is seen, and whether that is what the caption says.
        datasets: Data sets of the paper's runs: GRACE by its authors' settings for each, without and with SFA.
    """

    description: str
    takes: Takes
    draw: Callable[..., Figure]
    number: str | None = None
    caption: str | None = None
    tell: Callable[..., str] | None = None
    datasets: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[int, str]:
        """The place in the list of figures; those without a number come last."""
        number = self.number or "99"
        return int(number.rstrip("abc")), number


FIGURES: dict[str, NamedFigure] = {}


def find_figure(name: str) -> NamedFigure:
    """Return the figure of this name, or of this number in the paper."""
    figures: Mapping[str, NamedFigure] = registered("figure")
    if name not in figures and name[:1].isdigit() and not is_path(name):
        numbers = {figure.number: figure for figure in figures.values() if figure.number is not None}
        if name.lower() not in numbers:
            raise InputError(
                f"The paper has no figure {name}, or it is drawn as a part of another: there are {', '.join(numbers)}."
            )
        return numbers[name.lower()]
    figure: NamedFigure = resolve("figure", name)
    return figure


def paper_figure(
    number: str | None = None,
    caption: str | None = None,
    *,
    tell: Callable[..., str] | None = None,
    datasets: tuple[str, ...] = (),
    takes: Takes | None = None,
) -> Callable[[Draw], Draw]:
    """Add the function ``draw_<name>`` to the figures, described by its first line, and give it the project's style.

    By default a figure with data sets is drawn from runs, and any other from nothing.
    """

    def decorate(draw: Draw) -> Draw:
        name, styled = draw.__name__.removeprefix("draw_").replace("_", "-"), style()(draw)
        material = takes or (Takes.RUNS if datasets else Takes.NO_RUN)
        FIGURES[name] = NamedFigure(
            str(draw.__doc__).splitlines()[0], material, styled, number, caption, tell, datasets
        )
        return styled

    return decorate


def make_panels(width: float, height: float, rows: int, columns: int, **options: Any) -> tuple[Figure, Any]:
    """Return a figure of this size and its grid of panels."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)
