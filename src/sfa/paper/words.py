"""How runs and their values are written for people."""

from __future__ import annotations


def run_name(kind: str, method: str | None, spectral: str | None) -> str:
    """Return a run in a few letters: ``grace + sfa``, ``raw features``."""
    if kind == "trained" or method is None:
        return kind if method is None else method if spectral in (None, "none") else f"{method} + {spectral}"
    return f"{kind}, {run_name('trained', method, spectral)}"


def mean_and_std(mean: float | None, std: float | None) -> str:
    """Return ``83.20 ± 1.05``; small numbers keep three digits."""
    if mean is None:
        return ""
    digits = ".2f" if abs(mean) >= 1 else ".3g"
    return f"{mean:{digits}}" if std is None else f"{mean:{digits}} ± {std:{digits}}"
