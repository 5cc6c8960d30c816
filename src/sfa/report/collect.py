"""A run as a report shows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification, Protocol, Score, score_difference
from sfa.levels import item_word, level_of, num_items
from sfa.report.facts import facts, history
from sfa.report.page import encode_array
from sfa.report.planar_map import PlanarMap, planar_map, turned_like
from sfa.report.predictions import confusion, predict
from sfa.run.run import Run


@dataclass(frozen=True)
class ReportedRun:
    """A run, what it is called, and its scores.

    Attributes:
        name: Unlike that of any other run of the report; its path, for instance.
        run: The trained run with its data.
        scores: All under one protocol, on the same splits: of what needs no training, and last its own.
        no_scores: Where there are none, a sentence that says why.
    """

    name: str
    run: Run
    scores: Sequence[Score] = ()
    no_scores: str | None = None

    @property
    def score(self) -> Score | None:
        """Its own."""
        return self.scores[-1] if self.scores else None


def score_rows(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """An entry for each embedding and metric; the last embedding is the run's own."""
    return [
        {
            "embedding": score.name,
            "protocol": score.protocol,
            "metric": metric,
            "values": list(values),
            "mean": score.mean(metric),
            "std": _or_none(score.std(metric)),
            "own": score is scores[-1],
        }
        for score in scores
        for metric, values in score.values.items()
    ]


def comparison_rows(runs: Sequence[ReportedRun]) -> list[dict[str, Any]]:
    """A row for each run and metric, with the paired difference from the first run; none for it itself."""
    baseline = runs[0].score
    rows = []
    for number, reported in enumerate(runs):
        score = reported.score
        if score is None or baseline is None:
            continue
        for metric in score.values:
            found = score_difference(score, baseline, metric)
            rows.append(
                {
                    "run": reported.name,
                    "metric": metric,
                    "mean": score.mean(metric),
                    "std": _or_none(score.std(metric)),
                    "difference": [_or_none(v) for v in (found.mean, found.low, found.high)] if number else None,
                    "p": _or_none(found.p_value) if number else None,
                }
            )
    return rows


def _or_none(value: float) -> float | None:
    """JSON has no word for NaN."""
    return None if math.isnan(value) else value


MOST_CLASSES = 60
"""Of more, a confusion matrix has too many cells to be looked at."""


def report_data(
    runs: Sequence[ReportedRun],
    *,
    protocol: Protocol | None = None,
    note: str | None = None,
    commands: Sequence[str] = (),
    seed: int = 0,
    made: datetime | None = None,
    tell: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """What :func:`~sfa.report.write_report` puts on a page.

    Args:
        runs: At least one, all on the same data.
        protocol: That their scores are of; its probe predicts the labels. Without one there are no predictions.
        note: A sentence that goes with the comparison of several runs.
        commands: That make this report again.
        seed: Of the maps.
        made: When; now, if not given.
        tell: Is told what is being done.
    """
    tell = tell or _silence
    first = runs[0].run
    items = item_word(first.graph)
    embedded = [_embedded(reported, tell) for reported in runs]
    maps = _maps([z.numpy() for z in embedded], runs, items, seed, tell)
    several = len(runs) > 1
    return {
        "title": f"{first.graph.name}, {f'{len(runs)} runs' if several else first.name}",
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
                "scores": score_rows(reported.scores),
                **({} if reported.no_scores is None else {"no_scores": reported.no_scores}),
                "map": _as_arrays(where),
                "ids": _ids(reported.run.graph),
                **_labels(reported.run.graph),
                **_predictions(z, reported, protocol),
            }
            for reported, z, where in zip(runs, embedded, maps, strict=True)
        ],
        **({"comparison": comparison_rows(runs), "comparison_note": note or ""} if several else {}),
    }


def _embedded(reported: ReportedRun, tell: Callable[[str], None]) -> torch.Tensor:
    tell(f"{reported.name}: embedding {num_items(reported.run.graph)} {item_word(reported.run.graph)}")
    z = reported.run.method.embed(reported.run.graph).detach().cpu().float()
    if not bool(z.isfinite().all()):
        raise InputError(f"The embeddings of {reported.name} are not finite: there is nothing to show of them.")
    return z


def _maps(
    embeddings: Sequence[NDArray[np.float32]],
    runs: Sequence[ReportedRun],
    items: str,
    seed: int,
    tell: Callable[[str], None],
) -> list[PlanarMap]:
    """Of all runs; each lies as the first does, so that they can be compared."""
    maps: list[PlanarMap] = []
    for reported, z in zip(runs, embeddings, strict=True):
        tell(f"{reported.name}: mapping its {items}")
        found = planar_map(z, items=items, seed=seed)
        maps.append(PlanarMap(turned_like(found.points, maps[0].points), found.how) if maps else found)
    return maps


def _as_arrays(where: PlanarMap) -> dict[str, Any]:
    x, y = where.points.T
    return {"x": encode_array(x, "float32"), "y": encode_array(y, "float32"), "how": where.how}


def _ids(graph: Data) -> dict[str, int] | list[int | str]:
    """What the items are called; if they are just numbered, how many there are."""
    ids = list(graph[f"{level_of(graph)}_ids"])
    return {"range": len(ids)} if ids == list(range(len(ids))) else ids


def _labels(graph: Data) -> dict[str, Any]:
    if graph.get("y") is None:
        return {}
    return {"labels": encode_array(graph.y.numpy(), "int32"), "class_names": _class_names(graph)}


def _class_names(graph: Data) -> list[str]:
    names = graph.get("class_names")
    return [str(name) for name in (range(int(graph.y.max()) + 1) if names is None else names)]


def _predictions(z: torch.Tensor, reported: ReportedRun, protocol: Protocol | None) -> dict[str, Any]:
    """Predicted labels of all items and the confusion of the test part, where there are scores; or why not."""
    graph = reported.run.graph
    if not reported.scores or protocol is None:
        return {}
    if not isinstance(protocol, Classification):
        return {"no_predictions": f"{protocol.name} scores without predicting labels."}
    items, y = item_word(graph), graph.y.numpy()
    found = predict(z, graph, protocol)
    split, classes = found.split, len(_class_names(graph))
    result = {
        "predicted": encode_array(found.labels, "int32"),
        "part": encode_array(found.part, "uint8"),
        "how_predicted": f"probe of {protocol.name} on split 1, trained on its {len(split.train)} training {items}",
    }
    if classes > MOST_CLASSES:
        return {**result, "no_confusion": f"{classes} classes are too many for a confusion matrix to be read."}
    matrix = confusion(y[split.test], found.labels[split.test], classes)
    return {
        **result,
        "confusion": {
            "matrix": matrix.tolist(),
            "of": f"{len(split.test)} test {items} of split 1",
            "accuracy": 100 * float(np.trace(matrix)) / len(split.test),
        },
    }


def _silence(_: str) -> None:
    """Where nobody wants to be told."""
