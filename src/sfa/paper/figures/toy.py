"""The paper's toy illustration of its propositions (Figure 3), whole and in parts: density, theory, Algorithm 1."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.paper.figures.named import make_panels, paper_figure
from sfa.plots import OPAQUE, PLAIN
from sfa.theory import density, expectation, push_forward, simulate
from sfa.theory.spectra import Array

LEADING, OTHERS = 2.0, (1.5, 0.9, 0.2, 0.01)  # the caption's σ₁ of Figure 3a, and its σ₂ … σ₅; elsewhere σ₁ is varied
ITERATIONS = {1: "#c8452f", 2: "#228833", 4: "#4477aa", 8: "#aa3377"}
"""The caption's numbers of power iterations k, and their colors."""
SIGMA = "$\\sigma_1$"
DRAWS = 1000
DECAY: Array = 3 * np.arange(1.0, 31.0) ** -0.8  # a spectrum that falls by a power law, as those of feature maps do


def spectra(leading: Array) -> Array:
    """Return the toy spectrum ``(m, 5)`` for each σ₁ of ``leading``."""
    return np.column_stack([leading, np.tile(OTHERS, (len(leading), 1))])


def plot_by_iterations(panel: Axes, x: Any, y: Callable[[int], Any], **options: Any) -> None:
    """Draw the curve ``y(k)`` over ``x`` for each number of iterations k."""
    for k, color in ITERATIONS.items():
        panel.plot(x, y(k), color=color, **{"linewidth": 1.8, "label": f"$k = {k}$", **options})


def plot_draws(panel: Axes, x: Array, drawn: Array, **options: Any) -> None:
    """Draw the mean as a point and the deviation as a bar for each column of ``drawn`` ``(draws, m)``."""
    panel.errorbar(x, drawn.mean(axis=0), drawn.std(axis=0), fmt="o", linewidth=0.8, **options)


def _grid(height: float, *draw: Callable[[Axes, int, str], None]) -> tuple[Figure, Any]:
    """Return a figure with a row for each function that draws a panel, and a column for each k."""
    figure, rows = make_panels(9.6, height, len(draw), len(ITERATIONS), sharey="row", squeeze=False)
    for row, draw_panel in zip(rows, draw, strict=True):
        for panel, (k, color) in zip(row, ITERATIONS.items(), strict=True):
            draw_panel(panel, k, color)
    return figure, rows


def tell_of_toy() -> str:
    return f"{tell_of_push_forward()} {tell_of_simulation()}"


@paper_figure(
    "3",
    "For k = 1 and 1 ≤ σ₁ ≤ 3, φ is around 0.8 with a high deviation; for k ≥ 2 both effects decline; theory and "
    "Algorithm 1 match.",
    tell=tell_of_toy,
)
def draw_toy() -> Figure:
    """Draw the toy spectrum: density, push-forward function and Algorithm 1 in one picture."""
    figure, rows = _grid(7.8, _draw_law, _draw_theory, _draw_points)
    for panel in (*rows[1], *rows[2]):
        panel.set_title("")
    rows[1][0].legend(loc="upper left", fontsize=8)
    rows[2][-1].legend(loc="upper right", fontsize=7.5, **OPAQUE)
    rows[0][0].set_ylabel(f"(a)  density of $z$ at $\\sigma_1 = {LEADING:g}$")
    rows[1][0].set_ylabel("(b)  $\\phi(\\sigma_1, k)$, theory")
    rows[2][0].set_ylabel("(c)  $\\phi'(\\sigma_1, k)$, drawn")
    return figure


def tell_of_density() -> str:
    exact, surrogate = (
        [float(expectation((LEADING, *OTHERS), k, method)[0]) for k in ITERATIONS] for method in ("exact", "surrogate")
    )
    widest = max(theirs - ours for ours, theirs in zip(exact, surrogate, strict=True))
    return (
        f"Of σ₁ = {LEADING:g} the share {', '.join(f'{value:.3f}' for value in exact)} goes on average for k = "
        f"{', '.join(map(str, ITERATIONS))}; the paper's surrogate is off by up to {widest:.3f}, and its density as "
        "printed does not integrate to 1: ours is put right."
    )


@paper_figure("3a", "Distribution of z given σ₁ = 2.", tell=tell_of_density)
def draw_density() -> Figure:
    """Draw the law of the fraction that one call of Algorithm 1 removes of a singular value, exact and surrogate."""
    figure, (panels,) = _grid(2.9, _draw_law)
    panels[0].set_ylabel(f"density of $z$ at $\\sigma_1 = {LEADING:g}$")
    return figure


def _draw_law(panel: Axes, k: int, color: str) -> None:
    z = np.sin(np.linspace(0, np.pi / 2, 402)[1:-1]) ** 2  # dense at both ends, where the density is steep
    sigma = (LEADING, *OTHERS)
    exact, surrogate = (density(z, sigma, 0, k, method) for method in ("exact", "surrogate"))
    mean = expectation(sigma, k)[0]
    panel.fill_between(z, exact, color=color, alpha=0.12, linewidth=0)
    panel.plot(z, exact, color=color, linewidth=1.8, label="exact")
    panel.plot(z, surrogate, color="black", linewidth=1.1, linestyle=":", label="surrogate")
    panel.axvline(mean, color=color, linewidth=1, linestyle="--", label=f"mean {mean:.3f}")
    panel.set(title=f"$k = {k}$", xlabel="share removed $z$", xlim=(0, 1), ylim=(0, 4), xticks=[0, 0.5, 1])
    panel.legend(loc="upper center", fontsize=8, handlelength=1.4, bbox_to_anchor=(0.42, 1.0), **OPAQUE)


def tell_of_push_forward() -> str:
    few, many, leading = min(ITERATIONS), max(ITERATIONS), np.linspace(1, 3, 81)
    phi, omega = (values[:, 0] for values in push_forward(spectra(leading), few))
    late = push_forward(spectra(leading), many).deviation[:, 0]
    worst = int((late - omega).argmax())
    return (
        f"For k = {few} and 1 ≤ σ₁ ≤ 3, φ lies between {phi.min():.2f} and {phi.max():.2f}, flat as the caption says, "
        f"with a deviation of {omega.min():.2f} to {omega.max():.2f}; that the noise declines with k does not hold "
        f"near the runner-up: at σ₁ = {leading[worst]:.2f} the deviation is {omega[worst]:.2f} for k = {few} and "
        f"{late[worst]:.2f} for k = {many}."
    )


@paper_figure("3b", "Expected value φ(σ₁, k) and its deviation for 0 ≤ σ₁ ≤ 3.", tell=tell_of_push_forward)
def draw_push_forward() -> Figure:
    """Draw where the leading singular value goes in expectation, and its deviation."""
    figure, (panels,) = _grid(2.9, _draw_theory)
    for panel in panels:
        panel.legend(loc="upper left", fontsize=8)
    panels[0].set_ylabel("$\\phi(\\sigma_1, k)$")
    return figure


def _draw_theory(panel: Axes, k: int, color: str) -> None:
    leading = np.linspace(0, 3, 241)
    mean, deviation = (values[:, 0] for values in push_forward(spectra(leading), k))
    panel.plot([0, 3], [0, 3], color=PLAIN, linewidth=0.8, linestyle=":")
    panel.fill_between(leading, mean - deviation, mean + deviation, color=color, alpha=0.15, linewidth=0)
    panel.plot(leading, mean, color=color, linewidth=1.8, label="$\\phi \\pm \\sigma_1\\omega_1$, exact")
    panel.set(title=f"$k = {k}$", xlabel=SIGMA, xlim=(0, 3), ylim=(0, 2.2), xticks=[0, 1, 2, 3])


def tell_of_simulation() -> str:
    errors = []
    for k in ITERATIONS:
        leading, drawn = _simulate(k)
        exact, surrogate = (push_forward(spectra(leading), k, method).mean[:, 0] for method in ("exact", "surrogate"))
        errors.append([np.abs(drawn.mean(axis=0) - exact).max(), np.abs(surrogate - exact).max()])
    of_draws, of_surrogate = np.max(errors, axis=0)
    return (
        f"Algorithm 1 follows the exact law: the means of {DRAWS} draws lie within {of_draws:.3f} of φ, which is "
        f"sampling error; the paper's surrogate of φ is up to {of_surrogate:.3f} off."
    )


@paper_figure("3c", "The same by Algorithm 1 on a random matrix.", tell=tell_of_simulation)
def draw_simulation() -> Figure:
    """Draw Algorithm 1 itself on random matrices over the theory, and a power-law spectrum before and after."""
    figure, (above, below) = _grid(5.6, _draw_points, draw_spectrum)
    above[-1].legend(loc="upper right", fontsize=7.5, **OPAQUE)
    above[0].set_ylabel("$\\phi'(\\sigma_1, k)$")
    below[0].legend(loc="upper right", fontsize=7.5)
    below[0].set_ylabel("singular value")
    return figure


def _draw_points(panel: Axes, k: int, color: str) -> None:
    _draw_theory(panel, k, color)
    plot_draws(panel, *_simulate(k), markersize=3, color="black", label=f"Algorithm 1, {DRAWS} draws")
    panel.set(xlim=(0, 3.05), ylim=(0, 2.6))


def draw_spectrum(panel: Axes, k: int, color: str) -> None:
    """Draw a power-law spectrum, where Algorithm 1 sends its values, and the spectrum that single draws have."""
    index, result = np.arange(1.0, len(DECAY) + 1), simulate(DECAY, k, DRAWS)
    mean, label = result.spectrum.mean(axis=0)[:-1], "$\\sigma_i$ of $\\widetilde{H}$"
    panel.plot(index, DECAY, color=PLAIN, linewidth=1.2, label="$\\sigma_i$ of $H$")
    plot_draws(panel, index, result.push_forward, markersize=2.5, color=color, label="$u_i^\\top\\widetilde{H} v_i$")
    panel.plot(index[:-1], mean, color="black", linewidth=0.9, linestyle="--", label=label)
    panel.set(xlabel="index $i$", xscale="log", ylim=(0, 3.2))


def _simulate(k: int) -> tuple[Array, Array]:
    """Return 13 values of σ₁, and what Algorithm 1 makes of each, ``(draws, 13)``."""
    leading = np.linspace(0.001, 3, 13)
    drawn = [simulate(sigma, k, DRAWS, seed=seed).push_forward[:, 0] for seed, sigma in enumerate(spectra(leading))]
    return leading, np.stack(drawn, axis=1)
