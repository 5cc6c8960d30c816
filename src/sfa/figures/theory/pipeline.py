"""The model as a drawing: two views, one encoder, SFA, one projector, the loss (the paper's Figure 2a)."""

from __future__ import annotations

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from sfa.augment.node import mask_features, remove_edges
from sfa.figures.style import CATEGORIES, PLAIN, SPECTRAL
from sfa.figures.theory.simulation import DECAY
from sfa.spectral import power_iteration
from sfa.theory.spectra import Array

NODES = np.array([(0.05, 0.5), (0.3, 0.95), (0.38, 0.4), (0.62, 0.72), (0.7, 0.1), (0.98, 0.55), (0.2, 0.05)])
EDGES = np.array([(0, 1), (0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 5), (4, 5), (0, 6), (6, 4), (2, 6)])
FEATURES = 6
EDGE_DROP, FEATURE_DROP = 0.3, 0.3
"""What the two views of the drawing lose, by the functions that training uses."""
SHOWN = 8
"""Singular values in the small spectra."""
UP, DOWN = 2.55, 0.85
"""Heights of view alpha and view beta."""


def draw_pipeline(panel: Axes) -> None:
    """From left to right: both views go through the same encoder and projector, and each has a draw of its own."""
    panel.set(xlim=(-0.1, 11.4), ylim=(0, 3.6), aspect="equal")
    panel.axis("off")
    generator = torch.Generator().manual_seed(21)
    _draw_graph(panel, 0.0, 1.7, np.ones(len(EDGES)), np.ones(FEATURES), "graph $G$", "black")
    for height, name, colour in ((UP, "\\alpha", CATEGORIES[0]), (DOWN, "\\beta", CATEGORIES[1])):
        edges, features = _view(generator)
        _arrow(panel, (1.05, 1.7), (2.15, height))
        _draw_graph(panel, 2.2, height, edges, features, f"$G^{name}$", colour)
        _arrow(panel, (3.25, height), (3.75, height))
        _arrow(panel, (4.85, height), (5.2, height))
        before, after = _spectra(generator)
        _draw_bars(panel, 5.25, height, before, f"$H^{name}$", PLAIN)
        _arrow(panel, (6.05, height), (6.4, height))
        _box(panel, 6.45, height, 0.75, 0.62, "SFA", SPECTRAL)
        _arrow(panel, (7.2, height), (7.55, height))
        _draw_bars(panel, 7.6, height, after, f"$\\widetilde{{H}}^{name}$", SPECTRAL)
        _arrow(panel, (8.4, height), (8.75, height))
        _arrow(panel, (9.95, height), (10.3, 1.7 + 0.25 * np.sign(height - 1.7)))
        panel.text(10.14, height + 0.02 * np.sign(height - 1.7), f"$Z^{name}$", fontsize=9, ha="left", va="center")
    panel.text(1.5, 2.55, "$\\mathcal{A}_G$", fontsize=10, ha="center")
    panel.text(1.5, 0.72, "$\\mathcal{A}_G$", fontsize=10, ha="center")
    _box(panel, 3.8, 1.7, 1.05, 2.35, "encoder\n(GCN)\n\nshared", "black")
    _box(panel, 8.8, 1.7, 1.15, 2.35, "projector\n\nshared", "black")
    _box(panel, 10.35, 1.7, 0.95, 0.8, "loss", "black")


def _view(generator: torch.Generator) -> tuple[Array, Array]:
    """Which edges and features a random view keeps."""
    both = torch.from_numpy(np.concatenate([EDGES, EDGES[:, ::-1]]).T.copy())
    kept = remove_edges(both, len(NODES), EDGE_DROP, generator=generator)
    mask = mask_features(FEATURES, FEATURE_DROP, generator=generator)
    assert kept is not None
    assert mask is not None
    return kept[: len(EDGES)].double().numpy(), mask.double().numpy()


def _spectra(generator: torch.Generator) -> tuple[Array, Array]:
    """The leading singular values of a power-law map and of one draw of Algorithm 1 on it."""
    h = torch.diag(torch.from_numpy(DECAY))
    h_tilde = power_iteration(h, generator=generator)
    after: Array = torch.linalg.svdvals(h_tilde).numpy()
    return DECAY[:SHOWN], after[:SHOWN]


def _draw_graph(panel: Axes, x: float, y: float, edges: Array, features: Array, label: str, colour: str) -> None:
    places = NODES * (0.95, 0.75) + (x, y - 0.3)
    for (a, b), kept in zip(EDGES, edges, strict=True):
        x_ends, y_ends = places[[a, b]].T
        panel.plot(x_ends, y_ends, "-" if kept else ":", color=colour if kept else PLAIN, linewidth=0.9, zorder=1)
    panel.scatter(places[:, 0], places[:, 1], s=16, color=colour, zorder=2)
    for place, kept in enumerate(features):
        panel.add_patch(
            FancyBboxPatch(
                (x + 0.2 + 0.11 * place, y - 0.56), 0.07, 0.09, boxstyle="square,pad=0", linewidth=0.6,
                edgecolor=colour if kept else PLAIN, facecolor=colour if kept else "white",
            )
        )  # fmt: skip
    panel.text(x + 0.5, y + 0.56, label, fontsize=10, ha="center", va="bottom")


def _draw_bars(panel: Axes, x: float, y: float, values: Array, label: str, colour: str) -> None:
    heights = 0.9 * values / DECAY[0]
    panel.bar(x + 0.1 * np.arange(len(values)) + 0.04, heights, width=0.07, bottom=y - 0.45, color=colour)
    panel.text(x + 0.45, y + 0.4, label, fontsize=10, ha="center", va="bottom")


def _box(panel: Axes, x: float, y: float, width: float, height: float, label: str, colour: str) -> None:
    panel.add_patch(
        FancyBboxPatch(
            (x, y - height / 2), width, height, boxstyle="round,pad=0,rounding_size=0.1", linewidth=1.2,
            edgecolor=colour, facecolor="white",
        )
    )  # fmt: skip
    panel.text(x + width / 2, y, label, fontsize=9.5, ha="center", va="center", color=colour)


def _arrow(panel: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    panel.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=8, linewidth=1, color="black"))
