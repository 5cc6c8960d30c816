"""Collect everything that a report shows of its runs, as plain values for JSON."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
import yaml
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import left_out_remark, remark
from sfa.errors import InputError
from sfa.evaluate import Classification, Diagnostics, Protocol, Score, score_difference
from sfa.evaluate.inputs import has_targets
from sfa.evaluate.part import NODES, cut_rows, embed_rows, is_large, remark_on_part
from sfa.evaluate.protocols.base import ProbeProtocol
from sfa.evaluate.splits import Split
from sfa.explore import cluster
from sfa.graph.structure import structure_of
from sfa.report.page import encode_array, finite
from sfa.report.planar_map import planar_map, turned_like
from sfa.tasks import item_word, num_items, task_of
from sfa.train import RunFolder
from sfa.train.run_folder import require_valid

if TYPE_CHECKING:
    from sfa.run.health import Health
    from sfa.run.run import Run

MOST_CLASSES = 60  # the most classes of a confusion matrix that can be read
PARTS = ("train", "validation", "test", None)  # the parts of a split, in the order of their numbers
LOOKS = 101  # the most epochs whose feature maps are shown: a slider has no room for more

CURVES = {  # curves of the page, and the attributes of :class:`~sfa.evaluate.Diagnostics` that they show
    "effective_rank_before": "effective_rank",
    "effective_rank_after": "effective_rank_tilde",
    "alignment_before": "alignment",
    "alignment_after": "alignment_tilde",
    "relative_alignment": "alignment_relative",
    "relative_alignment_after": "alignment_relative_tilde",
    "uniformity": "uniformity",
    "uniformity_after": "uniformity_tilde",
}


@dataclass(frozen=True)
class ReportedRun:
    """A run of a report, with its scores."""

    name: str  # that no other run of the report has
    run: Run
    scores: Sequence[Score] = ()  # of the baselines, and last its own
    no_scores: str | None = None  # why there are none
    health: Health | None = None  # what is said without labels


def report_data(
    runs: Sequence[ReportedRun],
    *,
    protocol: Protocol | None = None,
    note: str | None = None,
    commands: Sequence[str] = (),
    made: datetime | None = None,
    tell: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """Collect the data that :func:`~sfa.report.write_report` puts on a page, of runs on the same data.

    The probe of the protocol predicts labels. ``note`` goes with a comparison of several runs, ``commands`` make this
    report again, ``made`` is its time, by default now, and ``tell`` is called with messages of progress.
    """
    first, items = runs[0].run, item_word(runs[0].run.data)
    data, rows, embeddings, maps = first.data, None, [], list[tuple[NDArray[np.float64], str]]()
    if is_large(data):  # a page shows some
        rows = torch.randperm(data.num_nodes, generator=torch.Generator().manual_seed(0))[:NODES].sort().values
        data = cut_rows(data, rows)
    for reported in runs:
        tell(f"{reported.name}: embedding {num_items(data)} {items}")
        method = reported.run.method
        if rows is None:
            z = method.embed(reported.run.data)
        else:
            z = embed_rows(method.embed, reported.run.data, rows, whole=method.transductive)
        z = z.detach().cpu().float()
        if not bool(z.isfinite().all()):
            raise InputError(f"The embeddings of {reported.name} are not finite: there is nothing to show of them.")
        embeddings.append(z)
    for reported, z in zip(runs, embeddings, strict=True):
        tell(f"{reported.name}: mapping its {items}")
        points, how = planar_map(z.numpy(), items=items)
        maps.append((turned_like(points, maps[0][0]) if maps else points, how))  # all lie as the first does
    several = len(runs) > 1
    found = {
        "title": f"{first.data.name}, {f'{len(runs)} runs' if several else first.name}",
        "made": (made or datetime.now(timezone.utc)).astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "sfa": version("sfa"),
        "commands": list(commands),
        "items": items,
        **({} if protocol is None else {"protocol": {"name": protocol.name, "description": protocol.description}}),
        "runs": [
            {
                "name": reported.name,
                **facts(reported.run),
                **history(reported.run.folder),
                "scores": _score_rows(reported.scores),
                **({} if reported.no_scores is None else {"no_scores": reported.no_scores}),
                "map": {
                    "x": encode_array(points[:, 0], "float32"),
                    "y": encode_array(points[:, 1], "float32"),
                    "how": how,
                },
                **({} if reported.run.chance is None else {"chance": reported.run.chance}),
                **({} if reported.health is None else {"health": _health(reported.health)}),
                **_items(reported.run.data if rows is None else data, z),
                **_predictions(z, reported, reported.run.data if rows is None else data, protocol),
            }
            for reported, z, (points, how) in zip(runs, embeddings, maps, strict=True)
        ],
        **({"comparison": _comparison_rows(runs), "comparison_note": note or ""} if several else {}),
    }
    return dict(finite(found))


def _score_rows(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """Return an entry for each embedding and metric; the last embedding is the run's own."""
    return [
        {
            "embedding": score.name,
            "protocol": score.protocol,
            "metric": metric,
            "values": list(values),
            "mean": score.mean(metric),
            "std": score.std(metric),
            "own": score is scores[-1],
        }
        for score in scores
        for metric, values in score.values.items()
    ]


def _comparison_rows(runs: Sequence[ReportedRun]) -> list[dict[str, Any]]:
    """Return a row for each run and metric, with the paired difference from the first run; none for it itself."""
    rows = []
    for reported in [one for one in runs if one.scores and runs[0].scores]:
        score = reported.scores[-1]
        for metric in score.values:
            found = score_difference(score, runs[0].scores[-1], metric)
            difference = {"difference": [found.mean, found.low, found.high], "p": found.p_value}
            row = {"run": reported.name, "metric": metric, "mean": score.mean(metric), "std": score.std(metric)}
            rows.append({**row, **(dict.fromkeys(difference) if reported is runs[0] else difference)})
    return rows


def _health(health: Health) -> dict[str, Any]:
    """Return the table of a run without labels, what looks wrong, and remarks."""
    rows = health.frame.reset_index().to_numpy().tolist()
    return {"columns": list(health.frame), "rows": rows, "warnings": health.warnings, "remarks": health.remarks}


def _items(data: Data, z: Tensor) -> dict[str, Any]:
    """Return the ids of the items, or their number if they are just numbered, and labels, or else other groups."""
    ids = list(data[f"{task_of(data)}_ids"])
    named: dict[str, Any] = {"ids": {"range": len(ids)} if ids == list(range(len(ids))) else ids}
    if data.get("y") is None:
        if len(ids) > 2:
            clusters, silhouette = cluster(z)
            named["cluster"] = encode_array(clusters, "int32")
            named["how_clustered"] = f"Clusters: k-means of embeddings of length one; silhouette {silhouette:.2f}"
        if task_of(data) == "node":
            degree = structure_of(data).edge_rowptr.diff() if data.get("degree") is None else data.degree
            named["degree"] = encode_array(degree, "int32")
        return named
    labels, names = data.y.numpy(), None
    if has_targets(data):  # which have colors by fifths
        ends = np.nanquantile(labels, np.linspace(0, 1, 6))
        names = [f"{low:.4g} to {high:.4g}" for low, high in pairwise(ends)]
        labels = np.where(np.isnan(labels), -1, np.searchsorted(ends[1:-1], labels, side="right"))
    return {**named, "labels": encode_array(labels, "int32"), "class_names": names or _class_names(data)}


def _class_names(data: Data) -> list[str]:
    names = data.get("class_names")
    return [str(name) for name in (range(int(data.y.max()) + 1) if names is None else names)]


class Predictions(NamedTuple):
    """The labels ``(n,)`` that a probe predicts, also of items it was trained on, its split, and each item's part."""

    labels: NDArray[Any]
    split: Split
    part: NDArray[np.uint8]


def predict(z: Tensor, data: Data, protocol: ProbeProtocol) -> Predictions:
    """Predict the labels of all items by the protocol's probe, trained on its first split of these data.

    Training and selection do not depend on the items to predict: on the test part it predicts what is scored.
    """
    split, y = protocol.draw(data)[0], protocol.labels(data)
    rows = protocol.rows(z, len(y), item_word(data))
    everything = Split(split.train, split.validation, np.arange(len(y)))
    (found,) = protocol.probe.predict(rows, y, [everything], lambda: None)
    part = np.full(len(y), PARTS.index(None), dtype=np.uint8)
    for number, items in enumerate((split.train, split.validation, split.test)):
        part[items] = number
    return Predictions(found.test, split, part)


def _predictions(z: Tensor, reported: ReportedRun, data: Data, protocol: Protocol | None) -> dict[str, Any]:
    """Return predicted labels of all items and the confusion of the test part, where there are scores; or why not."""
    if not reported.scores or protocol is None:
        return {}
    if not isinstance(protocol, Classification):
        return {"no_predictions": f"{protocol.name} scores without predicting labels."}
    try:
        labels, split, part = predict(z, data, protocol)
    except InputError as error:  # some nodes of a large graph may be too few for its splits
        return {"no_predictions": str(error)}
    items, classes = item_word(data), len(_class_names(data))
    result = {
        "predicted": encode_array(labels, "int32"),
        "part": encode_array(part, "uint8"),
        "how_predicted": f"probe of {protocol.name} on split 1, trained on its {len(split.train)} training {items}",
    }
    if classes > MOST_CLASSES:
        return {**result, "no_confusion": f"{classes} classes are too many for a confusion matrix to be read."}
    matrix = confusion_matrix(data.y.numpy()[split.test], labels[split.test], labels=range(classes))
    accuracy, of = 100 * float(np.trace(matrix)) / len(split.test), f"{len(split.test)} test {items} of split 1"
    return {**result, "confusion": {"matrix": matrix.tolist(), "of": of, "accuracy": accuracy}}


def facts(run: Run) -> dict[str, Any]:
    """Return the summary of a run: its settings, how far it came, and its data."""
    training, epoch, state = run.recipe.training, run.progress.epoch, "finished"
    remarks = [remark(run.data), left_out_remark(run.data)]
    if is_large(run.data):
        remarks.append(remark_on_part(run.data, whole=run.method.transductive))
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
        kind, known = ("different targets", ~data.y.isnan()) if has_targets(data) else ("classes", data.y >= 0)
        labels = data.y[known]
        rows |= {kind: len(labels.unique()), **({"labelled": len(labels)} if len(labels) < len(data.y) else {})}
    return [[name, str(value)] for name, value in rows.items()]


def command_line(words: Sequence[str]) -> str:
    """Return a command as it would be typed again, without the folder of the program."""
    program, *others = map(str, words or [""])
    name = "python -m sfa" if Path(program).name == "__main__.py" else Path(program).name
    return f"{name} {shlex.join(others)}".strip()


def history(folder: RunFolder) -> dict[str, Any]:
    """Return ``curve``, ``diagnostics``, ``seconds`` and, where there was an online probe, ``online``, from the log."""
    rows = folder.read_metrics()
    online = [row for row in rows if "online" in row]
    names = dict.fromkeys(name for row in online for name in row["online"])
    accuracies = {name: [row["online"].get(name) for row in online] for name in names}
    return {
        "seconds": float(rows[-1]["seconds"]) if rows else 0.0,
        "curve": {
            "epoch": encode_array([row["epoch"] for row in rows], "int32"),
            "loss": encode_array([row.get("loss", np.nan) for row in rows], "float32"),
        },
        "diagnostics": _diagnostics([row for row in rows if "diagnostics" in row], folder.metrics),
        **({"online": {"epochs": [row["epoch"] for row in online], **accuracies}} if online else {}),
    }


def _diagnostics(rows: Sequence[Mapping[str, Any]], file: Path) -> dict[str, Any]:
    """Return the spectra, of few digits, and the numbers of some epochs, evenly spaced."""
    if not rows:
        return {"epochs": []}
    found = require_valid(dict[str, list[Diagnostics]], {"diagnostics": [row["diagnostics"] for row in rows]}, file)
    found = found["diagnostics"]
    chosen = np.unique(np.linspace(0, len(rows) - 1, LOOKS).round().astype(int))
    looks = [found[i] for i in chosen]
    curves = {name: [getattr(row, key) for row in looks] for name, key in CURVES.items()}
    return {
        "epochs": [rows[i]["epoch"] for i in chosen],
        "spectral_map": any(row.is_changed for row in found),
        "spectrum_before": [[float(f"{value:.5g}") for value in row.sigma] for row in looks],
        "spectrum_after": [[float(f"{value:.5g}") for value in row.sigma_tilde] for row in looks],
        # A method of a single view has no alignment.
        **{name: [] if None in values else values for name, values in curves.items()},
    }
