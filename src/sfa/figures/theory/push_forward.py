"""Where σ₁ goes in expectation, and how far single draws stray (the paper's Figure 3b)."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.figures.style import PLAIN, style
from sfa.figures.theory.settings import ITERATIONS, SIGMA, leading_values, spectra
from sfa.theory import push_forward

FLAT = (1.0, 3.0)
"""Where the caption says that φ is flat for ``k = 1``."""


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


def tell_of_push_forward() -> str:
    """How flat φ is where it is said to be, and where its deviation does not decline."""
    leading = leading_values(81, *FLAT)
    once, often = (push_forward(spectra(leading), k) for k in (min(ITERATIONS), max(ITERATIONS)))
    phi, omega = once.mean[:, 0], once.deviation[:, 0]
    late = often.deviation[:, 0]
    worst = int((late - omega).argmax())
    return (
        f"For k = {min(ITERATIONS)} and {FLAT[0]:g} ≤ σ₁ ≤ {FLAT[1]:g}, φ lies between {phi.min():.2f} and "
        f"{phi.max():.2f}, flat as the caption says, with a deviation of {omega.min():.2f} to {omega.max():.2f}; that "
        f"the noise declines with k does not hold near the runner-up: at σ₁ = {leading[worst]:.2f} the deviation is "
        f"{omega[worst]:.2f} for k = {min(ITERATIONS)} and {late[worst]:.2f} for k = {max(ITERATIONS)}."
    )
