"""Algorithm 1 itself beside the theory (the paper's Figures 3c and 2b)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.figures.style import OPAQUE, PLAIN, style
from sfa.figures.theory.push_forward import draw_theory
from sfa.figures.theory.settings import ITERATIONS, leading_values, spectra
from sfa.theory import push_forward, simulate
from sfa.theory.spectra import Array

DRAWS = 1000

DECAY: Array = 3 * np.arange(1.0, 31.0) ** -0.8
"""A spectrum that falls by a power law, as those of feature maps do."""


@style()
def draw_simulation() -> Figure:
    """Above: φ′(σ₁) from Algorithm 1 over the theory. Below: a power-law spectrum before and after."""
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    above, below = figure.subplots(2, len(ITERATIONS), sharey="row")
    for panel, (k, colour) in zip(above, ITERATIONS.items(), strict=True):
        draw_points(panel, k, colour)
    above[-1].legend(loc="upper right", fontsize=7.5, **OPAQUE)
    above[0].set_ylabel("$\\phi'(\\sigma_1, k)$")
    for panel, (k, colour) in zip(below, ITERATIONS.items(), strict=True):
        draw_spectrum(panel, k, colour)
    below[0].legend(loc="upper right", fontsize=7.5)
    below[0].set_ylabel("singular value")
    return figure


def draw_points(panel: Axes, k: int, colour: str) -> None:
    """Mean and deviation of many draws for some σ₁, over the exact curve."""
    draw_theory(panel, k, colour)
    leading, drawn = _drawn(k)
    panel.errorbar(
        leading, drawn.mean(axis=1), drawn.std(axis=1), fmt="o", markersize=3, color="black", linewidth=0.8,
        label=f"Algorithm 1, {DRAWS} draws",
    )  # fmt: skip
    panel.set(xlim=(0, 3.05), ylim=(0, 2.6))


def draw_spectrum(panel: Axes, k: int, colour: str) -> None:
    """A power-law spectrum, where Algorithm 1 sends its values, and the spectrum that single draws have."""
    index = np.arange(1, len(DECAY) + 1)
    result = simulate(DECAY, k, DRAWS)
    panel.plot(index, DECAY, color=PLAIN, linewidth=1.2, label="$\\sigma_i$ of $H$")
    panel.errorbar(
        index, result.push_forward.mean(axis=0), result.push_forward.std(axis=0), fmt="o", markersize=2.5,
        color=colour, linewidth=0.8, label="$u_i^\\top\\widetilde{H} v_i$",
    )  # fmt: skip
    panel.plot(
        index[:-1],
        result.spectrum.mean(axis=0)[:-1],
        color="black",
        linewidth=0.9,
        linestyle="--",
        label="$\\sigma_i$ of $\\widetilde{H}$",
    )
    panel.set(xlabel="index $i$", xscale="log", ylim=(0, 3.2))


def tell_of_simulation() -> str:
    """How far the draws are from the exact law, and the paper's surrogate from it."""
    of_draws, of_surrogate = 0.0, 0.0
    for k in ITERATIONS:
        leading, drawn = _drawn(k)
        exact, surrogate = (push_forward(spectra(leading), k, method).mean[:, 0] for method in ("exact", "surrogate"))
        of_draws = max(of_draws, float(np.abs(drawn.mean(axis=1) - exact).max()))
        of_surrogate = max(of_surrogate, float(np.abs(surrogate - exact).max()))
    return (
        f"Algorithm 1 follows the exact law: the means of {DRAWS} draws lie within {of_draws:.3f} of φ, which is "
        f"sampling error; the paper's surrogate of φ is up to {of_surrogate:.3f} off."
    )


def _drawn(k: int) -> tuple[Array, Array]:
    """Some σ₁, and what many draws make of each."""
    leading = leading_values(13, low=0.001)
    drawn = [simulate(sigma, k, DRAWS, seed=seed).push_forward[:, 0] for seed, sigma in enumerate(spectra(leading))]
    return leading, np.stack(drawn)
