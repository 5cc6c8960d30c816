"""Figures of runs as training goes on: spectra (the paper's Figure 5) and distances of the views (Figures 6 and 9)."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sfa.errors import InputError
from sfa.plots import PLAIN, color_of, logarithmic_y, style
from sfa.train.run_log import RunLog

LEADING = 30
"""Singular values that are shown: those where the signal is."""
CURVES = 9
"""Epochs that are shown, evenly spaced; more could not be told apart."""
ROUNDING = 1e-6
"""Fraction of the largest singular value below which there is nothing but rounding."""
BALANCED = 12
"""Leading values that the paper says are flattened."""
DISTANCE = r"$\Vert H^\alpha - H^\beta \Vert_F^2$"
RELATIVE = rf"{DISTANCE}$\,/\,$" r"$\frac{1}{2}(\Vert H^\alpha \Vert_F^2 + \Vert H^\beta \Vert_F^2)$"
DATASETS = {"citeseer": "CiteSeer", "wikics": "WikiCS"}
"""The data sets of Figure 9, by their names here."""


@style()
def draw_spectrum(*runs: RunLog) -> Figure:
    """Draw the leading singular values of H and, with a spectral map, of H̃: one curve per epoch, late ones dark.

    Those of H̃ are of the one draw of that step, and jump from epoch to epoch as the draw does. Several runs have their
    panels one after another, on one scale.
    """
    parts = [(run, key, title) for run in runs for key, title in _titles(run, named=len(runs) > 1).items()]
    columns = min(3, len(parts))
    rows = -(-len(parts) // columns)
    figure = Figure(figsize=((4.0 if columns < 3 else 3.2) * columns + 0.8, 3.6 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()[: len(parts)]
    for unused in grid.ravel()[len(parts) :]:
        unused.axis("off")
    first, last = min(run.epochs[0] for run in runs), max(run.epochs[-1] for run in runs)
    # The brightest yellow is left out: it is lost on white.
    shades = ListedColormap(mpl.colormaps["viridis"](np.linspace(0.93, 0, 256)))
    colors = ScalarMappable(Normalize(first, max(last, first + 1)), shades)
    shown = max(min(LEADING, len(run.diagnostics[0].sigma)) for run in runs)
    for panel, (run, key, title) in zip(panels, parts, strict=True):
        for row in np.unique(np.linspace(0, len(run.epochs) - 1, CURVES).round().astype(int)):
            sigma = np.array(getattr(run.diagnostics[row], key)[:LEADING])
            sigma = sigma[sigma > ROUNDING * sigma.max(initial=0)]
            color = colors.to_rgba(run.epochs[row])
            panel.plot(range(1, len(sigma) + 1), sigma, ".-", color=color, linewidth=1.3, markersize=4)
        panel.set(title=title, xticks=[1, *range(5, shown + 1, 5)], xlim=(0, shown + 1))
        panel.xaxis.set_tick_params(labelbottom=True)
        panel.set_xlabel("index $i$")
    logarithmic_y(*panels)
    for panel in grid[:, 0]:
        panel.set_ylabel(r"singular value $\sigma_i$")
    figure.colorbar(colors, ax=panels.tolist(), label="epoch", pad=0.02)
    return figure


def _titles(run: RunLog, *, named: bool) -> dict[str, str]:
    """Return the panels of a run by what they show."""
    titles = {"sigma": "$H$, before the spectral map", "sigma_tilde": r"$\widetilde{H}$, after the spectral map"}
    if named:
        titles = {"sigma": f"{run.name}: $H$", "sigma_tilde": f"{run.name}: $\\widetilde{{H}}$"}
    if run.has_spectral_map:
        return titles
    return {"sigma": titles["sigma"] if named else "$H$ (no spectral map)"}


def tell_of_spectrum(*runs: RunLog) -> str:
    """Say how far the leading value stands out of H, how the next ones fall, and how many directions count."""
    return " ".join(map(_evolution, runs))


def _evolution(run: RunLog) -> str:
    first, last = run.diagnostics[0], run.diagnostics[-1]
    gaps = [f"σ₁/σ₂ of H goes from {_ratio(first.sigma, 2)} to {_ratio(last.sigma, 2)}"]
    if len(first.sigma) >= BALANCED:
        early, late = (_ratio(row.sigma[1:], BALANCED - 1) for row in (first, last))
        gaps.append(f"σ₂/σ₁₂ from {early} to {late}")
    rank = f"its effective rank from {first.effective_rank:.1f} to {last.effective_rank:.1f}"
    return f"{run.name}: from epoch {run.epochs[0]} to {run.epochs[-1]} {', '.join(gaps)} and {rank}."


def _ratio(sigma: list[float], index: int) -> str:
    """Return the first value over that of an index, counted from 1."""
    return f"{sigma[0] / sigma[index - 1]:.2f}" if len(sigma) >= index and sigma[index - 1] > 0 else "∞"


@style()
def draw_alignment(*runs: RunLog) -> Figure:
    """Draw the distance of the two views, as it is and over the maps' size: a color per run, H̃ dashed."""
    _check_views(runs)
    figure = Figure(figsize=(9.0, 3.7), layout="constrained")
    absolute, relative = figure.subplots(1, 2)
    _draw_distances(absolute, relative, runs)
    absolute.set_title("distance of the two views")
    absolute.set_ylabel(DISTANCE)
    relative.set_title("the same, relative to their size")
    relative.set_ylabel(RELATIVE)
    figure.legend(handles=[*_run_colors(runs), *_line_styles(runs)], loc="outside lower center", ncols=4)
    return figure


@style()
def draw_alignment_by_dataset(*runs: RunLog) -> Figure:
    """Draw the distance of the two views above, below the same over the maps' size; the paper's data sets first.

    A data set of the paper that no run is of has narrower panels that say so.
    """
    _check_views(runs)
    groups = _by_dataset(runs)
    widths = [1.0 if own else 0.6 for own in groups.values()]
    figure = Figure(figsize=(1.2 + 4.2 * sum(widths), 6.4), layout="constrained")
    above, below = figure.subplots(2, len(groups), squeeze=False, width_ratios=widths)
    for absolute, relative, (name, own) in zip(above, below, groups.items(), strict=True):
        absolute.set_title(DATASETS.get(name, name))
        if own:
            _draw_distances(absolute, relative, own)
            absolute.legend(handles=_run_colors(own), fontsize=8)
            continue
        absolute.axis("off")
        relative.axis("off")
        text = f"no run of it is given:\nsfa train {name} --recipe grace/{name}"
        absolute.text(0.5, 0.5, text, transform=absolute.transAxes, ha="center", va="center", fontsize=8.5, color=PLAIN)
    above[0].set_ylabel(DISTANCE)
    below[0].set_ylabel(RELATIVE)
    if lines := _line_styles(runs):
        figure.legend(handles=lines, loc="outside lower center", ncols=2)
    return figure


def _by_dataset(runs: Sequence[RunLog]) -> dict[str, list[RunLog]]:
    groups: dict[str, list[RunLog]] = {name: [] for name in DATASETS}
    for run in runs:
        groups.setdefault(run.dataset, []).append(run)
    return groups


def _check_views(runs: Sequence[RunLog]) -> None:
    """Raise unless every run has two views."""
    for run in runs:
        if any(row.alignment is None for row in run.diagnostics):
            raise InputError(f"{run.name} has no alignment to draw: its method has a single view.")


def _draw_distances(absolute: Axes, relative: Axes, runs: Sequence[RunLog]) -> None:
    for panel, key in ((absolute, "alignment"), (relative, "alignment_relative")):
        for number, run in enumerate(runs):
            for name, line in {key: ".-", f"{key}_tilde": ".--"}.items() if run.has_spectral_map else [(key, ".-")]:
                values = [getattr(row, name) for row in run.diagnostics]
                panel.plot(run.epochs, values, line, color=color_of(number), linewidth=1.6, markersize=5)
        panel.set_xlabel("epoch")
    logarithmic_y(absolute)
    relative.set_ylim(bottom=0)


def _run_colors(runs: Sequence[RunLog]) -> list[Line2D]:
    """Return what a legend says of the colors of runs."""
    return [Line2D([], [], color=color_of(number), label=run.name) for number, run in enumerate(runs)]


def _line_styles(runs: Sequence[RunLog]) -> list[Line2D]:
    """Return what a legend says of solid and dashed lines, where there are both."""
    if not any(run.has_spectral_map for run in runs):
        return []
    return [
        Line2D([], [], color="black", label="$H$"),
        Line2D([], [], color="black", linestyle="--", label=r"$\widetilde{H}$ (after the map)"),
    ]


def tell_of_alignment(*runs: RunLog) -> str:
    """Say where each run ends, by the paper's measure and relative to the size of the maps, lowest first."""
    text = (
        f"At the end ‖Hα − Hβ‖² is {_ends(runs, 'alignment')}; relative to the size of the maps it is "
        f"{_ends(runs, 'alignment_relative')}."
    )
    if _order(runs, "alignment") != _order(runs, "alignment_relative"):
        text += " The order turns round: the paper's measure falls when the maps shrink."
    after = [run for run in runs if run.has_spectral_map]
    if after:
        text += f" After the map, in one draw, ‖H̃α − H̃β‖² is {_ends(after, 'alignment_tilde')}."
    return text


def tell_of_alignment_by_dataset(*runs: RunLog) -> str:
    """Say where the runs of each data set end, and which data sets have none."""
    return " ".join(
        f"{DATASETS.get(name, name)}: {tell_of_alignment(*own) if own else 'no run of it is given.'}"
        for name, own in _by_dataset(runs).items()
    )


def _ends(runs: Sequence[RunLog], key: str) -> str:
    return ", ".join(f"{getattr(run.diagnostics[-1], key):.3g} ({run.name})" for run in _order(runs, key))


def _order(runs: Sequence[RunLog], key: str) -> list[RunLog]:
    return sorted(runs, key=lambda run: float(getattr(run.diagnostics[-1], key)))
