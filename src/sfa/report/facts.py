"""Collect the facts of a run: its data, its recipe, how far it came, and the log of its training."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from pydantic import TypeAdapter, ValidationError
from torch_geometric.data import Data

from sfa.data import left_out_remark, remark
from sfa.errors import InputError
from sfa.evaluate import Diagnostics
from sfa.report.page import encode_array
from sfa.tasks import item_word, num_items, task_of
from sfa.train import RunFolder

if TYPE_CHECKING:
    from sfa.run.run import Run

LOOKS = 101
"""The most epochs whose feature maps are shown: a slider has no room for more."""

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
"""Curves of the page, and the attributes of :class:`~sfa.evaluate.Diagnostics` that they show."""


def facts(run: Run) -> dict[str, Any]:
    """Return the summary of a run: its settings, how far it came, and its data."""
    training, epoch, state = run.recipe.training, run.progress.epoch, "finished"
    remarks = [remark(run.data), left_out_remark(run.data)]
    if not run.progress.finished:
        state = "unfinished"
        remarks.insert(0, f"Training is not finished: embeddings and scores are of epoch {epoch} of {training.epochs}.")
    elif epoch < training.epochs:
        state, stopped = "stopped early", f"Stopped at epoch {epoch} of {training.epochs}"
        remarks.insert(0, f"{stopped}: no progress for {training.patience} epochs.")
    return {
        "method": run.recipe.method["name"],
        "spectral": run.recipe.spectral_label,
        "seed": training.seed,
        "epochs": epoch,
        "planned": training.epochs,
        "state": state,
        "remarks": [told for told in remarks if told is not None],
        "data": {"name": run.data.name, "rows": data_rows(run.data)},
        "recipe": yaml.safe_dump(run.recipe.as_dict(), sort_keys=False, allow_unicode=True),
        "command": command_line(run.record.get("command") or []),
        "versions": run.record.get("versions") or {},
    }


def data_rows(data: Data) -> list[list[str]]:
    """Return the names of counts, and the counts, of a graph, a set of graphs or a set of images."""
    rows: dict[str, Any] = {item_word(data): num_items(data)}
    if task_of(data) == "image":
        height, width, channels = data.x.shape[1:]
        masks = {"to train on": "train_mask", "to validate on": "val_mask", "to test on": "test_mask"}
        parts = {name: int(data[mask].sum()) for name, mask in masks.items() if data.get(mask) is not None}
        rows |= {"pixels": f"{height} × {width}", "channels": channels, **parts}
    else:
        rows |= {"nodes": data.num_nodes, "edges": data.num_edges // 2, "features": data.num_features}
    if data.get("y") is not None:
        labels = data.y[data.y >= 0]
        rows |= {"classes": len(labels.unique()), **({"labelled": len(labels)} if len(labels) < len(data.y) else {})}
    return [[name, str(value)] for name, value in rows.items()]


def command_line(words: Sequence[str]) -> str:
    """Return a command as it would be typed again, without the folder of the program."""
    program, *others = map(str, words or [""])
    name = "python -m sfa" if Path(program).name == "__main__.py" else Path(program).name
    return f"{name} {shlex.join(others)}".strip()


def history(folder: RunFolder) -> dict[str, Any]:
    """Return ``curve``, ``diagnostics``, ``seconds`` and, where there was an online probe, ``online``, from the log."""
    rows = folder.read_metrics()
    online = [row for row in rows if isinstance(row.get("online"), dict)]
    names = dict.fromkeys(name for row in online for name in row["online"])
    accuracies = {name: [row["online"].get(name) for row in online] for name in names}
    try:
        return {
            "seconds": float(rows[-1]["seconds"]) if rows else 0.0,
            "curve": {
                "epoch": encode_array([row["epoch"] for row in rows], "int32"),
                "loss": encode_array([row.get("loss", np.nan) for row in rows], "float32"),
            },
            "diagnostics": _diagnostics([row for row in rows if "diagnostics" in row]),
            **({"online": {"epochs": [row["epoch"] for row in online], **accuracies}} if online else {}),
        }
    except (TypeError, ValueError) as error:
        problem = error.errors()[0] if isinstance(error, ValidationError) else None
        reason = error if problem is None else f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        raise InputError(f"{folder.metrics} is damaged: {reason}.") from error


def _diagnostics(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the spectra, of few digits, and the numbers of some epochs, evenly spaced."""
    if not rows:
        return {"epochs": []}
    found = _DIAGNOSTICS.validate_python({"diagnostics": [row["diagnostics"] for row in rows]})["diagnostics"]
    chosen = np.unique(np.linspace(0, len(rows) - 1, LOOKS).round().astype(int))
    looks = [found[i] for i in chosen]
    curves = {name: [getattr(row, key) for row in looks] for name, key in CURVES.items()}
    return {
        "epochs": [rows[i]["epoch"] for i in chosen],
        # A rotation keeps the spectrum.
        "spectral_map": any((row.sigma, row.alignment) != (row.sigma_tilde, row.alignment_tilde) for row in found),
        "spectrum_before": [[float(f"{value:.5g}") for value in row.sigma] for row in looks],
        "spectrum_after": [[float(f"{value:.5g}") for value in row.sigma_tilde] for row in looks],
        # A method of a single view has no alignment.
        **{name: [] if None in values else values for name, values in curves.items()},
    }


_DIAGNOSTICS = TypeAdapter(dict[str, list[Diagnostics]])
