"""How fast a direction fades from the power iteration (the paper's Figure 10)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sfa.figures.style import style
from sfa.figures.theory.settings import ITERATIONS


@style()
def draw_power_law() -> Figure:
    """The weight (σᵢ/σ₁)²ᵏ of the i-th direction in r⁽ᵏ⁾, for σ₁ = 1."""
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    panel = figure.subplots()
    ratio = np.linspace(0, 1, 301)
    for k, colour in ITERATIONS.items():
        panel.plot(ratio, ratio ** (2 * k), color=colour, linewidth=1.8, label=f"$k = {k}$")
    panel.set(xlabel="$\\sigma_i / \\sigma_1$", ylabel="$(\\sigma_i / \\sigma_1)^{2k}$", xlim=(0, 1), ylim=(0, 1.02))
    panel.legend(loc="upper left")
    return figure


def tell_of_power_law() -> str:
    """What is left of a direction half as strong as the leading one."""
    weights = ", ".join(f"{0.5 ** (2 * k):.2g}" for k in ITERATIONS)
    ks = ", ".join(map(str, ITERATIONS))
    return f"A direction with half the leading value keeps {weights} of its weight for k = {ks}."
