"""The effect of the layer on two views, step by step (the paper's Figure 1), computed on toy maps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from sfa.paper.figures import paper_figure
from sfa.plots import CATEGORIES, PLAIN, SPECTRAL
from sfa.spectral import SpectralFeatureAugmentation
from sfa.spectral.base import SpectralMap
from sfa.theory import push_forward
from sfa.theory.spectra import Array

WIDTH = 16  # width of the maps: singular vectors in pairs, each pair the plane of one rotation
ANGLE, NEAR = 40.0, 4.0  # degrees between the pairs of the views, and those at which the leading pair counts as aligned
STEP = 0.004  # size of a gradient step
DRAWS = 6  # draws of each view that are shown
SQUARE: Any = {"xlim": (-2.9, 2.9), "ylim": (-2.9, 2.9), "xticks": [-2, 0, 2], "yticks": [-2, 0, 2], "aspect": "equal"}


@dataclass(frozen=True)
class ToyViews:
    """Two views: ``H = U diag(σ) Vᵀ`` of alpha, and of beta the same with right singular vectors ``turn @ V``."""

    u: Tensor
    sigma: Tensor
    v: Tensor
    turn: Tensor

    @property
    def alpha(self) -> Tensor:
        return (self.u * self.sigma) @ self.v.T

    @property
    def beta(self) -> Tensor:
        return self.alpha @ self.turn.T

    def rebalanced(self) -> ToyViews:
        """Return both maps as the layer leaves them on average: the same vectors, values φ(σ; 1)."""
        return replace(self, sigma=torch.from_numpy(push_forward(self.sigma.numpy(), 1).mean))

    def angles(self) -> Array:
        """Compute the degrees between the singular vectors of the two views, the mean of each pair."""
        cosine = torch.einsum("di,di->i", self.v, self.turn @ self.v).clamp(-1, 1)
        degrees: Array = torch.rad2deg(cosine.acos()).reshape(-1, 2).mean(1).numpy()
        return degrees


def make_views(seed: int = 0) -> ToyViews:
    """Draw random singular vectors for values that fall like i^-½, every pair turned by :data:`ANGLE`."""
    generator = torch.Generator().manual_seed(seed)
    u, v = (torch.linalg.qr(torch.randn(WIDTH, WIDTH, dtype=torch.float64, generator=generator)).Q for _ in range(2))
    sigma = 2.6 * torch.arange(1, WIDTH + 1, dtype=torch.float64) ** -0.5
    angle = torch.deg2rad(torch.tensor(ANGLE, dtype=torch.float64))
    plane = torch.stack([torch.stack([angle.cos(), -angle.sin()]), torch.stack([angle.sin(), angle.cos()])])
    return ToyViews(u, sigma, v, v @ torch.kron(torch.eye(WIDTH // 2, dtype=torch.float64), plane) @ v.T)


def align(views: ToyViews, *, spectral: bool, seed: int = 0) -> Iterator[ToyViews]:
    """Descend the gradient by the turn of beta, and yield the views after each step, endlessly.

    The loss is the paper's alignment term, ``-Tr(H̃αᵀ H̃β)``. The maps go through the layer, with fresh directions for
    each view and step, if ``spectral``.
    """
    layer = SpectralFeatureAugmentation() if spectral else SpectralMap()
    generator = torch.Generator().manual_seed(seed)
    while True:
        skew = torch.zeros(WIDTH, WIDTH, dtype=torch.float64, requires_grad=True)
        beta = views.beta @ torch.matrix_exp(skew - skew.T).T
        loss = -(layer(views.alpha, generator=generator) * layer(beta, generator=generator)).sum()
        (gradient,) = torch.autograd.grad(loss, skew)
        views = replace(views, turn=torch.matrix_exp(-STEP * (gradient - gradient.T)) @ views.turn)
        yield views


def until_near(path: Iterator[ToyViews]) -> tuple[ToyViews, int]:
    """Return the first views on a path whose leading pair is aligned, and their step."""
    return next((views, step) for step, views in enumerate(path, start=1) if views.angles()[0] <= NEAR)


def _descend() -> tuple[tuple[ToyViews, int], tuple[ToyViews, int], tuple[ToyViews, int]]:
    """Return the views with the leading pair near, without and with the layer, and without it after as many steps."""
    views = make_views()
    plain, spectral = (until_near(align(views, spectral=spectral)) for spectral in (False, True))
    longer = next(islice(align(views, spectral=False), spectral[1] - 1, None))
    return plain, spectral, (longer, spectral[1])


def tell_of_implicit_steps() -> str:
    views, ends = make_views(), _descend()
    before, after = (", ".join(f"{value:.2f}" for value in each.sigma[:2]) for each in (views, views.rebalanced()))
    plain, spectral, longer = (end.angles()[-1] for end, _ in ends)
    return (
        f"On average the leading values {before} become {after}, and single draws stray: rebalanced and noisy, as the "
        f"caption says. When the leading pair is within {NEAR:g}° the last is {spectral:.0f}° off with SFA "
        f"and {plain:.0f}° without, a more even emphasis; but it takes {ends[1][1]} steps for "
        f"{ends[0][1]}, and as many without SFA leave {longer:.0f}° too: the layer holds the leading "
        "directions back and brings no other forward."
    )


@paper_figure(
    "1",
    "Singular values of unaligned views are rebalanced, noise is injected, and the singular vectors are aligned with "
    "equalized emphasis.",
    tell=tell_of_implicit_steps,
)
def draw_implicit_steps() -> Figure:
    """Draw two toy views through the layer: unaligned, rebalanced, with noise, aligned; and the angles of all pairs.

    An ellipse is the image of the unit ball under ``Hᵀ``, seen in the plane of view alpha's two leading singular
    vectors; its bars are the singular vectors, as long as their values.
    """
    views, (plain, spectral, longer) = make_views(), _descend()
    figure = Figure(figsize=(9.6, 5.6), layout="constrained")
    panels = figure.subplot_mosaic(
        [["unaligned", "rebalanced", "pairs"], ["noise", "aligned", "pairs"]], width_ratios=(1, 1, 1.25)
    )
    plane = views.v[:, :2]
    _draw_pair(panels["unaligned"], views, plane, "1  unaligned views")
    _draw_pair(panels["rebalanced"], views.rebalanced(), plane, "2  rebalanced (mean of $\\widetilde{H}$)")
    _draw_noise(panels["noise"], views, plane, f"3  noise: {DRAWS} draws of each $\\widetilde{{H}}$")
    _draw_pair(panels["aligned"], spectral[0].rebalanced(), plane, f"4  aligned: {spectral[1]} gradient steps")
    panels["unaligned"].legend(loc="lower right", fontsize=8, handlelength=1.2)

    index, pairs = np.arange(1, WIDTH // 2 + 1), panels["pairs"]
    pairs.plot(index, views.angles(), color="black", linestyle=":", label="at the start")
    curves = ((plain, PLAIN, "s-", "without"), (longer, PLAIN, "s--", "without"), (spectral, SPECTRAL, "o-", "with"))
    for (end, steps), color, line, what in curves:
        label = f"{what} SFA, {steps} steps"
        pairs.plot(index, end.angles(), line, color=color, markersize=4, linewidth=1.5, label=label)
    pairs.set(xlabel="pair of singular vectors", ylabel="degrees between the views", title="all pairs")
    pairs.set(xticks=index, ylim=(0, 42))
    pairs.legend(loc="upper left", fontsize=8, bbox_to_anchor=(0, 0.93))
    return figure


def _draw_pair(panel: Axes, views: ToyViews, plane: Tensor, title: str) -> None:
    sides = ((views.alpha, views.v, "\\alpha"), (views.beta, views.turn @ views.v, "\\beta"))
    for (h, v, name), color in zip(sides, CATEGORIES, strict=False):
        x, y = _outline(h, plane)
        panel.fill(x, y, color=color, alpha=0.12, linewidth=0)
        panel.plot(x, y, color=color, linewidth=1.8, label=f"$H^{name}$")
        for i, width in enumerate((1.6, 0.9)):
            end = (views.sigma[i] * (plane.T @ v[:, i])).numpy()
            panel.plot([0, end[0]], [0, end[1]], color=color, linewidth=width)
    panel.set(title=title, **SQUARE)


def _draw_noise(panel: Axes, views: ToyViews, plane: Tensor, title: str) -> None:
    layer, generator = SpectralFeatureAugmentation(), torch.Generator().manual_seed(0)
    for h, color in zip((views.alpha, views.beta), CATEGORIES, strict=False):
        for _ in range(DRAWS):
            panel.plot(*_outline(layer(h, generator=generator), plane), color=color, linewidth=1.0, alpha=0.7)
    panel.set(title=title, **SQUARE)


def _outline(h: Tensor, plane: Tensor) -> tuple[Tensor, Tensor]:
    """Compute the outline of the ellipsoid ``{Hᵀu : |u| = 1}`` in a plane."""
    value, vector = torch.linalg.eigh(plane.T @ h.T @ h @ plane)
    turn = torch.linspace(0, 2 * torch.pi, 181, dtype=h.dtype)
    x, y = (vector * value.clamp_min(0).sqrt()) @ torch.stack([turn.cos(), turn.sin()])
    return x, y
