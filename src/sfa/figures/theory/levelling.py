"""The same levelling by harsh and by gentle passes, and what it tends to."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.figures.style import PLAIN, SPECTRAL, style
from sfa.figures.theory.simulation import DECAY
from sfa.theory import levelled, simulate

DRAWS = 200
TOTAL = 8.0
"""Directions' worth that are taken in all."""
PASSES = (8, 16, 64)


@style()
def draw_levelling() -> Figure:
    """A power-law spectrum after more and more passes that together take the same, beside the flow of the spectrum."""
    figure = Figure(figsize=(9.6, 3.1), layout="constrained")
    panels = figure.subplots(1, len(PASSES), sharey=True)
    for panel, passes in zip(panels, PASSES, strict=True):
        draw_passes(panel, passes)
    panels[0].legend(loc="upper right", fontsize=7.5)
    panels[0].set_ylabel("singular value")
    return figure


def draw_passes(panel: Axes, passes: int) -> None:
    """Mean and deviation of many draws along the singular vectors, over the spectrum before and the flow."""
    index, strength = np.arange(1, len(DECAY) + 1), TOTAL / passes
    drawn = simulate(DECAY, 1, DRAWS, strength=strength, passes=passes).push_forward
    panel.plot(index, DECAY, color=PLAIN, linewidth=1.2, label="$\\sigma_i$ of $H$")
    panel.plot(index, levelled(DECAY, 1, strength=TOTAL / 800, passes=800), color="black", linewidth=1, label="flow")
    panel.errorbar(
        index, drawn.mean(axis=0), drawn.std(axis=0), fmt="o", markersize=2.5, color=SPECTRAL, linewidth=0.8,
        label="$u_i^\\top\\widetilde{H} v_i$",
    )  # fmt: skip
    panel.set(xlabel="index $i$", xscale="log", ylim=(0, 3.2), title=f"{passes} passes of strength {strength:g}")


def tell_of_levelling() -> str:
    """How level the top is, and how much noise each kind of passes leaves."""
    deviations = {
        passes: simulate(DECAY, 1, DRAWS, strength=TOTAL / passes, passes=passes).push_forward[:, :10].std(axis=0)
        for passes in PASSES
    }
    flow = levelled(DECAY, 1, strength=TOTAL / 800, passes=800)
    noise = ", ".join(f"{values.mean():.2f} in {passes}" for passes, values in deviations.items())
    return (
        f"The ratio of the first singular value to the tenth falls from {DECAY[0] / DECAY[9]:.1f} to "
        f"{flow[0] / flow[9]:.1f}; mean deviation of the ten leading ones: {noise} passes."
    )
