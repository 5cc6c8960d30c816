"""The push-forward functions of SFA and its rivals (the paper's Figure 7, and more)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sfa.figures.style import PLAIN, SPECTRAL, style
from sfa.theory import PushForward, push_forward, rivals
from sfa.theory.spectra import Array

ROWS = 1000


@style()
def draw_variants() -> Figure:
    """Where each map sends the values of one power-law spectrum: the mean, and the deviation by noise as a band."""
    sigma = _spectrum()
    curves = _curves(sigma)
    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    panels = figure.subplots(2, 5, sharex=True).ravel()
    for panel, (title, (mean, deviation)) in zip(panels, curves.items(), strict=True):
        colour = SPECTRAL if title.startswith("sfa") else "#4477aa"
        panel.fill_between(sigma, mean - deviation, mean + deviation, color=colour, alpha=0.2, linewidth=0)
        panel.plot(sigma, mean, color=colour, linewidth=1.6, marker="o", markersize=2.2)
        panel.plot([0, 3], [0, 3], color=PLAIN, linewidth=0.8, linestyle=":")
        top = float((mean + deviation).max())
        panel.set(title=title, xlim=(0, 3.1), ylim=(-0.03 * top, 1.12 * top))
    for panel in panels[5:]:
        panel.set_xlabel("$\\sigma_i$")
    for panel in panels[::5]:
        panel.set_ylabel("$\\tilde\\sigma_i$")
    return figure


def _curves(sigma: Array) -> dict[str, PushForward]:
    return {
        "sfa, $k = 1$": push_forward(sigma, 1),
        "maxexp": rivals.maxexp(sigma),
        "grassmann": rivals.grassmann(sigma),
        "power-norm": rivals.power_norm(sigma),
        "power-norm*": rivals.power_norm_star(sigma),
        "precondition": rivals.precondition(sigma),
        f"whiten, $n = {ROWS}$": rivals.whiten(sigma, ROWS),
        "pca": rivals.pca(sigma),
        f"noise, $n = {ROWS}$": rivals.noise(sigma, ROWS),
        f"costa, $n = {ROWS}$": rivals.costa(sigma, ROWS),
    }


def _spectrum() -> Array:
    spectrum: Array = 3 * np.arange(1.0, 65.0) ** -0.7
    return spectrum


def tell_of_variants() -> str:
    """How much each of the caption's maps flattens, and where its noise is."""
    sigma = _spectrum()
    sfa, maxexp, grassmann, norm, norm_star = list(_curves(sigma).values())[:5]
    flat = [f"{each.mean[0] / each.mean[9]:.1f}" for each in (sfa, maxexp, grassmann, norm, norm_star)]
    noise = [[float(each.deviation[i] / each.mean[i]) for i in (0, 9)] for each in (sfa, norm_star, maxexp, norm)]
    return (
        f"The first value is {sigma[0] / sigma[9]:.1f} times the tenth, and after SFA, MaxExp(F), Grassmann and the "
        f"Power Norms {flat[0]}, {flat[1]}, {flat[2]}, {flat[3]} and {flat[4]} times: as curves both Power Norms are "
        f"like MaxExp(F). Noise over value is {noise[0][0]:.2f} at the first and {noise[0][1]:.3f} at the tenth for "
        f"SFA, but {noise[1][0]:.2f} at both for Power Norm.*, and {noise[2][0]:.2f} and {noise[2][1]:.2f} for "
        f"MaxExp(F) against {noise[3][0]:.2f} and {noise[3][1]:.2f} for Power Norm.: the likeness is loose."
    )
