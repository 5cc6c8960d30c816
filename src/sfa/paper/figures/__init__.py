"""Every figure of the paper, and some more, by number or name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from matplotlib.figure import Figure

from sfa.errors import InputError
from sfa.plots import style
from sfa.registry import is_path, register, registered, resolve

NO_RUN, RUNS, TIMES = "no run", "one run or more", "run times in the ledger"  # what a figure is drawn from

Draw = TypeVar("Draw", bound=Callable[..., Figure])


@dataclass(frozen=True)
class NamedFigure:
    """A figure as `sfa list figures` shows it.

    ``draw`` is called with a :class:`~sfa.train.run_log.RunLog` per run, with the entries of a ledger and the
    paper's ratios, or with nothing. So is ``tell``, which says in numbers what is seen, and whether it is the caption.
    """

    description: str
    takes: str
    draw: Callable[..., Figure]
    number: str | None = None  # in the paper: ``3``, or ``3a`` of a part
    caption: str | None = None  # the paper's, in short
    tell: Callable[..., str] | None = None
    datasets: tuple[str, ...] = ()  # of the paper's runs: GRACE by its authors' settings, without and with SFA


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
    number: str | None = None, caption: str | None = None, *, takes: str | None = None, **options: Any
) -> Callable[[Draw], Draw]:
    """Add the function ``draw_<name>`` to the figures, described by its first line, and give it the project's style.

    ``options`` are ``tell`` and ``datasets``. By default a figure with data sets is drawn from runs, else from nothing.
    """

    def decorate(draw: Draw) -> Draw:
        name, about = draw.__name__.removeprefix("draw_").replace("_", "-"), str(draw.__doc__).splitlines()[0]
        material = takes or (RUNS if "datasets" in options else NO_RUN)
        styled = style()(draw)
        FIGURES[name] = NamedFigure(about, material, styled, number, caption, **options)
        return styled

    return decorate


def make_panels(width: float, height: float, rows: int, columns: int, **options: Any) -> tuple[Figure, Any]:
    """Return a figure of this size and its grid of panels."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(rows, columns, **options)


for _module in ("implicit_steps", "more_theory", "run_time", "runs", "toy"):
    import_module(f"{__name__}.{_module}")
for _name, _figure in sorted(FIGURES.items(), key=lambda item: int((item[1].number or "99").rstrip("abc"))):
    register("figure", _name, _figure)
