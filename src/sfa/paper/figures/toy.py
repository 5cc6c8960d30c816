"""The paper's toy illustration of its propositions (Figure 3), whole and in parts: density, theory, Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sfa.plots import OPAQUE, PLAIN, style
from sfa.theory import density, expectation, push_forward, simulate
from sfa.theory.spectra import Array

OTHERS = (1.5, 0.9, 0.2, 0.01)
"""The values σ₂ … σ₅ of the caption; σ₁ is varied."""
ITERATIONS = {1: "#c8452f", 2: "#228833", 4: "#4477aa", 8: "#aa3377"}
"""The numbers of power iterations k of the caption, and their colors."""
SIGMA = "$\\sigma_1$"
LEADING = 2.0
"""The value σ₁ of Figure 3a."""
FLAT = (1.0, 3.0)
"""Where the caption says that φ is flat for ``k = 1``."""
DRAWS = 1000
DECAY: Array = 3 * np.arange(1.0, 31.0) ** -0.8
"""A spectrum that falls by a power law, as those of feature maps do."""


def leading_values(count: int, low: float = 0.0, high: float = 3.0) -> Array:
    """Return ``count`` values of σ₁ over the caption's range."""
    return np.linspace(low, high, count)


def spectra(leading: Array) -> Array:
    """Return the toy spectrum ``(m, 5)`` for each σ₁ of ``leading``."""
    return np.column_stack([leading, np.tile(OTHERS, (len(leading), 1))])


def grid_by_iterations(height: float, *draw: Callable[[Axes, int, str], None]) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with a row for each function that draws a panel, and a column for each k."""
    figure = Figure(figsize=(9.6, height), layout="constrained")
    rows = figure.subplots(len(draw), len(ITERATIONS), sharey="row", squeeze=False).tolist()
    for row, draw_panel in zip(rows, draw, strict=True):
        for panel, (k, color) in zip(row, ITERATIONS.items(), strict=True):
            draw_panel(panel, k, color)
    return figure, rows


@style()
def draw_toy() -> Figure:
    """Draw rows for the law of the fraction removed of σ₁ = 2, φ ± σ₁ω in theory, φ′ by Algorithm 1."""
    figure, rows = grid_by_iterations(7.8, draw_law, draw_theory, draw_points)
    for panel in (*rows[1], *rows[2]):
        panel.set_title("")
    rows[1][0].legend(loc="upper left", fontsize=8)
    rows[2][-1].legend(loc="upper right", fontsize=7.5, **OPAQUE)
    rows[0][0].set_ylabel(f"(a)  density of $z$ at $\\sigma_1 = {LEADING:g}$")
    rows[1][0].set_ylabel("(b)  $\\phi(\\sigma_1, k)$, theory")
    rows[2][0].set_ylabel("(c)  $\\phi'(\\sigma_1, k)$, drawn")
    return figure


def tell_of_toy() -> str:
    return f"{tell_of_push_forward()} {tell_of_simulation()}"


@style()
def draw_density() -> Figure:
    """Draw the exact density and the paper's surrogate of ``z`` for σ₁ = 2 (Figure 3a)."""
    figure, (panels,) = grid_by_iterations(2.9, draw_law)
    panels[0].set_ylabel(f"density of $z$ at $\\sigma_1 = {LEADING:g}$")
    return figure


def draw_law(panel: Axes, k: int, color: str) -> None:
    """Draw both densities and the mean."""
    z = np.sin(np.linspace(0, np.pi / 2, 402)[1:-1]) ** 2  # dense at both ends, where the density is steep
    sigma = (LEADING, *OTHERS)
    exact, surrogate = (density(z, sigma, 0, k, method) for method in ("exact", "surrogate"))
    panel.fill_between(z, exact, color=color, alpha=0.12, linewidth=0)
    panel.plot(z, exact, color=color, linewidth=1.8, label="exact")
    panel.plot(z, surrogate, color="black", linewidth=1.1, linestyle=":", label="surrogate")
    mean = expectation(sigma, k)[0]
    panel.axvline(mean, color=color, linewidth=1, linestyle="--", label=f"mean {mean:.3f}")
    panel.set(title=f"$k = {k}$", xlabel="share removed $z$", xlim=(0, 1), ylim=(0, 4), xticks=[0, 0.5, 1])
    panel.legend(loc="upper center", fontsize=8, handlelength=1.4, bbox_to_anchor=(0.42, 1.0), **OPAQUE)


def tell_of_density() -> str:
    """Say how much is removed on average, and how the surrogate errs."""
    exact, surrogate = (
        [float(expectation((LEADING, *OTHERS), k, method)[0]) for k in ITERATIONS] for method in ("exact", "surrogate")
    )
    widest = max(theirs - ours for ours, theirs in zip(exact, surrogate, strict=True))
    return (
        f"Of σ₁ = {LEADING:g} the share {', '.join(f'{value:.3f}' for value in exact)} goes on average for k = "
        f"{', '.join(map(str, ITERATIONS))}; the paper's surrogate is off by up to {widest:.3f}, and its density as "
        "printed does not integrate to 1: ours is put right."
    )


@style()
def draw_push_forward() -> Figure:
    """Draw the exact φ(σ₁; k) ± σ₁ω for 0 ≤ σ₁ ≤ 3 (Figure 3b)."""
    figure, (panels,) = grid_by_iterations(2.9, draw_theory)
    for panel in panels:
        panel.legend(loc="upper left", fontsize=8)
    panels[0].set_ylabel("$\\phi(\\sigma_1, k)$")
    return figure


def draw_theory(panel: Axes, k: int, color: str) -> None:
    """Draw the exact mean as a line, the deviation as a band, an unchanged value dotted."""
    leading = leading_values(241)
    mean, deviation = (values[:, 0] for values in push_forward(spectra(leading), k))
    panel.plot([0, 3], [0, 3], color=PLAIN, linewidth=0.8, linestyle=":")
    panel.fill_between(leading, mean - deviation, mean + deviation, color=color, alpha=0.15, linewidth=0)
    panel.plot(leading, mean, color=color, linewidth=1.8, label="$\\phi \\pm \\sigma_1\\omega_1$, exact")
    panel.set(title=f"$k = {k}$", xlabel=SIGMA, xlim=(0, 3), ylim=(0, 2.2), xticks=[0, 1, 2, 3])


def tell_of_push_forward() -> str:
    """Say how flat φ is where it is said to be, and where its deviation does not decline."""
    few, many = min(ITERATIONS), max(ITERATIONS)
    leading = leading_values(81, *FLAT)
    phi, omega = (values[:, 0] for values in push_forward(spectra(leading), few))
    late = push_forward(spectra(leading), many).deviation[:, 0]
    worst = int((late - omega).argmax())
    return (
        f"For k = {few} and {FLAT[0]:g} ≤ σ₁ ≤ {FLAT[1]:g}, φ lies between {phi.min():.2f} and {phi.max():.2f}, flat "
        f"as the caption says, with a deviation of {omega.min():.2f} to {omega.max():.2f}; that the noise declines "
        f"with k does not hold near the runner-up: at σ₁ = {leading[worst]:.2f} the deviation is {omega[worst]:.2f} "
        f"for k = {few} and {late[worst]:.2f} for k = {many}."
    )


@style()
def draw_simulation() -> Figure:
    """Draw φ′(σ₁) from Algorithm 1 over the theory (Figure 3c), and below a power-law spectrum before and after."""
    figure, (above, below) = grid_by_iterations(5.6, draw_points, draw_spectrum)
    above[-1].legend(loc="upper right", fontsize=7.5, **OPAQUE)
    above[0].set_ylabel("$\\phi'(\\sigma_1, k)$")
    below[0].legend(loc="upper right", fontsize=7.5)
    below[0].set_ylabel("singular value")
    return figure


def draw_points(panel: Axes, k: int, color: str) -> None:
    """Draw mean and deviation of many draws for some σ₁, over the exact curve."""
    draw_theory(panel, k, color)
    leading, drawn = _drawn(k)
    draw_mean_and_deviation(panel, leading, drawn.T, markersize=3, color="black", label=f"Algorithm 1, {DRAWS} draws")
    panel.set(xlim=(0, 3.05), ylim=(0, 2.6))


def draw_spectrum(panel: Axes, k: int, color: str) -> None:
    """Draw a power-law spectrum, where Algorithm 1 sends its values, and the spectrum that single draws have."""
    index = np.arange(1.0, len(DECAY) + 1)
    result = simulate(DECAY, k, DRAWS)
    panel.plot(index, DECAY, color=PLAIN, linewidth=1.2, label="$\\sigma_i$ of $H$")
    draw_mean_and_deviation(
        panel, index, result.push_forward, markersize=2.5, color=color, label="$u_i^\\top\\widetilde{H} v_i$"
    )
    mean, label = result.spectrum.mean(axis=0)[:-1], "$\\sigma_i$ of $\\widetilde{H}$"
    panel.plot(index[:-1], mean, color="black", linewidth=0.9, linestyle="--", label=label)
    panel.set(xlabel="index $i$", xscale="log", ylim=(0, 3.2))


def draw_mean_and_deviation(panel: Axes, x: Array, drawn: Array, *, markersize: float, color: str, label: str) -> None:
    """Draw a point with a bar for each column of ``drawn`` ``(draws, m)``."""
    panel.errorbar(
        x, drawn.mean(axis=0), drawn.std(axis=0), fmt="o", markersize=markersize, color=color, linewidth=0.8,
        label=label,
    )  # fmt: skip


def tell_of_simulation() -> str:
    """Say how far the draws are from the exact law, and the paper's surrogate from it."""
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
    """Return some σ₁, and what many draws make of each."""
    leading = leading_values(13, low=0.001)
    drawn = [simulate(sigma, k, DRAWS, seed=seed).push_forward[:, 0] for seed, sigma in enumerate(spectra(leading))]
    return leading, np.stack(drawn)
