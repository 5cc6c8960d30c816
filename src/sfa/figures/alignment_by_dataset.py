"""How close the two views are as training goes on, a column for each data set (the paper's Figure 9)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.figures.run_alignment import (
    DISTANCE,
    SIZE,
    check_views,
    draw_distances,
    line_styles,
    run_colours,
    tell_of_alignment,
)
from sfa.figures.run_log import RunLog
from sfa.figures.style import PLAIN, style

DATASETS = {"citeseer": "CiteSeer", "wikics": "WikiCS"}
"""The paper's, by their names here."""

MISSING = 0.6
"""Width of a column that has nothing to show, next to one that has."""


@style()
def draw_alignment_by_dataset(*runs: RunLog) -> Figure:
    """Above the distance of the two views, below the same over the maps' size; the paper's data sets first.

    A data set of the paper that no run is of has panels that say so.
    """
    check_views(runs)
    groups = _by_dataset(runs)
    widths = [1.0 if own else MISSING for own in groups.values()]
    figure = Figure(figsize=(1.2 + 4.2 * sum(widths), 6.4), layout="constrained")
    above, below = figure.subplots(2, len(groups), squeeze=False, width_ratios=widths)
    for absolute, relative, (name, own) in zip(above, below, groups.items(), strict=True):
        absolute.set_title(DATASETS.get(name, name))
        if own:
            draw_distances(absolute, relative, own)
            absolute.legend(handles=run_colours(own), fontsize=8)
        else:
            _say_missing(absolute, name)
            relative.axis("off")
    above[0].set_ylabel(DISTANCE)
    below[0].set_ylabel(rf"{DISTANCE}$\,/\,${SIZE}")
    if lines := line_styles(runs):
        figure.legend(handles=lines, loc="outside lower center", ncols=2)
    return figure


def _by_dataset(runs: Sequence[RunLog]) -> dict[str, list[RunLog]]:
    groups: dict[str, list[RunLog]] = {name: [] for name in DATASETS}
    for run in runs:
        groups.setdefault(run.dataset, []).append(run)
    return groups


def _say_missing(panel: Axes, name: str) -> None:
    panel.axis("off")
    text = f"no run of it is given:\nsfa train {name} --recipe grace/{name}"
    panel.text(0.5, 0.5, text, transform=panel.transAxes, ha="center", va="center", fontsize=8.5, color=PLAIN)


def tell_of_alignment_by_dataset(*runs: RunLog) -> str:
    """Where the runs of each data set end, and which data sets have none."""
    told = []
    for name, own in _by_dataset(runs).items():
        title = DATASETS.get(name, name)
        told.append(f"{title}: {tell_of_alignment(*own)}" if own else f"{title}: no run of it is given.")
    return " ".join(told)
