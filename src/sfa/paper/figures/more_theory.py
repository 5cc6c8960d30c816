"""Further figures of the theory: rivals of SFA, bounds, power law, gentle passes, error of the surrogate."""

from collections.abc import Callable

import numpy as np
from matplotlib.figure import Figure

from sfa.paper.figures import make_panels, paper_figure
from sfa.paper.figures.toy import DECAY, ITERATIONS, SIGMA, plot_by_iterations, plot_draws, spectra
from sfa.plots import PLAIN, SPECTRAL
from sfa.theory import PushForward, expectation, leveled, push_forward, rivals, simulate, variance
from sfa.theory.push_forward import jensen_bound, upper_bound
from sfa.theory.spectra import Array

ROWS = 1000  # rows of the maps in Figure 7
LEADING, MOST = 3.0, 10_000  # the leading value of Figure 8, and the most values below it in its right panel
WIDTHS = (2, 4, 8, 16, 32, 64, 128, 256, 512)
PASSES, TOTAL, DRAWS = (8, 16, 64), 8.0, 200  # passes of the layer, directions that they remove in all, draws of each


def tell_of_variants() -> str:
    sigma, curves = _variants()
    five = list(curves.values())[:5]
    flat = [f"{each.mean[0] / each.mean[9]:.1f}" for each in five]
    sfa, maxexp, _, norm, norm_star = ([each.deviation[i] / each.mean[i] for i in (0, 9)] for each in five)
    return (
        f"The first value is {sigma[0] / sigma[9]:.1f} times the tenth, and after SFA, MaxExp(F), Grassmann and the "
        f"Power Norms {', '.join(flat[:4])} and {flat[4]} times: as curves both Power Norms are like MaxExp(F). Noise "
        f"over value is {sfa[0]:.2f} at the first and {sfa[1]:.3f} at the tenth for SFA, but {norm_star[0]:.2f} at "
        f"both for Power Norm.*, and {maxexp[0]:.2f} and {maxexp[1]:.2f} for MaxExp(F) against {norm[0]:.2f} and "
        f"{norm[1]:.2f} for Power Norm.: the likeness is loose."
    )


@paper_figure(
    "7",
    "SFA, MaxExp(F) and Grassmann and the noise they inject; Power Norm. and Power Norm.* resemble MaxExp(F) and SFA.",
    tell=tell_of_variants,
)
def draw_variants() -> Figure:
    """Draw the push-forward functions of SFA and of its rivals, with their noise as a band."""
    sigma, curves = _variants()
    figure, grid = make_panels(9.6, 5.4, 2, 5, sharex=True)
    for panel, (title, (mean, deviation)) in zip(grid.ravel(), curves.items(), strict=True):
        color = SPECTRAL if title.startswith("sfa") else "#4477aa"
        panel.fill_between(sigma, mean - deviation, mean + deviation, color=color, alpha=0.2, linewidth=0)
        panel.plot(sigma, mean, color=color, linewidth=1.6, marker="o", markersize=2.2)
        panel.plot([0, 3], [0, 3], color=PLAIN, linewidth=0.8, linestyle=":")
        top = float((mean + deviation).max())
        panel.set(title=title, xlim=(0, 3.1), ylim=(-0.03 * top, 1.12 * top))
    for panel in grid[1]:
        panel.set_xlabel("$\\sigma_i$")
    for panel in grid[:, 0]:
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


def tell_of_bound() -> str:
    toy = spectra(np.array([LEADING]))
    phi, axmin = push_forward(toy, 1).mean[0, 0], upper_bound(toy)[0, 0]
    count = next(count for count in range(1, MOST) if _above_ones(count, 1) > 1)
    return (
        f"On the caption's five values the bound holds: for k = 1 and σ₁ = {LEADING:g} φ is {phi:.2f} and the bound "
        f"{axmin:.2f}. In general it is false: above {count} equal values of 1 a leading value of {LEADING:g} "
        f"is no longer brought down to 1, and above {MOST} of them it keeps {_above_ones(MOST, 1):.2f}; Jensen's "
        "bound, dashed, holds."
    )


@paper_figure("8", "φ(σ₁; k) lies below min(σ₁, max of the others).", tell=tell_of_bound)
def draw_bound() -> Figure:
    """Draw the push-forward function under the paper's bound, which can fail, and under ours."""
    figure, (left, right) = make_panels(9.0, 3.6, 1, 2)
    leading, dashed = np.linspace(0.001, 3, 241), {"linewidth": 1, "linestyle": "--", "label": None}
    toy = spectra(leading)
    left.plot(leading, upper_bound(toy)[:, 0], color="black", linewidth=1.6, label="AxMin, the paper's")
    plot_by_iterations(left, leading, lambda k: push_forward(toy, k).mean[:, 0])
    plot_by_iterations(left, leading, lambda k: jensen_bound(toy, k)[:, 0], **dashed)
    left.plot([], [], color=PLAIN, linewidth=1, linestyle="--", label="Jensen, ours")
    left.set(xlabel=SIGMA, ylabel="$\\phi(\\sigma_1; k)$", title="the caption's five values", xlim=(0, 3), ylim=(0, 2))
    left.legend(loc="upper left", fontsize=8)

    counts = np.unique(np.geomspace(1, MOST, 17).round().astype(int))
    plot_by_iterations(right, counts, lambda k: [_above_ones(count, k) for count in counts])
    above = [np.append(LEADING, np.ones(count)) for count in counts]
    plot_by_iterations(right, counts, lambda k: [jensen_bound(sigma, k)[0] for sigma in above], **dashed)
    right.axhline(1.0, color="black", linewidth=1.6)
    right.text(1, 1.04, "AxMin", va="bottom")
    right.set(xlabel="number of values $\\sigma_j = 1$", ylabel=f"$\\phi$ of $\\sigma_1 = {LEADING:g}$")
    right.set(title="one leading value above many equal ones", xscale="log", ylim=(0, 3.1))
    return figure


def _above_ones(count: int, k: int) -> float:
    """Return φ of the leading value above so many ones: of equal others the surrogate is exact, and takes no time."""
    return float(push_forward(np.append(LEADING, np.ones(count)), k, "surrogate").mean[0])


def tell_of_power_law() -> str:
    weights, ks = ", ".join(f"{0.5 ** (2 * k):.2g}" for k in ITERATIONS), ", ".join(map(str, ITERATIONS))
    return f"A direction with half the leading value keeps {weights} of its weight for k = {ks}."


@paper_figure("10", "(σᵢ/σ₁)²ᵏ follows a power law.", tell=tell_of_power_law)
def draw_power_law() -> Figure:
    """Draw how fast directions fade from the power iteration."""
    figure, panel = make_panels(4.6, 3.4, 1, 1)
    ratio = np.linspace(0, 1, 301)
    plot_by_iterations(panel, ratio, lambda k: ratio ** (2 * k))
    panel.set(xlabel="$\\sigma_i / \\sigma_1$", ylabel="$(\\sigma_i / \\sigma_1)^{2k}$", xlim=(0, 1), ylim=(0, 1.02))
    panel.legend(loc="upper left")
    return figure


def tell_of_levelling() -> str:
    flow = _flow()
    noise = ", ".join(f"{_simulate(passes)[:, :10].std(axis=0).mean():.2f} in {passes}" for passes in PASSES)
    return (
        f"The ratio of the first singular value to the tenth falls from {DECAY[0] / DECAY[9]:.1f} to "
        f"{flow[0] / flow[9]:.1f}; mean deviation of the ten leading ones: {noise} passes."
    )


@paper_figure(tell=tell_of_levelling)
def draw_levelling() -> Figure:
    """Draw the same levelling of a spectrum by harsh and by gentle passes of the layer, beside the limit of many."""
    figure, panels = make_panels(9.6, 3.1, 1, len(PASSES), sharey=True)
    index, label = np.arange(1.0, len(DECAY) + 1), "$u_i^\\top\\widetilde{H} v_i$"
    for panel, passes in zip(panels, PASSES, strict=True):
        panel.plot(index, DECAY, color=PLAIN, linewidth=1.2, label="$\\sigma_i$ of $H$")
        panel.plot(index, _flow(), color="black", linewidth=1, label="flow")
        plot_draws(panel, index, _simulate(passes), markersize=2.5, color=SPECTRAL, label=label)
        panel.set(xlabel="index $i$", xscale="log", ylim=(0, 3.2))
        panel.set_title(f"{passes} passes of strength {TOTAL / passes:g}")
    panels[0].legend(loc="upper right", fontsize=7.5)
    panels[0].set_ylabel("singular value")
    return figure


def _flow() -> Array:
    """Return the spectrum after very many very gentle passes."""
    return leveled(DECAY, 1, strength=TOTAL / 800, passes=800)


def _simulate(passes: int) -> Array:
    """Return where draws of so many passes send the values, ``(draws, m)``."""
    return simulate(DECAY, 1, DRAWS, strength=TOTAL / passes, passes=passes).push_forward


@paper_figure()
def draw_surrogate_error() -> Figure:
    """Draw how far the paper's Gamma surrogate is from the exact law."""
    figure, (of_mean, of_deviation, of_sum) = make_panels(9.6, 3.2, 1, 3)
    sigma = spectra(np.linspace(0.001, 3, 151))

    def error(compute: Callable[..., Array]) -> Callable[[int], Array]:
        return lambda k: (compute(sigma, k, "surrogate") - compute(sigma, k))[:, 0]

    plot_by_iterations(of_mean, sigma[:, 0], error(expectation))
    plot_by_iterations(of_deviation, sigma[:, 0], error(lambda *given: np.sqrt(variance(*given))))
    for panel, what in ((of_mean, "mean $\\lambda_1$"), (of_deviation, "deviation $\\omega_1$")):
        panel.axhline(0, color=PLAIN, linewidth=0.8)
        panel.set(xlabel=SIGMA, xlim=(0, 3), title=f"{what}: surrogate − exact")
    of_mean.legend(loc="upper right", fontsize=8)
    wide = [1 / np.arange(1.0, width + 1) for width in WIDTHS]
    marks = {"linewidth": 1.4, "marker": "o", "markersize": 3.5}
    plot_by_iterations(of_sum, WIDTHS, lambda k: [expectation(one, k, "surrogate").sum() for one in wide], **marks)
    of_sum.axhline(1, color=PLAIN, linewidth=0.8)
    of_sum.set(
        xlabel="number of values $d$", xscale="log", title="sum of all $\\lambda_i$, $\\sigma_i = 1/i$ (exact: 1)"
    )
    of_sum.set_xticks([2, 8, 32, 128, 512], ["2", "8", "32", "128", "512"])
    of_sum.minorticks_off()
    return figure
