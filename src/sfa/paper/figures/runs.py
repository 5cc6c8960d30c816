"""Figures of runs as training goes on: spectra (the paper's Figure 5) and distances of the views (Figures 6 and 9)."""

from collections.abc import Sequence

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from sfa.errors import InputError
from sfa.paper.figures import make_panels, paper_figure
from sfa.plots import PLAIN, color_of, logarithmic_y
from sfa.train.run_log import RunLog

LEADING = 30  # singular values that are shown: those where the signal is
CURVES = 9  # epochs that are shown, evenly spaced; more could not be told apart
ROUNDING = 1e-6  # fraction of the largest singular value below which values are rounding errors
BALANCED = 12  # leading values that the paper says are flattened
DISTANCE = r"$\Vert H^\alpha - H^\beta \Vert_F^2$"
RELATIVE = rf"{DISTANCE}$\,/\,$" r"$\frac{1}{2}(\Vert H^\alpha \Vert_F^2 + \Vert H^\beta \Vert_F^2)$"
DATASETS = {"citeseer": "CiteSeer", "wikics": "WikiCS"}  # titles of the data sets of Figure 9


def tell_of_spectrum(*runs: RunLog) -> str:
    """Say how far the leading value stands out of H, how the next ones fall, and how many directions count."""
    told = []
    for run in runs:
        first, last = run.diagnostics[0], run.diagnostics[-1]
        gaps = [f"σ₁/σ₂ of H goes from {_ratio(first.sigma, 2)} to {_ratio(last.sigma, 2)}"]
        if len(first.sigma) >= BALANCED:
            early, late = (_ratio(row.sigma[1:], BALANCED - 1) for row in (first, last))
            gaps.append(f"σ₂/σ₁₂ from {early} to {late}")
        rank = f"its effective rank from {first.effective_rank:.1f} to {last.effective_rank:.1f}"
        told.append(f"{run.name}: from epoch {run.epochs[0]} to {run.epochs[-1]} {', '.join(gaps)} and {rank}.")
    return " ".join(told)


@paper_figure(
    "5",
    "Spectrum of H̃ when training on Cora with SFA: the gap between consecutive singular values decreases.",
    tell=tell_of_spectrum,
    datasets=("cora",),
)
def draw_spectrum(*runs: RunLog) -> Figure:
    """Draw the singular values of runs' feature maps, before and after the spectral map, over the epochs.

    Late epochs are dark. The values of H̃ are of the one draw of a step, and jump from epoch to epoch as the draw does.
    """
    parts = [(run, key, title) for run in runs for key, title in _titles(run, named=len(runs) > 1).items()]
    columns = min(3, len(parts))
    rows = -(-len(parts) // columns)
    width = (4.0 if columns < 3 else 3.2) * columns + 0.8
    figure, grid = make_panels(width, 3.6 * rows, rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()[: len(parts)]
    for unused in grid.ravel()[len(parts) :]:
        unused.axis("off")
    first, last = min(run.epochs[0] for run in runs), max(run.epochs[-1] for run in runs)
    # The brightest yellow is left out, because it is lost on white.
    shades = ListedColormap(mpl.colormaps["viridis"](np.linspace(0.93, 0, 256)))
    colors = ScalarMappable(Normalize(first, max(last, first + 1)), shades)
    shown = max(min(LEADING, len(run.diagnostics[0].sigma)) for run in runs)
    for panel, (run, key, title) in zip(panels, parts, strict=True):
        for row in np.unique(np.linspace(0, len(run.epochs) - 1, CURVES).round().astype(int)):
            sigma = np.array(getattr(run.diagnostics[row], key)[:LEADING])
            sigma = sigma[sigma > ROUNDING * sigma.max(initial=0)]
            color = colors.to_rgba(run.epochs[row])
            panel.plot(range(1, len(sigma) + 1), sigma, ".-", color=color, linewidth=1.3, markersize=4)
        panel.set(title=title, xlabel="index $i$", xticks=[1, *range(5, shown + 1, 5)], xlim=(0, shown + 1))
        panel.xaxis.set_tick_params(labelbottom=True)
    logarithmic_y(*panels)
    for panel in grid[:, 0]:
        panel.set_ylabel(r"singular value $\sigma_i$")
    figure.colorbar(colors, ax=panels.tolist(), label="epoch", pad=0.02)
    return figure


def _titles(run: RunLog, *, named: bool) -> dict[str, str]:
    """Return the panels of a run: the diagnostic that each shows, and its title."""
    before, after = "$H$", r"$\widetilde{H}$"
    if named:
        before, after = f"{run.name}: {before}", f"{run.name}: {after}"
    elif run.has_spectral_map:
        before, after = f"{before}, before the spectral map", f"{after}, after the spectral map"
    else:
        before += " (no spectral map)"
    return {"sigma": before, "sigma_tilde": after} if run.has_spectral_map else {"sigma": before}


def _ratio(sigma: list[float], index: int) -> str:
    """Return the first value over that of an index, counted from 1."""
    return f"{sigma[0] / sigma[index - 1]:.2f}" if len(sigma) >= index and sigma[index - 1] > 0 else "∞"


def tell_of_alignment(*runs: RunLog) -> str:
    """Say where each run ends, by the paper's measure and relative to the size of the maps, lowest first."""
    text = (
        f"At the end ‖Hα − Hβ‖² is {_ends(runs, 'alignment')}; relative to the size of the maps it is "
        f"{_ends(runs, 'alignment_relative')}."
    )
    if _order(runs, "alignment") != _order(runs, "alignment_relative"):
        text += " The order turns round: the paper's measure falls when the maps shrink."
    after = [run for run in runs if run.has_spectral_map]
    return f"{text} After the map, in one draw, ‖H̃α − H̃β‖² is {_ends(after, 'alignment_tilde')}." if after else text


@paper_figure(
    "6",
    "Alignment of the feature maps of two views, lower is better: SFA achieves a better one.",
    tell=tell_of_alignment,
    datasets=("cora",),
)
def draw_alignment(*runs: RunLog) -> Figure:
    """Draw the distance of the two views over the epochs, as it is and relative to the maps' size, of any runs."""
    figure, (absolute, relative) = make_panels(9.0, 3.7, 1, 2)
    colors, lines = _draw_distances(absolute, relative, runs), _line_styles(runs)
    absolute.set(title="distance of the two views", ylabel=DISTANCE)
    relative.set(title="the same, relative to their size", ylabel=RELATIVE)
    figure.legend(handles=[*colors, *lines], loc="outside lower center", ncols=4)
    return figure


def tell_of_alignment_by_dataset(*runs: RunLog) -> str:
    return " ".join(
        f"{DATASETS.get(name, name)}: {tell_of_alignment(*own) if own else 'no run of it is given.'}"
        for name, own in _by_dataset(runs).items()
    )


@paper_figure(
    "9",
    "Improved alignment on CiteSeer and WikiCS, lower is better.",
    tell=tell_of_alignment_by_dataset,
    datasets=("citeseer", "wikics"),
)
def draw_alignment_by_dataset(*runs: RunLog) -> Figure:
    """Draw the distance of the two views over the epochs, with a column for each data set.

    The paper's data sets come first; one without a run has narrower panels that say so.
    """
    groups = _by_dataset(runs)
    widths = [1.0 if own else 0.6 for own in groups.values()]
    size = 1.2 + 4.2 * sum(widths), 6.4
    figure, (above, below) = make_panels(*size, 2, len(groups), squeeze=False, width_ratios=widths)
    for absolute, relative, (name, own) in zip(above, below, groups.items(), strict=True):
        absolute.set_title(DATASETS.get(name, name))
        if own:
            absolute.legend(handles=_draw_distances(absolute, relative, own), fontsize=8)
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


def _draw_distances(absolute: Axes, relative: Axes, runs: Sequence[RunLog]) -> list[Line2D]:
    """Draw the distances of runs, each in a color of its own, and return the colors for the legend."""
    for number, run in enumerate(runs):
        if any(row.alignment is None for row in run.diagnostics):
            raise InputError(f"{run.name} has no alignment to draw: its method has a single view.")
        for panel, key in ((absolute, "alignment"), (relative, "alignment_relative")):
            for name, line in {key: ".-", f"{key}_tilde": ".--"}.items() if run.has_spectral_map else [(key, ".-")]:
                values = [getattr(row, name) for row in run.diagnostics]
                panel.plot(run.epochs, values, line, color=color_of(number), linewidth=1.6, markersize=5)
            panel.set_xlabel("epoch")
    logarithmic_y(absolute)
    relative.set_ylim(bottom=0)
    return [Line2D([], [], color=color_of(number), label=run.name) for number, run in enumerate(runs)]


def _line_styles(runs: Sequence[RunLog]) -> list[Line2D]:
    """Return the legend of solid and dashed lines, where there are both."""
    if not any(run.has_spectral_map for run in runs):
        return []
    dashed = Line2D([], [], color="black", linestyle="--", label=r"$\widetilde{H}$ (after the map)")
    return [Line2D([], [], color="black", label="$H$"), dashed]


def _ends(runs: Sequence[RunLog], key: str) -> str:
    return ", ".join(f"{getattr(run.diagnostics[-1], key):.3g} ({run.name})" for run in _order(runs, key))


def _order(runs: Sequence[RunLog], key: str) -> list[RunLog]:
    return sorted(runs, key=lambda run: float(getattr(run.diagnostics[-1], key)))
