"""One look for all pictures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from sfa.atomic import atomic_path

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
}


@contextmanager
def style() -> Iterator[None]:
    """Draw inside with the project's settings, and leave matplotlib's as they were."""
    with mpl.rc_context(_SETTINGS):
        yield


def save_figure(figure: Figure, path: Path) -> None:
    """Write a picture in one step, in the format of its suffix."""
    with atomic_path(path) as temporary:
        figure.savefig(temporary, bbox_inches="tight")
