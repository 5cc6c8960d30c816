"""How the spectrum of a run's feature maps changes as training goes on (the paper's spectrum figure)."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
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


@style()
def draw_spectrum_evolution(run: RunLog) -> Figure:
    """Leading singular values of H and, where there is a spectral map, of H̃: one curve per epoch, late ones dark.

    Those of H̃ are of the one draw of that step, and jump from epoch to epoch as the draw does.
    """
    panel_titles = {"sigma": "$H$, before the spectral map", "sigma_tilde": r"$\widetilde{H}$, after the spectral map"}
    if not run.has_spectral_map:
        panel_titles = {"sigma": "$H$ (no spectral map)"}
    figure = Figure(figsize=(4.0 * len(panel_titles) + 0.8, 3.6), layout="constrained")
    panels = figure.subplots(1, len(panel_titles), sharey=True, squeeze=False)[0]
    # The brightest yellow is left out: it is lost on white.
    shades = ListedColormap(mpl.colormaps["viridis"](np.linspace(0.93, 0, 256)))
    colours = ScalarMappable(Normalize(run.epochs[0], max(run.epochs[-1], run.epochs[0] + 1)), shades)
    chosen = np.unique(np.linspace(0, len(run.epochs) - 1, CURVES).round().astype(int))
    shown = min(LEADING, len(run.diagnostics[0].sigma))
    for panel, (key, title) in zip(panels, panel_titles.items(), strict=True):
        for row in chosen:
            sigma = np.array(getattr(run.diagnostics[row], key)[:shown])
            sigma = sigma[sigma > ROUNDING * sigma.max(initial=0)]
            colour = colours.to_rgba(run.epochs[row])
            panel.plot(range(1, len(sigma) + 1), sigma, ".-", color=colour, linewidth=1.3, markersize=4)
        panel.set(title=title, xlabel="index $i$", xticks=[1, *range(5, shown + 1, 5)], xlim=(0, shown + 1))
    logarithmic_y(*panels)
    panels[0].set_ylabel(r"singular value $\sigma_i$")
    figure.colorbar(colours, ax=panels, label="epoch", pad=0.02)
    return figure
