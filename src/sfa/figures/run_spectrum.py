"""How the spectrum of a run's feature maps changes as training goes on (the paper's Figure 5)."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure

from sfa.figures.run_log import RunLog
from sfa.figures.style import logarithmic_y, style

LEADING = 30
"""Singular values that are shown: those where the signal is."""

CURVES = 9
"""Epochs that are shown, evenly spaced; more could not be told apart."""

ROUNDING = 1e-6
"""Share of the largest singular value below which there is nothing but rounding."""

BALANCED = 12
"""Leading values that the paper says are flattened."""

COLUMNS = 3
"""Panels beside each other."""


@style()
def draw_spectrum_evolution(*runs: RunLog) -> Figure:
    """Leading singular values of H and, where there is a spectral map, of H̃: one curve per epoch, late ones dark.

    Those of H̃ are of the one draw of that step, and jump from epoch to epoch as the draw does. Several runs have their
    panels one after another, on one scale.
    """
    parts = [(run, key, title) for run in runs for key, title in _titles(run, named=len(runs) > 1).items()]
    columns = min(COLUMNS, len(parts))
    rows = -(-len(parts) // columns)
    figure = Figure(figsize=((4.0 if columns < 3 else 3.2) * columns + 0.8, 3.6 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    panels = grid.ravel()[: len(parts)]
    for unused in grid.ravel()[len(parts) :]:
        unused.axis("off")
    first, last = min(run.epochs[0] for run in runs), max(run.epochs[-1] for run in runs)
    # The brightest yellow is left out: it is lost on white.
    shades = ListedColormap(mpl.colormaps["viridis"](np.linspace(0.93, 0, 256)))
    colours = ScalarMappable(Normalize(first, max(last, first + 1)), shades)
    shown = max(min(LEADING, len(run.diagnostics[0].sigma)) for run in runs)
    for panel, (run, key, title) in zip(panels, parts, strict=True):
        _draw_curves(panel, run, key, colours)
        panel.set(title=title, xticks=[1, *range(5, shown + 1, 5)], xlim=(0, shown + 1))
        panel.xaxis.set_tick_params(labelbottom=True)
        panel.set_xlabel("index $i$")
    logarithmic_y(*panels)
    for panel in grid[:, 0]:
        panel.set_ylabel(r"singular value $\sigma_i$")
    figure.colorbar(colours, ax=panels.tolist(), label="epoch", pad=0.02)
    return figure


def _titles(run: RunLog, *, named: bool) -> dict[str, str]:
    """The panels of a run by what they show."""
    if named:
        with_map = {"sigma": f"{run.name}: $H$", "sigma_tilde": f"{run.name}: $\\widetilde{{H}}$"}
        return with_map if run.has_spectral_map else {"sigma": f"{run.name}: $H$"}
    if not run.has_spectral_map:
        return {"sigma": "$H$ (no spectral map)"}
    return {"sigma": "$H$, before the spectral map", "sigma_tilde": r"$\widetilde{H}$, after the spectral map"}


def _draw_curves(panel: Axes, run: RunLog, key: str, colours: ScalarMappable) -> None:
    for row in np.unique(np.linspace(0, len(run.epochs) - 1, CURVES).round().astype(int)):
        sigma = np.array(getattr(run.diagnostics[row], key)[:LEADING])
        sigma = sigma[sigma > ROUNDING * sigma.max(initial=0)]
        colour = colours.to_rgba(run.epochs[row])
        panel.plot(range(1, len(sigma) + 1), sigma, ".-", color=colour, linewidth=1.3, markersize=4)


def tell_of_spectrum(*runs: RunLog) -> str:
    """How far the leading value stands out of H, how the next ones fall, and how many directions count, as it went."""
    return " ".join(_evolution(run) for run in runs)


def _evolution(run: RunLog) -> str:
    first, last = run.diagnostics[0], run.diagnostics[-1]
    gaps = [f"σ₁/σ₂ of H goes from {_ratio(first.sigma, 2)} to {_ratio(last.sigma, 2)}"]
    if len(first.sigma) >= BALANCED:
        early, late = (_ratio(row.sigma[1:], BALANCED - 1) for row in (first, last))
        gaps.append(f"σ₂/σ₁₂ from {early} to {late}")
    gaps.append(f"its effective rank from {first.effective_rank:.1f} to {last.effective_rank:.1f}")
    return f"{run.name}: from epoch {run.epochs[0]} to {run.epochs[-1]} {', '.join(gaps[:-1])} and {gaps[-1]}."


def _ratio(sigma: list[float], index: int) -> str:
    """The first value over that of an index, counted from 1."""
    return f"{sigma[0] / sigma[index - 1]:.2f}" if len(sigma) >= index and sigma[index - 1] > 0 else "∞"
