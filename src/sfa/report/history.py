"""What a run's log tells of its training: losses, feature maps, an online probe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfa.errors import InputError
from sfa.figures import RunLog, read_runs
from sfa.report.page import encode_array
from sfa.train import RunFolder

LOOKS = 101
"""Epochs whose feature maps are shown at most, evenly spaced: a slider has no room for more."""

CURVES = {
    "effective_rank_before": "effective_rank",
    "effective_rank_after": "effective_rank_tilde",
    "alignment_before": "alignment",
    "alignment_after": "alignment_tilde",
    "relative_alignment": "alignment_relative",
    "relative_alignment_after": "alignment_relative_tilde",
    "uniformity": "uniformity",
    "uniformity_after": "uniformity_tilde",
}
"""Numbers by epochs, and how :class:`~sfa.evaluate.Diagnostics` calls them."""


def history(folder: RunFolder) -> dict[str, Any]:
    """``curve``, ``diagnostics``, ``seconds`` and, where there was one, ``online``."""
    rows = folder.read_metrics()
    online = [row for row in rows if isinstance(row.get("online"), dict)]
    try:
        seconds = float(rows[-1]["seconds"]) if rows else 0.0
        epochs = encode_array([row["epoch"] for row in rows], "int32")
        losses = encode_array([row.get("loss", np.nan) for row in rows], "float32")
    except (TypeError, ValueError) as error:
        raise InputError(f"{folder.metrics} is damaged: {error}.") from error
    return {
        "seconds": seconds,
        "curve": {"epoch": epochs, "loss": losses},
        "diagnostics": _diagnostics(folder) if any("diagnostics" in row for row in rows) else {"epochs": []},
        **({"online": _online(online)} if online else {}),
    }


def _diagnostics(folder: RunFolder) -> dict[str, Any]:
    (log,) = read_runs([folder.path])
    log = _thinned(log)
    curves = {name: [getattr(row, key) for row in log.diagnostics] for name, key in CURVES.items()}
    return {
        "epochs": log.epochs,
        "spectral_map": log.has_spectral_map,
        "spectrum_before": [_shortened(row.sigma) for row in log.diagnostics],
        "spectrum_after": [_shortened(row.sigma_tilde) for row in log.diagnostics],
        # A method of a single view has no alignment.
        **{name: [] if None in values else values for name, values in curves.items()},
    }


def _shortened(sigma: Sequence[float]) -> list[float]:
    """More digits than a plot can show would be most of the page."""
    return [float(f"{value:.5g}") for value in sigma]


def _thinned(log: RunLog) -> RunLog:
    chosen = np.unique(np.linspace(0, len(log.epochs) - 1, LOOKS).round().astype(int))
    return replace(log, epochs=[log.epochs[i] for i in chosen], diagnostics=[log.diagnostics[i] for i in chosen])


def _online(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Each accuracy by epochs, ``null`` where it was not looked at."""
    names = dict.fromkeys(name for row in rows for name in row["online"])
    return {
        "epochs": [row["epoch"] for row in rows],
        **{name: [row["online"].get(name) for row in rows] for name in names},
    }
