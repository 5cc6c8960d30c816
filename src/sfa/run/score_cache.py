"""Scores in a run folder: what they are of, so that they are used again only where they fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor
from torch_geometric.data import Data

from sfa.atomic import write_text
from sfa.errors import InputError
from sfa.evaluate import Protocol, Score
from sfa.evaluate.baselines import BASELINES
from sfa.evaluate.inputs import is_sparse, sparse_rows
from sfa.evaluate.protocols import Embedder, default_protocol
from sfa.registry import resolve
from sfa.run.display import Display, counted
from sfa.run.legacy import flatten
from sfa.run.run import Run
from sfa.tasks import num_items, task_of
from sfa.train import LambdaCallback, train


def path_of(run: Run, protocol: Protocol) -> Path:
    """Return the file of a run's scores under a protocol."""
    return run.path / f"scores-{protocol.name}.json"


def scores_record(run: Run, protocol: Protocol, scores: Sequence[Score]) -> dict[str, Any]:
    """Return scores with what decides them: data, splits and settings of the protocol, weights."""
    return {**_identity(run, protocol), "scores": [score.as_dict() for score in scores]}


def keep_scores(run: Run, protocol: Protocol, scores: Sequence[Score], display: Display) -> dict[str, Any]:
    """Write scores into the run folder and return what is written; a full disk does not take the result with it."""
    record = scores_record(run, protocol, scores)
    try:
        write_text(path_of(run, protocol), json.dumps(record, indent=2) + "\n")
    except OSError as error:
        display.say(f"The scores could not be kept in {run.path}: {error.strerror or error}.")
    return record


def kept_scores(run: Run, protocol: Protocol) -> dict[str, Score]:
    """Return what is kept of these data, splits and weights, by the names of the embeddings; perhaps nothing."""
    try:
        record = json.loads(path_of(run, protocol).read_text(encoding="utf-8"))
        scores = record["scores"]
        if record != {**_identity(run, protocol), "scores": scores}:
            return {}
        found = {score.name: score for score in map(Score.from_dict, scores)}
    except (OSError, InputError, KeyError, TypeError, ValueError, RecursionError):  # as good as none: it is made again
        return {}
    before = f"{run.recipe.method['name']} + {run.recipe.spectral_name}"  # older files do not say how many passes
    if before in found and run.name not in found:
        found[run.name] = replace(found.pop(before), name=run.name)
    return found


def _identity(run: Run, protocol: Protocol) -> dict[str, Any]:
    done = flatten({"postprocess": run.recipe.as_dict()["postprocess"]})  # named as in files that are older
    return {
        "protocol": protocol.name,
        "data": run.record["fingerprint"],
        "splits": run.digest(protocol),
        "checkpoint": run.checkpoint_digest,
        **done,
    }


Known = dict[str, Score]
"""Scores by the names of the embeddings."""


def usual_protocol(data: Data) -> Protocol:
    """Return the protocol for these data where none is named."""
    protocol: Protocol = resolve("protocol", default_protocol(task_of(data)))
    return protocol


def baselines_of(run: Run) -> dict[str, Embedder]:
    """Return what a run is measured against: embeddings that need no training, by their names."""
    return {**BASELINES[task_of(run.data)], "untrained encoder": lambda data: run.untrained.embed(data)}


def score_all(
    embeddings: Mapping[str, Tensor | Embedder], data: Data, protocol: Protocol, display: Display
) -> list[Score]:
    """Score several embeddings on the same splits, showing progress."""
    with display.progress(f"scoring, {protocol.name}", len(embeddings) * protocol.count(data)) as tracker:
        return [protocol.evaluate(z, data, name=name, on_split=tracker.step) for name, z in embeddings.items()]


def score_run(run: Run, protocol: Protocol, display: Display) -> Score:
    """Score a run alone. Where edges are held out, its recipe is trained anew without them."""
    if protocol.needs != "edges":
        (score,) = score_all({run.name: run.method.embed}, run.data, protocol, display)
        return score
    return protocol.evaluate(trained_anew(run, display), run.data, name=run.name)


def tell_if_trained_anew(run: Run, protocol: Protocol, display: Display) -> None:
    """Say so before anything starts: it takes as long as the run took, several times."""
    if protocol.needs == "edges":
        display.say(
            f"{protocol.name}: {run.name} is trained anew {counted(protocol.repeats, 'time')}, up to "
            f"{counted(run.recipe.training.epochs, 'epoch')} each, as its embeddings must not have seen "
            "the edges that are held out."
        )


def trained_anew(run: Run, display: Display) -> Embedder:
    """Return what trains the run's recipe on a graph, from its first epoch, and embeds it."""
    recipe = run.recipe

    def embed(graph: Data) -> Tensor:
        method = recipe.build_for(graph)
        with display.progress("training without edges held out", recipe.training.epochs) as tracker:
            shown = LambdaCallback(
                on_step_end=lambda state: tracker.step(state.epochs_done, of=state.num_steps, loss=state.loss)
            )
            settings = {**recipe.training.arguments, "diagnose_every": 0}
            train(method, graph, **settings, sampler=recipe.make_sampler(), callbacks=[shown])
        return method.cpu().eval().embed(graph)

    return embed


def require_same_splits(runs: Sequence[Run], protocol: Protocol) -> None:
    """Raise if the scores of these runs could not be paired."""
    if len({run.digest(protocol) for run in runs}) > 1:
        raise InputError(
            f"The splits of {protocol.name} are not the same for these runs: their scores cannot be paired."
        )


def score_together(runs: Sequence[Run], protocol: Protocol, display: Display) -> list[list[Score]]:
    """Return for each run the scores of its baselines, of its untrained encoder and, last, its own.

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
            z = names[name](run.data)
            digest = digests[number, name] = _digest(z, num_items(run.data))
            if name in known:
                by_digest[digest] = known[name]
            else:
                waiting.setdefault(digest, z)
    waiting = {digest: z for digest, z in waiting.items() if digest not in by_digest}
    if waiting:
        by_digest |= zip(waiting, score_all(waiting, runs[0].data, protocol, display), strict=True)
    return [
        [known[name] if name in known else replace(by_digest[digests[number, name]], name=name) for name in names]
        for number, (names, known) in enumerate(zip(wanted, kept, strict=True))
    ]


def _scored_apart(
    runs: Sequence[Run], protocol: Protocol, kept: Sequence[Known], display: Display
) -> list[list[Score]]:
    result = []
    for run, known in zip(runs, kept, strict=True):
        baselines = baselines_of(run)
        lacking = {name: embed for name, embed in baselines.items() if name not in known}
        scores = {**known, **{one.name: one for one in score_all(lacking, run.data, protocol, display)}}
        if run.name not in known:
            tell_if_trained_anew(run, protocol, display)
            scores[run.name] = score_run(run, protocol, display)
        result.append([scores[name] for name in (*baselines, run.name)])
    return result


def _digest(z: Any, count: int) -> str:
    """Return the SHA-256 of an embedding, dense or sparse."""
    sha = hashlib.sha256(str(tuple(z.shape)).encode())
    rows = sparse_rows(z, count) if is_sparse(z) else None
    for part in [z.detach().numpy()] if rows is None else [rows.indptr, rows.indices, rows.data]:
        sha.update(np.ascontiguousarray(part).data)
    return sha.hexdigest()
