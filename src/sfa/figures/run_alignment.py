"""How close the feature maps of the two views are as training goes on (the paper's Figure 6)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sfa.errors import InputError
from sfa.figures.run_log import RunLog
from sfa.figures.style import CATEGORIES, logarithmic_y, style

DISTANCE = r"$\Vert H^\alpha - H^\beta \Vert_F^2$"
SIZE = r"$\frac{1}{2}(\Vert H^\alpha \Vert_F^2 + \Vert H^\beta \Vert_F^2)$"


@style()
def draw_alignment(*runs: RunLog) -> Figure:
    """Distance of the two views over the epochs, as it is and over the maps' size: a colour per run, H̃ dashed."""
    check_views(runs)
    figure = Figure(figsize=(9.0, 3.7), layout="constrained")
    absolute, relative = figure.subplots(1, 2)
    draw_distances(absolute, relative, runs)
    absolute.set_title("distance of the two views")
    absolute.set_ylabel(DISTANCE)
    relative.set_title("the same, relative to their size")
    relative.set_ylabel(rf"{DISTANCE}$\,/\,${SIZE}")
    figure.legend(handles=[*run_colours(runs), *line_styles(runs)], loc="outside lower center", ncols=4)
    return figure


def check_views(runs: Sequence[RunLog]) -> None:
    """Raise unless every run has two views."""
    for run in runs:
        if any(row.alignment is None for row in run.diagnostics):
            raise InputError(f"{run.name} has no alignment to draw: its method has a single view.")


def draw_distances(absolute: Axes, relative: Axes, runs: Sequence[RunLog]) -> None:
    """The curves of some runs on two panels."""
    _draw_curves(absolute, runs, "alignment")
    _draw_curves(relative, runs, "alignment_relative")
    logarithmic_y(absolute)
    relative.set_ylim(bottom=0)


def run_colours(runs: Sequence[RunLog]) -> list[Line2D]:
    """For a legend: a colour for each run."""
    return [Line2D([], [], color=_colour(number), label=run.name) for number, run in enumerate(runs)]


def line_styles(runs: Sequence[RunLog]) -> list[Line2D]:
    """For a legend: what solid and dashed lines are, where there are both."""
    if not any(run.has_spectral_map for run in runs):
        return []
    return [
        Line2D([], [], color="black", label="$H$"),
        Line2D([], [], color="black", linestyle="--", label=r"$\widetilde{H}$ (after the map)"),
    ]


def _colour(number: int) -> str:
    return CATEGORIES[number % len(CATEGORIES)]


def _draw_curves(panel: Axes, runs: Sequence[RunLog], key: str) -> None:
    for number, run in enumerate(runs):
        for name, line in {key: ".-", f"{key}_tilde": ".--"}.items() if run.has_spectral_map else [(key, ".-")]:
            values = [getattr(row, name) for row in run.diagnostics]
            panel.plot(run.epochs, values, line, color=_colour(number), linewidth=1.6, markersize=5)
    panel.set_xlabel("epoch")


def tell_of_alignment(*runs: RunLog) -> str:
    """Where each run ends, by the paper's measure and relative to the size of the maps, lowest first."""
    text = (
        f"At the end ‖Hα − Hβ‖² is {_ends(runs, 'alignment')}; relative to the size of the maps it is "
        f"{_ends(runs, 'alignment_relative')}."
    )
    by_distance, by_size = (_order(runs, key) for key in ("alignment", "alignment_relative"))
    if by_distance != by_size:
        text += " The order turns round: the paper's measure falls when the maps shrink."
    after = [run for run in runs if run.has_spectral_map]
    if after:
        text += f" After the map, in one draw, ‖H̃α − H̃β‖² is {_ends(after, 'alignment_tilde')}."
    return text


def _ends(runs: Sequence[RunLog], key: str) -> str:
    return ", ".join(f"{getattr(run.diagnostics[-1], key):.3g} ({run.name})" for run in _order(runs, key))


def _order(runs: Sequence[RunLog], key: str) -> list[RunLog]:
    return sorted(runs, key=lambda run: float(getattr(run.diagnostics[-1], key)))
