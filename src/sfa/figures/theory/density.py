"""The law of the share that one call of Algorithm 1 removes of σ₁ (the paper's Figure 3a)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.figures.style import OPAQUE, style
from sfa.figures.theory.settings import ITERATIONS, OTHERS
from sfa.theory import density, expectation

LEADING = 2.0


@style()
def draw_density() -> Figure:
    """Exact density and the paper's surrogate of ``z`` for σ₁ = 2, one panel per number of iterations."""
    figure = Figure(figsize=(9.6, 2.9), layout="constrained")
    panels = figure.subplots(1, len(ITERATIONS), sharey=True)
    for panel, (k, colour) in zip(panels, ITERATIONS.items(), strict=True):
        draw_law(panel, k, colour)
    panels[0].set_ylabel(f"density of $z$ at $\\sigma_1 = {LEADING:g}$")
    return figure


def draw_law(panel: Axes, k: int, colour: str) -> None:
    """Both densities and the mean."""
    # Dense at both ends, where the density is steep.
    z = np.sin(np.linspace(0, np.pi / 2, 402)[1:-1]) ** 2
    sigma = (LEADING, *OTHERS)
    exact, surrogate = (density(z, sigma, 0, k, method) for method in ("exact", "surrogate"))
    panel.fill_between(z, exact, color=colour, alpha=0.12, linewidth=0)
    panel.plot(z, exact, color=colour, linewidth=1.8, label="exact")
    panel.plot(z, surrogate, color="black", linewidth=1.1, linestyle=":", label="surrogate")
    mean = expectation(sigma, k)[0]
    panel.axvline(mean, color=colour, linewidth=1, linestyle="--", label=f"mean {mean:.3f}")
    panel.set(title=f"$k = {k}$", xlabel="share removed $z$", xlim=(0, 1), ylim=(0, 4), xticks=[0, 0.5, 1])
    panel.legend(loc="upper center", fontsize=8, handlelength=1.4, bbox_to_anchor=(0.42, 1.0), **OPAQUE)


def tell_of_density() -> str:
    """How much is removed on average, and how the surrogate errs."""
    sigma = (LEADING, *OTHERS)
    shares = {k: [float(expectation(sigma, k, method)[0]) for method in ("exact", "surrogate")] for k in ITERATIONS}
    means = ", ".join(f"{exact:.3f}" for exact, _ in shares.values())
    ks = ", ".join(map(str, shares))
    widest = max(surrogate - exact for exact, surrogate in shares.values())
    return (
        f"Of σ₁ = {LEADING:g} the share {means} goes on average for k = {ks}; the paper's surrogate is off by up to "
        f"{widest:.3f}, and its density as printed does not integrate to 1: ours is put right."
    )
