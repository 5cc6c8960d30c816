"""The model and Algorithm 1 (the paper's Figure 2), and its toy illustration of the propositions (Figure 3)."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from torch_geometric.data import Data

from sfa.augment.node import mask_features, remove_edges
from sfa.paper.figures import make_panels, paper_figure
from sfa.plots import CATEGORIES, OPAQUE, PLAIN, SPECTRAL
from sfa.spectral import power_iteration
from sfa.theory import density, expectation, push_forward, simulate
from sfa.theory.spectra import Array

LEADING, OTHERS = 2.0, (1.5, 0.9, 0.2, 0.01)  # the caption's σ₁ of Figure 3a, and its σ₂ … σ₅; elsewhere σ₁ is varied
ITERATIONS = {1: "#c8452f", 2: "#228833", 4: "#4477aa", 8: "#aa3377"}  # the caption's numbers k, and their colors
SIGMA = "$\\sigma_1$"
DRAWS = 1000
DECAY: Array = 3 * np.arange(1.0, 31.0) ** -0.8  # a spectrum that falls by a power law, as those of feature maps do
NODES = np.array([(0.05, 0.5), (0.3, 0.95), (0.38, 0.4), (0.62, 0.72), (0.7, 0.1), (0.98, 0.55), (0.2, 0.05)])
EDGES = np.array([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5), (0, 6), (6, 4), (2, 6)])
FEATURES, DROP = 6, 0.3  # features of the graph, and the fraction of edges and features that the two views lose
SHOWN = 8  # singular values in the small spectra


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


@paper_figure(
    "3",
    "For k = 1 and 1 ≤ σ₁ ≤ 3, φ is around 0.8 with a high deviation; for k ≥ 2 both effects decline; theory and "
    "Algorithm 1 match.",
    tell=lambda: f"{tell_of_push_forward()} {tell_of_simulation()}",
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


def tell_of_model() -> str:
    leading = simulate(DECAY, 1, DRAWS).spectrum[:, 0].mean()
    both = (DECAY, push_forward(DECAY, 1).mean)
    before, after = (", ".join(f"{value:.2f}" for value in values[:3]) for values in both)
    return (
        f"The leading values {before} of this spectrum become {after} on average: cut rather than equalized, as they "
        f"fall steeply. No single draw has a leading value below the second, {DECAY[1]:.2f}: the mean of {DRAWS} is "
        f"{leading:.2f}."
    )


@paper_figure(
    "2",
    "Two views, shared encoders, SFA, projection head, contrastive loss; SFA partially equalises the spectrum of each "
    "feature map and injects noise.",
    tell=tell_of_model,
)
def draw_model() -> Figure:
    """Draw the model from graph to loss, and a power-law spectrum before and after Algorithm 1."""
    figure, (left, right) = make_panels(11.2, 3.0, 1, 2, width_ratios=(3.1, 1))
    _draw_pipeline(left)
    left.set_title("(a)  the model")
    draw_spectrum(right, 1, ITERATIONS[1])
    right.set(title="(b)  Algorithm 1, $k = 1$", ylabel="singular value")
    right.set_xticks([1, 3, 10, 30], ["1", "3", "10", "30"])
    right.minorticks_off()
    right.legend(loc="upper right", fontsize=8)
    return figure


def _draw_pipeline(panel: Axes) -> None:
    """Draw both views, from left to right: the same encoder and projector, and each has a draw of its own."""
    panel.set(xlim=(-0.1, 11.4), ylim=(0, 3.6), aspect="equal")
    panel.axis("off")
    generator = torch.Generator().manual_seed(21)
    both_ways = torch.from_numpy(np.concatenate([EDGES, EDGES[:, ::-1]]).T.copy())
    _draw_graph(panel, 0.0, 1.7, [True] * len(EDGES), [True] * FEATURES, "graph $G$", "black")
    for height, name, color in ((2.55, "\\alpha", CATEGORIES[0]), (0.85, "\\beta", CATEGORIES[1])):
        edges = remove_edges(Data(edge_index=both_ways, num_nodes=len(NODES)), DROP, generator)
        features = mask_features(FEATURES, DROP, generator=generator)
        _arrow(panel, (1.05, 1.7), (2.15, height))
        _draw_graph(panel, 2.2, height, edges, features, f"$G^{name}$", color)
        h = torch.diag(torch.from_numpy(DECAY))
        after = torch.linalg.svdvals(power_iteration(h, generator=generator)).numpy()
        _draw_bars(panel, 5.25, height, DECAY, f"$H^{name}$", PLAIN)
        _box(panel, 6.45, height, 0.75, 0.62, "SFA", SPECTRAL)
        _draw_bars(panel, 7.6, height, after, f"$\\widetilde{{H}}^{name}$", SPECTRAL)
        for start, end in ((3.25, 3.75), (4.85, 5.2), (6.05, 6.4), (7.2, 7.55), (8.4, 8.75)):
            _arrow(panel, (start, height), (end, height))
        side = np.sign(height - 1.7)
        _arrow(panel, (9.95, height), (10.3, 1.7 + 0.25 * side))
        panel.text(10.14, height + 0.02 * side, f"$Z^{name}$", fontsize=9, ha="left", va="center")
    for height in (2.55, 0.72):
        panel.text(1.5, height, "$\\mathcal{A}_G$", fontsize=10, ha="center")
    _box(panel, 3.8, 1.7, 1.05, 2.35, "encoder\n(GCN)\n\nshared", "black")
    _box(panel, 8.8, 1.7, 1.15, 2.35, "projector\n\nshared", "black")
    _box(panel, 10.35, 1.7, 0.95, 0.8, "loss", "black")


def _draw_graph(panel: Axes, x: float, y: float, edges: Any, features: Any, label: str, color: str) -> None:
    """Draw a graph and its features; edges that are not kept are dotted, and features that are not kept empty."""
    places = NODES * (0.95, 0.75) + (x, y - 0.3)
    for ends, kept in zip(EDGES, edges, strict=False):
        panel.plot(*places[ends].T, "-" if kept else ":", color=color if kept else PLAIN, linewidth=0.9, zorder=1)
    panel.scatter(places[:, 0], places[:, 1], s=16, color=color, zorder=2)
    for place, kept in enumerate(features):
        colors: Any = {"edgecolor": color, "facecolor": color} if kept else {"edgecolor": PLAIN, "facecolor": "white"}
        corner = x + 0.2 + 0.11 * place, y - 0.56
        panel.add_patch(FancyBboxPatch(corner, 0.07, 0.09, boxstyle="square,pad=0", linewidth=0.6, **colors))
    panel.text(x + 0.5, y + 0.56, label, fontsize=10, ha="center", va="bottom")


def _draw_bars(panel: Axes, x: float, y: float, values: Any, label: str, color: str) -> None:
    heights = 0.9 * values[:SHOWN] / DECAY[0]
    panel.bar(x + 0.1 * np.arange(SHOWN) + 0.04, heights, width=0.07, bottom=y - 0.45, color=color)
    panel.text(x + 0.45, y + 0.4, label, fontsize=10, ha="center", va="bottom")


def _box(panel: Axes, x: float, y: float, width: float, height: float, label: str, color: str) -> None:
    look: Any = {"boxstyle": "round,pad=0,rounding_size=0.1", "edgecolor": color, "facecolor": "white"}
    panel.add_patch(FancyBboxPatch((x, y - height / 2), width, height, linewidth=1.2, **look))
    panel.text(x + width / 2, y, label, fontsize=9.5, ha="center", va="center", color=color)


def _arrow(panel: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    panel.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=8, linewidth=1, color="black"))
