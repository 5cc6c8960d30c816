"""How close the feature maps of the two views are as training goes on (the paper's alignment figure)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sfa.errors import InputError
from sfa.figures.run_log import RunLog
from sfa.figures.style import CATEGORIES, logarithmic_y, style


@style()
def draw_alignment(*runs: RunLog) -> Figure:
    """Distance of the two views over the epochs, as it is and over the maps' size: a colour per run, H̃ dashed."""
    for run in runs:
        if any(row.alignment is None for row in run.diagnostics):
            raise InputError(f"{run.name} has no alignment to draw: its method has a single view.")
    figure = Figure(figsize=(9.0, 3.7), layout="constrained")
    absolute, relative = figure.subplots(1, 2)
    _draw_curves(absolute, runs, "alignment")
    _draw_curves(relative, runs, "alignment_relative")
    logarithmic_y(absolute)
    absolute.set_title("distance of the two views")
    absolute.set_ylabel(r"$\Vert H^\alpha - H^\beta \Vert_F^2$")
    relative.set_ylim(bottom=0)
    relative.set_title("the same, relative to their size")
    relative.set_ylabel(
        r"$\Vert H^\alpha - H^\beta \Vert_F^2\,/\,\frac{1}{2}(\Vert H^\alpha \Vert_F^2 + \Vert H^\beta \Vert_F^2)$"
    )
    figure.legend(handles=_legend(runs), loc="outside lower center", ncols=4)
    return figure


def _colour(number: int) -> str:
    return CATEGORIES[number % len(CATEGORIES)]


def _draw_curves(panel: Axes, runs: tuple[RunLog, ...], key: str) -> None:
    for number, run in enumerate(runs):
        for name, line in {key: ".-", f"{key}_tilde": ".--"}.items() if run.has_spectral_map else [(key, ".-")]:
            values = [getattr(row, name) for row in run.diagnostics]
            panel.plot(run.epochs, values, line, color=_colour(number), linewidth=1.6, markersize=5)
    panel.set_xlabel("epoch")


def _legend(runs: tuple[RunLog, ...]) -> list[Line2D]:
    handles = [Line2D([], [], color=_colour(number), label=run.name) for number, run in enumerate(runs)]
    if any(run.has_spectral_map for run in runs):
        handles.append(Line2D([], [], color="black", label="$H$"))
        handles.append(Line2D([], [], color="black", linestyle="--", label=r"$\widetilde{H}$ (after the map)"))
    return handles
