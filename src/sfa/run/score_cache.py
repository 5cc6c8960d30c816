"""Scores in a run folder: what they are of, so that they are used again only where they fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sfa.atomic import write_text
from sfa.cli.evaluate import baselines_of, score_all, score_run, tell_if_trained_anew
from sfa.errors import InputError
from sfa.evaluate import Protocol, Score
from sfa.evaluate.rows import is_sparse, sparse_rows
from sfa.levels import num_items
from sfa.run.display import Display
from sfa.run.legacy import flatten
from sfa.run.source import Run


def path_of(run: Run, protocol: Protocol) -> Path:
    """The file of a run's scores under a protocol."""
    return run.folder.path / f"scores-{protocol.name}.json"


def scores_record(run: Run, protocol: Protocol, scores: Sequence[Score]) -> dict[str, Any]:
    """Scores, and what decides them: data, splits and settings of the protocol, weights."""
    return {**_identity(run, protocol), "scores": [score.as_dict() for score in scores]}


def keep_scores(run: Run, protocol: Protocol, scores: Sequence[Score], display: Display) -> None:
    """Write them into the run folder; a full or read-only disk does not take the result with it."""
    try:
        write_text(path_of(run, protocol), json.dumps(scores_record(run, protocol, scores), indent=2) + "\n")
    except OSError as error:
        display.say(f"The scores could not be kept in {run.folder.path}: {error.strerror or error}.")


def kept_scores(run: Run, protocol: Protocol) -> dict[str, Score]:
    """What is kept that is of these data, splits and weights, by the names of the embeddings; perhaps nothing."""
    try:
        record = json.loads(path_of(run, protocol).read_text(encoding="utf-8"))
        scores = record["scores"]
        if record != {**_identity(run, protocol), "scores": scores}:
            return {}
        return {score.name: score for score in map(Score.from_dict, scores)}
    except (OSError, InputError, KeyError, TypeError, ValueError, RecursionError):  # as good as none: it is made again
        return {}


def kept_score(run: Run, protocol: Protocol) -> Score | None:
    """The run's own score, if one is kept."""
    return kept_scores(run, protocol).get(run.name)


def _identity(run: Run, protocol: Protocol) -> dict[str, Any]:
    done = flatten({"postprocess": run.recipe.as_dict()["postprocess"]})  # named as in files that are older
    return {
        "protocol": protocol.name,
        "data": run.folder.record["fingerprint"],
        "splits": protocol.digest(run.graph),
        "checkpoint": hashlib.sha256(run.folder.checkpoint.read_bytes()).hexdigest(),
        **done,
    }


Known = dict[str, Score]
"""Scores by the names of the embeddings."""


def score_together(runs: Sequence[Run], protocol: Protocol, display: Display) -> list[list[Score]]:
    """For each run the scores of what needs no training, of its untrained encoder and, last, its own.

    Scores in the run folders are used again where they fit. Runs on the same data share most of what they are measured
    against: that is scored once. What is new is kept in the run folders, beside what is there.
    """
    kept = [kept_scores(run, protocol) for run in runs]
    # Where edges are held out, what is embedded is another graph in each split.
    score = _scored_apart if protocol.needs == "edges" else _scored_together
    result = []
    for run, before, scores in zip(runs, kept, score(runs, protocol, kept, display), strict=True):
        new = {one.name: one for one in scores}
        if not new.keys() <= before.keys():
            keep_scores(run, protocol, [*scores, *(before[name] for name in before if name not in new)], display)
        result.append(scores)
    return result


def _scored_together(
    runs: Sequence[Run], protocol: Protocol, kept: Sequence[Known], display: Display
) -> list[list[Score]]:
    wanted = [{**baselines_of(run), run.name: run.method.embed} for run in runs]
    lacking = {name for names, known in zip(wanted, kept, strict=True) for name in names if name not in known}
    by_digest: Known = {}
    waiting: dict[str, Any] = {}
    digests: dict[tuple[int, str], str] = {}
    for number, (run, names, known) in enumerate(zip(runs, wanted, kept, strict=True)):
        for name in names.keys() & lacking:
            z = names[name](run.graph)
            digest = digests[number, name] = _digest(z, num_items(run.graph))
            if name in known:
                by_digest[digest] = known[name]
            else:
                waiting.setdefault(digest, z)
    waiting = {digest: z for digest, z in waiting.items() if digest not in by_digest}
    if waiting:
        by_digest |= zip(waiting, score_all(waiting, runs[0].graph, protocol, display), strict=True)
    return [
        [known[name] if name in known else replace(by_digest[digests[number, name]], name=name) for name in names]
        for number, (names, known) in enumerate(zip(wanted, kept, strict=True))
    ]


def _scored_apart(
    runs: Sequence[Run], protocol: Protocol, kept: Sequence[Known], display: Display
) -> list[list[Score]]:
    result = []
    for run, known in zip(runs, kept, strict=True):
        lacking = {name: embed for name, embed in baselines_of(run).items() if name not in known}
        scores = {**known, **{one.name: one for one in score_all(lacking, run.graph, protocol, display)}}
        if run.name not in known:
            tell_if_trained_anew(run, protocol, display)
            scores[run.name] = score_run(run, protocol, display)
        result.append([scores[name] for name in (*baselines_of(run), run.name)])
    return result


def _digest(z: Any, count: int) -> str:
    """SHA-256 of an embedding, dense or sparse."""
    sha = hashlib.sha256(str(tuple(z.shape)).encode())
    rows = sparse_rows(z, count) if is_sparse(z) else None
    for part in [z.detach().numpy()] if rows is None else [rows.indptr, rows.indices, rows.data]:
        sha.update(np.ascontiguousarray(part).data)
    return sha.hexdigest()
