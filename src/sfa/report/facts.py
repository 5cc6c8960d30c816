"""What can be said of a run in a few words: its data, its recipe, how far it came, how it was made."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from torch_geometric.data import Data

from sfa.data import left_out_remark, remark
from sfa.errors import InputError
from sfa.figures import RunLog, read_runs
from sfa.levels import level_of, num_items
from sfa.report.page import encode_array
from sfa.run.run import Run
from sfa.train import RunFolder


def facts(run: Run) -> dict[str, Any]:
    """What a report opens with."""
    training, record = run.recipe.training, run.folder.record
    return {
        "method": run.recipe.method["name"],
        "spectral": run.recipe.spectral_name,
        "seed": training.seed,
        "epochs": run.progress.epoch,
        "planned": training.epochs,
        "state": _state(run),
        "remarks": _remarks(run),
        "data": {"name": run.graph.name, "rows": data_rows(run.graph)},
        "recipe": yaml.safe_dump(run.recipe.as_dict(), sort_keys=False, allow_unicode=True),
        "command": command_line(record.get("command") or []),
        "versions": record.get("versions") or {},
    }


def data_rows(data: Data) -> list[list[str]]:
    """Names of counts, and the counts, of a graph, a set of graphs or a set of images."""
    level = level_of(data)
    rows: dict[str, Any] = {f"{level}s": num_items(data)}
    if level == "image":
        height, width, channels = data.x.shape[1:]
        rows |= {"pixels": f"{height} × {width}", "channels": channels}
        for name, mask in (("to train on", "train_mask"), ("to validate on", "val_mask"), ("to test on", "test_mask")):
            if data.get(mask) is not None:
                rows[name] = int(data[mask].sum())
    else:
        rows |= {"nodes": data.num_nodes, "edges": data.num_edges // 2, "features": data.num_features}
    if data.get("y") is not None:
        labelled = data.y >= 0
        rows["classes"] = len(data.y[labelled].unique())
        if not bool(labelled.all()):
            rows["labelled"] = int(labelled.sum())
    return [[name, str(value)] for name, value in rows.items()]


def command_line(words: Sequence[str]) -> str:
    """A command as it would be typed again, whatever folder the program lay in."""
    if not words:
        return ""
    program, *others = map(str, words)
    program = "python -m sfa" if Path(program).name == "__main__.py" else Path(program).name
    return " ".join([program, shlex.join(others)]).strip()


def _state(run: Run) -> str:
    if not run.progress.finished:
        return "unfinished"
    return "finished" if run.progress.epoch >= run.recipe.training.epochs else "stopped early"


def _remarks(run: Run) -> list[str]:
    epoch, training = run.progress.epoch, run.recipe.training
    how_far = {
        "finished": None,
        "stopped early": f"Stopped at epoch {epoch} of {training.epochs}: no progress for {training.patience} epochs.",
        "unfinished": f"Training is not finished: embeddings and scores are of epoch {epoch} of {training.epochs}.",
    }
    remarks = (how_far[_state(run)], remark(run.graph), left_out_remark(run.graph))
    return [told for told in remarks if told is not None]


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
