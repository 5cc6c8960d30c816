"""What the layer does to two views, step by step (the paper's Figure 1), computed on toy maps."""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from sfa.figures.style import CATEGORIES, PLAIN, SPECTRAL, style
from sfa.figures.theory.toy_views import NEAR, ToyViews, align, make_views, until_near
from sfa.spectral import SpectralFeatureAugmentation
from sfa.theory.spectra import Array

ALPHA, BETA = CATEGORIES[0], CATEGORIES[1]
DRAWS = 6
"""Draws of each view that are shown."""


@style()
def draw_implicit_steps() -> Figure:
    """Ellipses: the two leading directions of both maps, unaligned, rebalanced, with noise, aligned. Right: all pairs.

    An ellipse is the image of the unit ball under ``Hᵀ``, seen in the plane of view alpha's two leading singular
    vectors; its bars are the singular vectors, as long as their values.
    """
    views = make_views()
    aligned, steps = until_near(align(views, spectral=True))
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    panels = figure.subplot_mosaic(
        [["unaligned", "rebalanced", "pairs"], ["noise", "aligned", "pairs"]], width_ratios=(1, 1, 1.25)
    )
    plane = views.v[:, :2]
    _draw_pair(panels["unaligned"], views, plane)
    panels["unaligned"].set_title("1  unaligned views")
    _draw_pair(panels["rebalanced"], views.rebalanced(), plane)
    panels["rebalanced"].set_title("2  rebalanced (mean of $\\widetilde{H}$)")
    _draw_noise(panels["noise"], views, plane)
    panels["noise"].set_title(f"3  noise: {DRAWS} draws of each $\\widetilde{{H}}$")
    _draw_pair(panels["aligned"], aligned.rebalanced(), plane)
    panels["aligned"].set_title(f"4  aligned: {steps} gradient steps")
    for name in ("unaligned", "rebalanced", "noise", "aligned"):
        panels[name].set(xlim=(-2.9, 2.9), ylim=(-2.9, 2.9), xticks=[-2, 0, 2], yticks=[-2, 0, 2], aspect="equal")
    panels["unaligned"].legend(loc="lower right", fontsize=8, handlelength=1.2)
    _draw_angles(panels["pairs"])
    return figure


def _draw_pair(panel: Axes, views: ToyViews, plane: Tensor) -> None:
    for h, v, colour, label in (
        (views.alpha, views.v, ALPHA, "$H^\\alpha$"),
        (views.beta, views.turn @ views.v, BETA, "$H^\\beta$"),
    ):
        x, y = _shadow(h, plane)
        panel.fill(x, y, color=colour, alpha=0.12, linewidth=0)
        panel.plot(x, y, color=colour, linewidth=1.8, label=label)
        for i in range(2):
            end = (views.sigma[i] * (plane.T @ v[:, i])).numpy()
            panel.plot([0, end[0]], [0, end[1]], color=colour, linewidth=1.6 if i == 0 else 0.9)


def _draw_noise(panel: Axes, views: ToyViews, plane: Tensor) -> None:
    layer, generator = SpectralFeatureAugmentation(), torch.Generator().manual_seed(0)
    for h, colour in ((views.alpha, ALPHA), (views.beta, BETA)):
        for _ in range(DRAWS):
            panel.plot(*_shadow(layer(h, generator=generator), plane), color=colour, linewidth=1.0, alpha=0.7)


def _draw_angles(panel: Axes) -> None:
    start, plain, spectral, longer = _ends()
    index = np.arange(1, len(start.angles) + 1)
    panel.plot(index, start.angles, color="black", linestyle=":", label="at the start")
    for end, colour, line, label in (
        (plain, PLAIN, "s-", f"without SFA, {plain.steps} steps"),
        (longer, PLAIN, "s--", f"without SFA, {longer.steps} steps"),
        (spectral, SPECTRAL, "o-", f"with SFA, {spectral.steps} steps"),
    ):
        panel.plot(index, end.angles, line, color=colour, markersize=4, linewidth=1.5, label=label)
    panel.set(
        xlabel="pair of singular vectors", ylabel="degrees between the views", title="all pairs",
        xticks=index, ylim=(0, 42),
    )  # fmt: skip
    panel.legend(loc="upper left", fontsize=8, bbox_to_anchor=(0, 0.93))


class _End(NamedTuple):
    """Where gradient descent has come: its steps, and the degrees left of each pair."""

    steps: int
    angles: Array


def _ends() -> tuple[_End, _End, _End, _End]:
    """The start; the leading pair near, without and with the layer; and without it after as many steps as with it."""
    views = make_views()
    plain, few = until_near(align(views, spectral=False))
    spectral, many = until_near(align(views, spectral=True))
    longer = next(islice(align(views, spectral=False), many - 1, None))
    return (
        _End(0, views.angles()),
        _End(few, plain.angles()),
        _End(many, spectral.angles()),
        _End(many, longer.angles()),
    )


def tell_of_implicit_steps() -> str:
    """Which of the three steps are seen, and what the last one costs."""
    views = make_views()
    before, after = (", ".join(f"{value:.2f}" for value in each.sigma[:2]) for each in (views, views.rebalanced()))
    _, plain, spectral, longer = _ends()
    return (
        f"On average the leading values {before} become {after}, and single draws stray: rebalanced and noisy, as the "
        f"caption says. When the leading pair is within {NEAR:g}° the last is {spectral.angles[-1]:.0f}° off with SFA "
        f"and {plain.angles[-1]:.0f}° without, a more even emphasis; but it takes {spectral.steps} steps for "
        f"{plain.steps}, and as many without SFA leave {longer.angles[-1]:.0f}° too: the layer holds the leading "
        "directions back and brings no other forward."
    )


def _shadow(h: Tensor, plane: Tensor) -> tuple[Tensor, Tensor]:
    """The outline of the ellipsoid ``{Hᵀu : |u| = 1}`` in a plane."""
    value, vector = torch.linalg.eigh(plane.T @ h.T @ h @ plane)
    turn = torch.linspace(0, 2 * torch.pi, 181, dtype=h.dtype)
    circle = torch.stack([turn.cos(), turn.sin()])
    x, y = (vector * value.clamp_min(0).sqrt()) @ circle
    return x, y
