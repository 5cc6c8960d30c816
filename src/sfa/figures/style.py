"""One look for all pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from sfa.atomic import atomic_path, ensure_writable
from sfa.errors import InputError

PLAIN, SPECTRAL = "#8a8f98", "#c8452f"
"""Colours of a method without and with a spectral map."""

CATEGORIES = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#777777",
    "#332288",
    "#882255",
    "#44aa99",
)
"""Colours of classes, distinguishable by colour-blind readers (Paul Tol)."""

OPAQUE: Any = {"frameon": True, "framealpha": 1, "edgecolor": "none"}
"""Of a legend that must hide a line behind it."""

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

_WITHOUT_DATE: dict[str, dict[str, None]] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
"""Formats that pictures are written in, and what keeps the time of writing out of them."""


@contextmanager
def style() -> Iterator[None]:
    """Draw inside with the project's settings, and leave matplotlib's as they were.

    Also a decorator, ``@style()``, for functions that draw and return a ``Figure``.
    """
    with mpl.rc_context(_SETTINGS):
        yield


def logarithmic_y(*panels: Axes) -> None:
    """A logarithmic axis shared by these panels; where it spans a few decades, with plain numbers between powers of 10.

    Values that are not all positive cannot be drawn so: they get a linear axis from 0.
    """
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
    if path.suffix.lower() not in _WITHOUT_DATE:
        raise InputError(f"Cannot tell the format of {path}: its name must end in {', '.join(_WITHOUT_DATE)}.")
    ensure_writable(path)


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture in one step, in the format of its suffix; the same figure gives the same bytes."""
    check_picture(path)
    # Settings are read here too: ticks are made, and formats chosen, when a figure is written.
    with style(), atomic_path(path) as temporary:
        figure.savefig(temporary, bbox_inches="tight", metadata=_WITHOUT_DATE[path.suffix.lower()])
