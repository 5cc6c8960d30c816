"""Collect everything that a report shows of its runs, as plain values for JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import confusion_matrix
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification, Protocol, Score, score_difference
from sfa.evaluate.inputs import labels_of
from sfa.evaluate.protocols.base import no_news
from sfa.evaluate.splits import Split
from sfa.report.facts import facts, history
from sfa.report.page import encode_array, finite
from sfa.report.planar_map import planar_map, turned_like
from sfa.tasks import item_word, num_items, task_of

if TYPE_CHECKING:
    from sfa.run.run import Run

MOST_CLASSES = 60
"""The most classes of a confusion matrix that can be read."""
PARTS = ("train", "validation", "test", None)
"""The parts of a split, in the order of their numbers."""


@dataclass(frozen=True)
class ReportedRun:
    """A run, with a name that no other run of the report has, and its scores: those of the baselines, last its own.

    Where there are no scores, ``no_scores`` says why.
    """

    name: str
    run: Run
    scores: Sequence[Score] = ()
    no_scores: str | None = None


def report_data(
    runs: Sequence[ReportedRun],
    *,
    protocol: Protocol | None = None,
    note: str | None = None,
    commands: Sequence[str] = (),
    seed: int = 0,
    made: datetime | None = None,
    tell: Callable[[str], None] = lambda message: None,
) -> dict[str, Any]:
    """Collect the data that :func:`~sfa.report.write_report` puts on a page.

    Args:
        runs: At least one, all on the same data.
        protocol: The protocol of the scores, whose probe predicts labels; by default there are no predictions.
        note: A sentence that goes with the comparison of several runs.
        commands: The commands that make this report again.
        seed: The seed of the maps.
        made: The time of the report; by default now.
        tell: A function that is called with messages of progress.
    """
    first, items = runs[0].run, item_word(runs[0].run.data)
    embeddings, maps = [], list[tuple[NDArray[np.float64], str]]()
    for reported in runs:
        tell(f"{reported.name}: embedding {num_items(reported.run.data)} {items}")
        z = reported.run.method.embed(reported.run.data).detach().cpu().float()
        if not bool(z.isfinite().all()):
            raise InputError(f"The embeddings of {reported.name} are not finite: there is nothing to show of them.")
        embeddings.append(z)
    for reported, z in zip(runs, embeddings, strict=True):
        tell(f"{reported.name}: mapping its {items}")
        points, how = planar_map(z.numpy(), items=items, seed=seed)
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
                **_items(reported.run.data),
                **_predictions(z, reported, protocol),
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


def _items(data: Data) -> dict[str, Any]:
    """Return the ids of the items, or their number if they are just numbered, and their labels."""
    ids = list(data[f"{task_of(data)}_ids"])
    named = {"ids": {"range": len(ids)} if ids == list(range(len(ids))) else ids}
    if data.get("y") is None:
        return named
    return {**named, "labels": encode_array(data.y.numpy(), "int32"), "class_names": _class_names(data)}


def _class_names(data: Data) -> list[str]:
    names = data.get("class_names")
    return [str(name) for name in (range(int(data.y.max()) + 1) if names is None else names)]


class Predictions(NamedTuple):
    """The labels ``(n,)`` that a probe predicts, also of items it was trained on, its split, and each item's part."""

    labels: NDArray[np.int64]
    split: Split
    part: NDArray[np.uint8]


def predict(z: Tensor, data: Data, protocol: Classification) -> Predictions:
    """Predict the labels of all items by the protocol's probe, trained on its first split of these data.

    Training and selection do not depend on the items to predict: on the test part it predicts what is scored.
    """
    split, y = protocol.draw(data)[0], labels_of(data)
    rows = protocol.rows(z, len(y), item_word(data))
    everything = Split(split.train, split.validation, np.arange(len(y)))
    (found,) = protocol.probe.predict(rows, y, [everything], no_news)
    part = np.full(len(y), PARTS.index(None), dtype=np.uint8)
    for number, items in enumerate((split.train, split.validation, split.test)):
        part[items] = number
    return Predictions(found.test, split, part)


def _predictions(z: Tensor, reported: ReportedRun, protocol: Protocol | None) -> dict[str, Any]:
    """Return predicted labels of all items and the confusion of the test part, where there are scores; or why not."""
    if not reported.scores or protocol is None:
        return {}
    if not isinstance(protocol, Classification):
        return {"no_predictions": f"{protocol.name} scores without predicting labels."}
    data = reported.run.data
    labels, split, part = predict(z, data, protocol)
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
