"""The push-forward function and its bounds (the paper's Figure 8, and where its bound fails)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sfa.figures.style import PLAIN, style
from sfa.figures.theory.settings import ITERATIONS, SIGMA, leading_values, spectra
from sfa.theory import jensen_bound, push_forward, upper_bound

LEADING = 3.0

MOST = 10_000
"""Values below the leading one in the right panel."""


@style()
def draw_bound() -> Figure:
    """Left: φ(σ₁; k) under both bounds. Right: a leading value of 3 above a growing number of ones."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    leading = leading_values(241, low=0.001)
    left.plot(leading, upper_bound(spectra(leading))[:, 0], color="black", linewidth=1.6, label="AxMin, the paper's")
    for k, colour in ITERATIONS.items():
        left.plot(
            leading, push_forward(spectra(leading), k).mean[:, 0], color=colour, linewidth=1.8, label=f"$k = {k}$"
        )
        left.plot(leading, jensen_bound(spectra(leading), k)[:, 0], color=colour, linewidth=1, linestyle="--")
    left.plot([], [], color=PLAIN, linewidth=1, linestyle="--", label="Jensen, ours")
    left.set(xlabel=SIGMA, ylabel="$\\phi(\\sigma_1; k)$", title="the caption's five values", xlim=(0, 3), ylim=(0, 2))
    left.legend(loc="upper left", fontsize=8)

    counts = np.unique(np.geomspace(1, MOST, 17).round().astype(int))
    for k, colour in ITERATIONS.items():
        right.plot(counts, [_above_ones(count, k) for count in counts], color=colour, linewidth=1.8)
        bounds = [jensen_bound(np.append(LEADING, np.ones(count)), k)[0] for count in counts]
        right.plot(counts, bounds, color=colour, linewidth=1, linestyle="--")
    right.axhline(1.0, color="black", linewidth=1.6)
    right.text(1, 1.04, "AxMin", va="bottom")
    right.set(
        xlabel="number of values $\\sigma_j = 1$", ylabel=f"$\\phi$ of $\\sigma_1 = {LEADING:g}$",
        title="one leading value above many equal ones", xscale="log", ylim=(0, 3.1),
    )  # fmt: skip
    return figure


def tell_of_bound() -> str:
    """How close φ comes to the bound on the caption's values, and from where on it breaks it."""
    toy = spectra(leading_values(2, low=LEADING, high=LEADING))
    phi, axmin = push_forward(toy, 1).mean[0, 0], upper_bound(toy)[0, 0]
    count = next(count for count in range(1, MOST) if _above_ones(count, 1) > 1)
    return (
        f"On the caption's five values the bound holds: for k = 1 and σ₁ = {LEADING:g} φ is {phi:.2f} and the bound "
        f"{axmin:.2f}. In general it is false: above {count} equal values of 1 a leading value of {LEADING:g} "
        f"is no longer brought down to 1, and above {MOST} of them it keeps {_above_ones(MOST, 1):.2f}; Jensen's "
        "bound, dashed, holds."
    )


def _above_ones(count: int, k: int) -> float:
    """φ of the leading value above so many ones: of equal others the surrogate is exact, and takes no time."""
    return float(push_forward(np.append(LEADING, np.ones(count)), k, "surrogate").mean[0])
