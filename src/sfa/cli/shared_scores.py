"""Scores of several runs and of what they are measured against: no embedding is scored twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfa.cli.console import Display
from sfa.cli.evaluate import baselines_of, score_all, score_run, tell_if_trained_anew
from sfa.cli.kept_scores import keep_scores, kept_scores
from sfa.cli.run import Run
from sfa.evaluate import Protocol, Score
from sfa.evaluate.inputs import is_sparse, sparse_rows
from sfa.levels import num_items

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
