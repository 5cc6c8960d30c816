r"""Integrals over :math:`(-\infty, \infty)` of functions that are products of powers of :math:`1 + e^{u+b}`.

All expectations of this part are such integrals. On a logarithmic axis they are smooth everywhere and straight lines
far away from the corners :math:`u = -b`, whatever the scales involved. So panels of Gauss-Legendre nodes surround the
corners, and the straight stretches between them are integrated in closed form.
"""

from __future__ import annotations

import numpy as np
from scipy.special import roots_legendre

from sfa.law.spectra import Array

FLAT = 40.0
"""Distance from a corner at which a factor is a straight line: exp(-40) is below the rounding of 1."""

PANEL = 2.0
"""Width of a panel. The integrands are analytic and bounded for imaginary parts up to about pi/2, where 16 nodes on a
width of 2 are exact to rounding."""

_NODES, _WEIGHTS = roots_legendre(16)


def segments(corners: Array, before: float, after: float) -> list[tuple[float, float]]:
    """Stretches to be covered with panels: ``FLAT`` around each corner, ``before`` the first, ``after`` the last."""
    merged: list[tuple[float, float]] = []
    last = len(corners) - 1
    for place, corner in enumerate(sorted(corners)):
        low = corner - (before if place == 0 else FLAT)
        high = corner + (after if place == last else FLAT)
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return merged


def panels(low: float, high: float) -> tuple[Array, Array]:
    """Nodes and weights on one stretch."""
    edges = np.linspace(low, high, int(np.ceil((high - low) / PANEL)) + 1)
    middle, half = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + half[:, None] * _NODES).ravel(), (half[:, None] * _WEIGHTS).ravel()


def straight(length: float | Array, log_ends: Array) -> Array:
    """Integral of exponentials over a stretch, from the logarithms of their values at its ends ``(..., 2)``."""
    top = log_ends.max(axis=-1)
    with np.errstate(invalid="ignore"):
        drop = np.nan_to_num(np.abs(log_ends[..., 1] - log_ends[..., 0]), nan=0.0)  # nan: zero at both ends
    mean = np.where(drop > 0, -np.expm1(-drop) / np.where(drop > 0, drop, 1), 1.0)
    integral: Array = length * np.exp(top) * mean
    return integral
