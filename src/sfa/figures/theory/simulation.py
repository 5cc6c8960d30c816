"""Algorithm 1 itself beside the theory (the paper's simulation figure, c, and the inset of its overview)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sfa.figures.style import OPAQUE, PLAIN, style
from sfa.figures.theory.push_forward import draw_theory
from sfa.figures.theory.settings import ITERATIONS, leading_values, spectra
from sfa.theory import simulate

DRAWS = 1000


@style()
def draw_simulation() -> Figure:
    """Above: φ′(σ₁) from Algorithm 1 over the theory. Below: a power-law spectrum before and after."""
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    above, below = figure.subplots(2, len(ITERATIONS), sharey="row")
    decay = 3 * np.arange(1, 31) ** -0.8
    for panel, (k, colour) in zip(above, ITERATIONS.items(), strict=True):
        draw_theory(panel, k, colour)
        leading = leading_values(13, low=0.001)
        drawn = np.stack(
            [simulate(sigma, k, DRAWS, seed=seed).push_forward[:, 0] for seed, sigma in enumerate(spectra(leading))]
        )
        panel.errorbar(
            leading, drawn.mean(axis=1), drawn.std(axis=1), fmt="o", markersize=3, color="black", linewidth=0.8,
            label=f"Algorithm 1, {DRAWS} draws",
        )  # fmt: skip
        panel.set(xlim=(0, 3.05), ylim=(0, 2.6))
    above[-1].legend(loc="upper right", fontsize=7.5, **OPAQUE)
    above[0].set_ylabel("$\\phi'(\\sigma_1, k)$")
    for panel, (k, colour) in zip(below, ITERATIONS.items(), strict=True):
        index = np.arange(1, len(decay) + 1)
        result = simulate(decay, k, DRAWS)
        panel.plot(index, decay, color=PLAIN, linewidth=1.2, label="$\\sigma_i$ of $H$")
        panel.errorbar(
            index, result.push_forward.mean(axis=0), result.push_forward.std(axis=0), fmt="o", markersize=2.5,
            color=colour, linewidth=0.8, label="$u_i^\\top\\widetilde{H} v_i$",
        )  # fmt: skip
        sorted_values = result.spectrum.mean(axis=0)[:-1]
        panel.plot(
            index[:-1],
            sorted_values,
            color="black",
            linewidth=0.9,
            linestyle="--",
            label="$\\sigma_i$ of $\\widetilde{H}$",
        )
        panel.set(xlabel="index $i$", xscale="log", ylim=(0, 3.2))
    below[0].legend(loc="upper right", fontsize=7.5)
    below[0].set_ylabel("singular value")
    return figure
