"""Figures of embeddings, and the style of all figures."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator
from numpy.typing import NDArray
from torch import Tensor

from sfa.atomic import atomic_path, ensure_writable
from sfa.errors import InputError
from sfa.evaluate import effective_rank, singular_values
from sfa.report.planar_map import plane

PLAIN, SPECTRAL = "#8a8f98", "#c8452f"
"""Colors of a method without and with a spectral map."""

CATEGORIES = (
    *("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee"),
    *("#aa3377", "#777777", "#332288", "#882255", "#44aa99"),
)
"""Colors of classes, distinguishable by color-blind readers (Paul Tol)."""

OPAQUE: Any = {"frameon": True, "framealpha": 1, "edgecolor": "none"}
"""Settings of a legend that hides lines behind it."""

_SETTINGS: Any = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "legend.frameon": False,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "svg.fonttype": "none",
    "svg.hashsalt": "sfa",
}

style = partial(mpl.rc_context, _SETTINGS)
"""Draw with the settings of the project: ``with style()``, or ``@style()`` for functions that return a ``Figure``."""

_METADATA: dict[str, dict[str, None]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Formats of figures, and the metadata that keep the time of writing out of them."""


def color_of(number: int) -> str:
    """Return the color of a class or curve; after the last comes the first again."""
    return CATEGORIES[number % len(CATEGORIES)]


def logarithmic_y(*panels: Axes) -> None:
    """Give panels that share it a logarithmic axis, or a linear one from 0 if not all values are positive."""
    curves = [np.asarray(line.get_ydata(), dtype=float) for panel in panels for line in panel.lines]
    values = np.concatenate([*curves, []])
    if not values.size or values.min() <= 0:
        panels[0].set_ylim(bottom=0)
        return
    panels[0].set_yscale("log")
    if values.max() < 1000 * values.min():
        panels[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        panels[0].yaxis.set_minor_locator(NullLocator())
        panels[0].yaxis.set_major_formatter("{x:g}")


def check_picture(path: Path) -> None:
    """Raise unless a picture can be written to ``path``."""
    if path.suffix.lower() not in _METADATA:
        raise InputError(f"Cannot tell the format of {path}: its name must end in {', '.join(_METADATA)}.")
    ensure_writable(path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture in one step, in the format of its suffix; the same figure gives the same bytes."""
    check_picture(path)
    # Ticks are made, and formats chosen, when a figure is written.
    with style(), atomic_path(path) as temporary:
        figure.savefig(temporary, bbox_inches="tight", metadata=_METADATA[path.suffix.lower()])


@style()
def draw_maps(
    embeddings: Mapping[str, NDArray[np.float32]],
    y: NDArray[np.int64],
    *,
    class_names: Sequence[str] | None = None,
    seed: int = 0,
) -> Figure:
    """Draw one t-SNE panel per embedding ``(n, d)``, colored by label; what has none (``-1``) in gray behind."""
    figure = Figure(figsize=(4.8 * len(embeddings), 5.0), layout="constrained")
    panels = figure.subplots(1, len(embeddings), squeeze=False)[0]
    for panel, (title, z) in zip(panels, embeddings.items(), strict=True):
        length = np.linalg.norm(z, axis=1, keepdims=True)
        xy = plane(z / np.where(length > 0, length, 1), seed=seed)
        panel.scatter(*xy[y == -1].T, s=4, color="#dddddd", linewidths=0)
        for number in sorted(set(y.tolist()) - {-1}):
            label = class_names[number] if class_names else f"class {number}"
            panel.scatter(*xy[y == number].T, s=5, color=color_of(number), linewidths=0, label=label)
        panel.set(title=title, xticks=[], yticks=[], aspect="equal")
        panel.spines[:].set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, markerscale=3, fontsize=8)
    return figure


@style()
def draw_spectra(pairs: Mapping[str, tuple[Tensor, Tensor]]) -> Figure:
    """Draw one panel per pair ``title → (embeddings without, embeddings with the map)``: σᵢ/σ₁ in falling order."""
    figure = Figure(figsize=(4.6 * len(pairs), 3.4), layout="constrained")
    panels = figure.subplots(1, len(pairs), sharey=True, squeeze=False)[0]
    for panel, (title, embeddings) in zip(panels, pairs.items(), strict=True):
        for h, label, color in zip(embeddings, ("without SFA", "with SFA"), (PLAIN, SPECTRAL), strict=True):
            sigma = singular_values(h)
            text = f"{label} (effective rank {effective_rank(sigma):.0f})"
            ranks = range(1, len(sigma) + 1)
            panel.plot(ranks, sigma / sigma[0].clamp_min(1e-300), color=color, label=text, linewidth=1.8)
        panel.set(title=title, xlabel="index i", xscale="log", yscale="log", ylim=(1e-3, 1.3))
        panel.legend(loc="lower left")
    panels[0].set_ylabel("singular value σᵢ / σ₁")
    return figure
