"""What can be said of a run in a few words: its data, its recipe, how far it came, how it was made."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from torch_geometric.data import Data

from sfa.data import left_out_remark, remark
from sfa.levels import level_of, num_items
from sfa.run.run import Run


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
