"""The model from graph to loss, and what Algorithm 1 makes of a spectrum (the paper's Figure 2)."""

from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from sfa.augment.node import mask_features, remove_edges
from sfa.paper.figures.named import make_panels, paper_figure
from sfa.paper.figures.toy import DECAY, DRAWS, ITERATIONS, draw_spectrum
from sfa.plots import CATEGORIES, PLAIN, SPECTRAL
from sfa.spectral import power_iteration
from sfa.theory import push_forward, simulate

NODES = np.array([(0.05, 0.5), (0.3, 0.95), (0.38, 0.4), (0.62, 0.72), (0.7, 0.1), (0.98, 0.55), (0.2, 0.05)])
EDGES = np.array([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5), (0, 6), (6, 4), (2, 6)])
FEATURES, DROP = 6, 0.3  # features of the graph, and the fraction of edges and features that the two views lose
SHOWN = 8  # singular values in the small spectra


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
        edges = remove_edges(both_ways, len(NODES), DROP, generator=generator)
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
