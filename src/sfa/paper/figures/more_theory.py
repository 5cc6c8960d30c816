"""Further pictures of the theory: bounds, rivals of SFA, gentle passes, power law, error of the surrogate."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from sfa.paper.figures.toy import DECAY, ITERATIONS, SIGMA, draw_mean_and_deviation, leading_values, spectra
from sfa.plots import PLAIN, SPECTRAL, style
from sfa.theory import (
    PushForward,
    expectation,
    jensen_bound,
    levelled,
    push_forward,
    rivals,
    simulate,
    upper_bound,
    variance,
)
from sfa.theory.spectra import Array

ROWS = 1000
"""Rows of the maps in Figure 7."""
LEADING, MOST = 3.0, 10_000
"""The leading value of Figure 8, and the most values below it in its right panel."""
WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
PASSES, TOTAL, DRAWS = (8, 16, 64), 8.0, 200
"""Passes of the layer, the directions' worth that they remove in all, and draws of each."""


@style()
def draw_variants() -> Figure:
    """Draw where each map sends the values of one power-law spectrum: the mean, and the deviation by noise as a band.

    The paper's Figure 7, with more maps.
    """
    sigma, curves = _variants()
    figure = Figure(figsize=(9.6, 5.4), layout="constrained")
    panels = figure.subplots(2, 5, sharex=True).ravel()
    for panel, (title, (mean, deviation)) in zip(panels, curves.items(), strict=True):
        color = SPECTRAL if title.startswith("sfa") else "#4477aa"
        panel.fill_between(sigma, mean - deviation, mean + deviation, color=color, alpha=0.2, linewidth=0)
        panel.plot(sigma, mean, color=color, linewidth=1.6, marker="o", markersize=2.2)
        panel.plot([0, 3], [0, 3], color=PLAIN, linewidth=0.8, linestyle=":")
        top = float((mean + deviation).max())
        panel.set(title=title, xlim=(0, 3.1), ylim=(-0.03 * top, 1.12 * top))
    for panel in panels[5:]:
        panel.set_xlabel("$\\sigma_i$")
    for panel in panels[::5]:
        panel.set_ylabel("$\\tilde\\sigma_i$")
    return figure


def _variants() -> tuple[Array, dict[str, PushForward]]:
    """Return the spectrum, and its push-forward by every map."""
    sigma: Array = 3 * np.arange(1.0, 65.0) ** -0.7
    return sigma, {
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


def tell_of_variants() -> str:
    """Say how much each of the caption's maps flattens, and where its noise is."""
    sigma, curves = _variants()
    sfa, maxexp, grassmann, norm, norm_star = list(curves.values())[:5]
    flat = [f"{each.mean[0] / each.mean[9]:.1f}" for each in (sfa, maxexp, grassmann, norm, norm_star)]
    noise = [[float(each.deviation[i] / each.mean[i]) for i in (0, 9)] for each in (sfa, norm_star, maxexp, norm)]
    return (
        f"The first value is {sigma[0] / sigma[9]:.1f} times the tenth, and after SFA, MaxExp(F), Grassmann and the "
        f"Power Norms {flat[0]}, {flat[1]}, {flat[2]}, {flat[3]} and {flat[4]} times: as curves both Power Norms are "
        f"like MaxExp(F). Noise over value is {noise[0][0]:.2f} at the first and {noise[0][1]:.3f} at the tenth for "
        f"SFA, but {noise[1][0]:.2f} at both for Power Norm.*, and {noise[2][0]:.2f} and {noise[2][1]:.2f} for "
        f"MaxExp(F) against {noise[3][0]:.2f} and {noise[3][1]:.2f} for Power Norm.: the likeness is loose."
    )


@style()
def draw_bound() -> Figure:
    """Draw φ(σ₁; k) under both bounds (Figure 8), and a leading value of 3 above a growing number of ones."""
    figure = Figure(figsize=(9.0, 3.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    leading = leading_values(241, low=0.001)
    toy = spectra(leading)
    left.plot(leading, upper_bound(toy)[:, 0], color="black", linewidth=1.6, label="AxMin, the paper's")
    for k, color in ITERATIONS.items():
        left.plot(leading, push_forward(toy, k).mean[:, 0], color=color, linewidth=1.8, label=f"$k = {k}$")
        left.plot(leading, jensen_bound(toy, k)[:, 0], color=color, linewidth=1, linestyle="--")
    left.plot([], [], color=PLAIN, linewidth=1, linestyle="--", label="Jensen, ours")
    left.set(xlabel=SIGMA, ylabel="$\\phi(\\sigma_1; k)$", title="the caption's five values", xlim=(0, 3), ylim=(0, 2))
    left.legend(loc="upper left", fontsize=8)

    counts = np.unique(np.geomspace(1, MOST, 17).round().astype(int))
    for k, color in ITERATIONS.items():
        right.plot(counts, [_above_ones(count, k) for count in counts], color=color, linewidth=1.8)
        bounds = [jensen_bound(np.append(LEADING, np.ones(count)), k)[0] for count in counts]
        right.plot(counts, bounds, color=color, linewidth=1, linestyle="--")
    right.axhline(1.0, color="black", linewidth=1.6)
    right.text(1, 1.04, "AxMin", va="bottom")
    right.set(
        xlabel="number of values $\\sigma_j = 1$", ylabel=f"$\\phi$ of $\\sigma_1 = {LEADING:g}$",
        title="one leading value above many equal ones", xscale="log", ylim=(0, 3.1),
    )  # fmt: skip
    return figure


def tell_of_bound() -> str:
    """Say how close φ comes to the bound on the caption's values, and from where on it breaks it."""
    toy = spectra(np.array([LEADING]))
    phi, axmin = push_forward(toy, 1).mean[0, 0], upper_bound(toy)[0, 0]
    count = next(count for count in range(1, MOST) if _above_ones(count, 1) > 1)
    return (
        f"On the caption's five values the bound holds: for k = 1 and σ₁ = {LEADING:g} φ is {phi:.2f} and the bound "
        f"{axmin:.2f}. In general it is false: above {count} equal values of 1 a leading value of {LEADING:g} "
        f"is no longer brought down to 1, and above {MOST} of them it keeps {_above_ones(MOST, 1):.2f}; Jensen's "
        "bound, dashed, holds."
    )


def _above_ones(count: int, k: int) -> float:
    """Return φ of the leading value above so many ones: of equal others the surrogate is exact, and takes no time."""
    return float(push_forward(np.append(LEADING, np.ones(count)), k, "surrogate").mean[0])


@style()
def draw_power_law() -> Figure:
    """Draw the weight (σᵢ/σ₁)²ᵏ of the i-th direction in r⁽ᵏ⁾, for σ₁ = 1 (Figure 10)."""
    figure = Figure(figsize=(4.6, 3.4), layout="constrained")
    panel = figure.subplots()
    ratio = np.linspace(0, 1, 301)
    for k, color in ITERATIONS.items():
        panel.plot(ratio, ratio ** (2 * k), color=color, linewidth=1.8, label=f"$k = {k}$")
    panel.set(xlabel="$\\sigma_i / \\sigma_1$", ylabel="$(\\sigma_i / \\sigma_1)^{2k}$", xlim=(0, 1), ylim=(0, 1.02))
    panel.legend(loc="upper left")
    return figure


def tell_of_power_law() -> str:
    """Say what is left of a direction half as strong as the leading one."""
    weights = ", ".join(f"{0.5 ** (2 * k):.2g}" for k in ITERATIONS)
    ks = ", ".join(map(str, ITERATIONS))
    return f"A direction with half the leading value keeps {weights} of its weight for k = {ks}."


@style()
def draw_levelling() -> Figure:
    """Draw a power-law spectrum after more and more passes that together remove the same, beside the limit of many.

    Points are the mean and deviation of many draws along the singular vectors.
    """
    figure = Figure(figsize=(9.6, 3.1), layout="constrained")
    panels = figure.subplots(1, len(PASSES), sharey=True)
    index = np.arange(1.0, len(DECAY) + 1)
    for panel, passes in zip(panels, PASSES, strict=True):
        panel.plot(index, DECAY, color=PLAIN, linewidth=1.2, label="$\\sigma_i$ of $H$")
        panel.plot(index, _flow(), color="black", linewidth=1, label="flow")
        label = "$u_i^\\top\\widetilde{H} v_i$"
        draw_mean_and_deviation(panel, index, _after(passes), markersize=2.5, color=SPECTRAL, label=label)
        title = f"{passes} passes of strength {TOTAL / passes:g}"
        panel.set(xlabel="index $i$", xscale="log", ylim=(0, 3.2), title=title)
    panels[0].legend(loc="upper right", fontsize=7.5)
    panels[0].set_ylabel("singular value")
    return figure


def tell_of_levelling() -> str:
    """Say how level the top is, and how much noise each kind of passes leaves."""
    flow = _flow()
    noise = ", ".join(f"{_after(passes)[:, :10].std(axis=0).mean():.2f} in {passes}" for passes in PASSES)
    return (
        f"The ratio of the first singular value to the tenth falls from {DECAY[0] / DECAY[9]:.1f} to "
        f"{flow[0] / flow[9]:.1f}; mean deviation of the ten leading ones: {noise} passes."
    )


def _flow() -> Array:
    """Return the spectrum after very many very gentle passes."""
    return levelled(DECAY, 1, strength=TOTAL / 800, passes=800)


def _after(passes: int) -> Array:
    """Return where draws of so many passes send the values, ``(draws, m)``."""
    return simulate(DECAY, 1, DRAWS, strength=TOTAL / passes, passes=passes).push_forward


@style()
def draw_surrogate_error() -> Figure:
    """Draw the errors of mean and deviation on the toy spectrum, and the sum of all means on wide ones."""
    figure = Figure(figsize=(9.6, 3.2), layout="constrained")
    of_mean, of_deviation, of_sum = figure.subplots(1, 3)
    sigma = spectra(leading_values(151, low=0.001))
    for k, color in ITERATIONS.items():
        mean_error = expectation(sigma, k, "surrogate") - expectation(sigma, k)
        deviation_error = np.sqrt(variance(sigma, k, "surrogate")) - np.sqrt(variance(sigma, k))
        of_mean.plot(sigma[:, 0], mean_error[:, 0], color=color, linewidth=1.8, label=f"$k = {k}$")
        of_deviation.plot(sigma[:, 0], deviation_error[:, 0], color=color, linewidth=1.8)
        sums = [expectation(1 / np.arange(1.0, width + 1), k, "surrogate").sum() for width in WIDTHS]
        of_sum.plot(WIDTHS, sums, color=color, linewidth=1.4, marker="o", markersize=3.5)
    for panel in (of_mean, of_deviation):
        panel.axhline(0, color=PLAIN, linewidth=0.8)
        panel.set(xlabel=SIGMA, xlim=(0, 3))
    of_mean.set_title("mean $\\lambda_1$: surrogate − exact")
    of_mean.legend(loc="upper right", fontsize=8)
    of_deviation.set_title("deviation $\\omega_1$: surrogate − exact")
    of_sum.axhline(1, color=PLAIN, linewidth=0.8)
    title = "sum of all $\\lambda_i$, $\\sigma_i = 1/i$ (exact: 1)"
    of_sum.set(xlabel="number of values $d$", xscale="log", title=title)
    of_sum.set_xticks([2, 8, 32, 128, 512], ["2", "8", "32", "128", "512"])
    of_sum.minorticks_off()
    return figure
