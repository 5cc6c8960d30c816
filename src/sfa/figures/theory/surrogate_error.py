"""How far the paper's Gamma surrogate is from the exact law."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sfa.figures.style import PLAIN, style
from sfa.figures.theory.settings import ITERATIONS, SIGMA, leading_values, spectra
from sfa.theory import expectation, variance

WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
DECAY = 1.0


@style()
def draw_surrogate_error() -> Figure:
    """Errors of mean and deviation on the toy spectrum, and the sum of all means on wide ones."""
    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    of_mean, of_deviation, of_sum = figure.subplots(1, 3)
    sigma = spectra(leading_values(151, low=0.001))
    for k, colour in ITERATIONS.items():
        mean_error = expectation(sigma, k, "surrogate") - expectation(sigma, k)
        deviation_error = np.sqrt(variance(sigma, k, "surrogate")) - np.sqrt(variance(sigma, k))
        of_mean.plot(sigma[:, 0], mean_error[:, 0], color=colour, linewidth=1.8, label=f"$k = {k}$")
        of_deviation.plot(sigma[:, 0], deviation_error[:, 0], color=colour, linewidth=1.8)
        sums = [expectation(power_law(width), k, "surrogate").sum() for width in WIDTHS]
        of_sum.plot(WIDTHS, sums, color=colour, linewidth=1.4, marker="o", markersize=3.5)
    for panel in (of_mean, of_deviation):
        panel.axhline(0, color=PLAIN, linewidth=0.8)
        panel.set(xlabel=SIGMA, xlim=(0, 3))
    of_mean.set_title("mean $\\lambda_1$: surrogate − exact")
    of_mean.legend(loc="upper right", fontsize=8)
    of_deviation.set_title("deviation $\\omega_1$: surrogate − exact")
    of_sum.axhline(1, color=PLAIN, linewidth=0.8)
    of_sum.set(
        xlabel="number of values $d$", xscale="log", title="sum of all $\\lambda_i$, $\\sigma_i = 1/i$ (exact: 1)"
    )
    of_sum.set_xticks([2, 8, 32, 128, 512], ["2", "8", "32", "128", "512"])
    of_sum.minorticks_off()
    return figure


def power_law(width: int) -> list[float]:
    """A spectrum as feature maps have them."""
    return [index**-DECAY for index in range(1, width + 1)]
