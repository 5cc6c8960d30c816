"""Where σ₁ goes in expectation, and how far single draws stray (the paper's simulation figure, b)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.figures.style import PLAIN, style
from sfa.figures.theory.settings import ITERATIONS, SIGMA, leading_values, spectra
from sfa.theory import push_forward


@style()
def draw_push_forward() -> Figure:
    """The exact φ(σ₁; k) ± σ₁ω for 0 ≤ σ₁ ≤ 3, one panel per number of iterations."""
    figure = Figure(figsize=(9.6, 2.9), layout="constrained")
    panels = figure.subplots(1, len(ITERATIONS), sharey=True)
    for panel, (k, colour) in zip(panels, ITERATIONS.items(), strict=True):
        draw_theory(panel, k, colour)
        panel.legend(loc="upper left", fontsize=8)
    panels[0].set_ylabel("$\\phi(\\sigma_1, k)$")
    return figure


def draw_theory(panel: Axes, k: int, colour: str) -> None:
    """The exact mean as a line, the deviation as a band, an unchanged value dotted."""
    leading = leading_values(241)
    mean, deviation = (values[:, 0] for values in push_forward(spectra(leading), k))
    panel.plot([0, 3], [0, 3], color=PLAIN, linewidth=0.8, linestyle=":")
    panel.fill_between(leading, mean - deviation, mean + deviation, color=colour, alpha=0.15, linewidth=0)
    panel.plot(leading, mean, color=colour, linewidth=1.8, label="$\\phi \\pm \\sigma_1\\omega_1$, exact")
    panel.set(title=f"$k = {k}$", xlabel=SIGMA, xlim=(0, 3), ylim=(0, 2.2), xticks=[0, 1, 2, 3])
