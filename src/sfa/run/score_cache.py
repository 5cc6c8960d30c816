"""Score runs, and keep the scores in the run folders to use them again where they fit."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor
from torch_geometric.data import Data

from sfa.atomic import write_text
from sfa.errors import InputError
from sfa.evaluate import Protocol, Score
from sfa.evaluate.baselines import BASELINES
from sfa.evaluate.inputs import MANY, has_targets, is_sparse, sparse_rows
from sfa.evaluate.protocols import Embedder, default_protocol
from sfa.evaluate.protocols.base import REGRESSION
from sfa.folders import read_json
from sfa.registry import resolve
from sfa.run.display import Display, counted
from sfa.run.legacy import flatten
from sfa.run.run import Run
from sfa.run.train_recipe import training_progress
from sfa.tasks import num_items, task_of
from sfa.train import train

Known = dict[str, Score]  # scores by the names of the embeddings


def _identity(run: Run, protocol: Protocol) -> dict[str, Any]:
    """Return everything that decides scores: data, splits and settings of the protocol, weights, postprocessing."""
    return {
        "protocol": protocol.name,
        "data": run.record["fingerprint"],
        **({"labels": run.data.labels_digest} if run.data.get("labels_digest") else {}),  # that were given later
        "splits": run.digest(protocol),
        "checkpoint": run.checkpoint_digest,
        **flatten({"postprocess": run.recipe.as_dict()["postprocess"]}),  # named as in older files
    }


def keep_scores(run: Run, protocol: Protocol, scores: Sequence[Score], display: Display) -> dict[str, Any]:
    """Write scores and their identity into the run folder, and return them; a full disk is only reported."""
    record = {**_identity(run, protocol), "scores": [score.as_dict() for score in scores]}
    try:
        write_text(run.path / f"scores-{protocol.name}.json", json.dumps(record, indent=2) + "\n")
    except OSError as error:
        display.say(f"The scores could not be kept in {run.path}: {error.strerror or error}.")
    return record


def kept_scores(run: Run, protocol: Protocol) -> Known:
    """Return the scores in the run folder, if they are of these data, splits and weights."""
    try:
        record = read_json(run.path / f"scores-{protocol.name}.json")
        scores = record["scores"]
        if record != {**_identity(run, protocol), "scores": scores}:
            return {}
        found = {score.name: score for score in map(Score.from_dict, scores)}
    except (InputError, KeyError, TypeError, ValueError):  # as good as none: it is made again
        return {}
    before = f"{run.recipe.method['name']} + {run.recipe.spectral_name}"  # older files do not say how many passes
    if before in found and run.name not in found:
        found[run.name] = replace(found.pop(before), name=run.name)
    return found


def usual_protocol(data: Data) -> Protocol:
    """Return the default protocol for these data; that of nodes with many labels reads their embeddings in pieces."""
    name = REGRESSION if has_targets(data) else default_protocol(task_of(data))
    if name == default_protocol("node") and data.get("y") is not None and int((data.y >= 0).sum()) > MANY:
        name = "minibatch-10-10-80"
    protocol: Protocol = resolve("protocol", name)
    return protocol


def embedders_of(run: Run, baselines: bool) -> dict[str, Embedder]:
    """Return by name the embeddings that need no training, if asked for, and last those of the run."""
    found = dict(BASELINES[task_of(run.data)]) if baselines else {}
    if baselines and run.method.learns:
        found["untrained encoder"] = lambda data: run.untrained.embed(data)
    return {**found, run.name: run.method.embed}


def score_all(
    embeddings: Mapping[str, Tensor | Embedder], data: Data, protocol: Protocol, display: Display
) -> list[Score]:
    """Score several embeddings on the same splits, showing progress."""
    with display.progress(f"scoring, {protocol.name}", len(embeddings) * protocol.count(data)) as tracker:
        return [protocol.evaluate(z, data, name=name, on_split=tracker.step) for name, z in embeddings.items()]


def score_run(
    run: Run, protocol: Protocol, display: Display, *, baselines: bool = True, known: Mapping[str, Score] | None = None
) -> list[Score]:
    """Return the scores of the baselines, if asked for, and last that of the run; known ones are used again."""
    scores, wanted = dict(known or {}), embedders_of(run, baselines)
    lacking = {name: embed for name, embed in wanted.items() if name not in scores}
    held_out = protocol.needs == "edges" and lacking.pop(run.name, None) is not None
    if lacking:
        scores |= {one.name: one for one in score_all(lacking, run.data, protocol, display)}
    if held_out:  # the recipe is trained anew without these edges, which shows its own progress
        scores[run.name] = protocol.evaluate(trained_anew(run, display), run.data, name=run.name)
    return [scores[name] for name in wanted]


def tell_if_trained_anew(run: Run, protocol: Protocol, display: Display) -> None:
    """Say before anything starts that a run is trained anew, which takes as long as the run took, several times."""
    if protocol.needs == "edges":
        times, epochs = counted(protocol.repeats, "time"), counted(run.recipe.training.epochs, "epoch")
        why = "its embeddings must not have seen the edges that are held out"
        display.say(f"{protocol.name}: {run.name} is trained anew {times}, up to {epochs} each, as {why}.")


def trained_anew(run: Run, display: Display) -> Embedder:
    """Return a function that trains the run's recipe on a graph, from its first epoch, and embeds the graph."""
    recipe = run.recipe

    def embed(graph: Data) -> Tensor:
        method, settings = recipe.build_for(graph), {**recipe.training.arguments, "diagnose_every": 0}
        with training_progress(display, "training without edges held out", recipe.training.epochs) as shown:
            train(method, graph, **settings, sampler=recipe.make_sampler(), callbacks=[shown])
        return method.cpu().eval().embed(graph)

    return embed


def require_same_splits(runs: Sequence[Run], protocol: Protocol) -> None:
    """Raise if the scores of these runs could not be paired."""
    if len({run.digest(protocol) for run in runs}) > 1:
        raise InputError(f"The splits of {protocol.name} differ between these runs: their scores cannot be paired.")


def score_together(
    runs: Sequence[Run], protocol: Protocol, display: Display, *, baselines: bool = True
) -> list[list[Score]]:
    """Return for each run the scores of its baselines and its untrained encoder, if asked for, and last its own.

    Scores in the run folders are used again where they fit. Baselines that several runs share are scored once. New
    scores are kept in the run folders, beside the old ones.
    """
    kept = [kept_scores(run, protocol) for run in runs]
    for run in [run for run, known in zip(runs, kept, strict=True) if run.name not in known]:
        display.say(f"{run.path}: scoring by {protocol.name}")
        tell_if_trained_anew(run, protocol, display)
    if protocol.needs == "edges" or len(runs) == 1:  # each split embeds another graph, or nothing can be shared
        both = zip(runs, kept, strict=True)
        result = [score_run(run, protocol, display, baselines=baselines, known=known) for run, known in both]
    else:
        result = _score_shared(runs, protocol, kept, display, baselines)
    for run, before, scores in zip(runs, kept, result, strict=True):
        new = {one.name for one in scores}
        if not new <= before.keys():
            keep_scores(run, protocol, [*scores, *(before[name] for name in before if name not in new)], display)
    return result


def _score_shared(
    runs: Sequence[Run], protocol: Protocol, kept: Sequence[Known], display: Display, baselines: bool
) -> list[list[Score]]:
    """Score the embeddings that a run folder lacks; those with the same digest are scored once."""
    wanted = [embedders_of(run, baselines) for run in runs]
    lacking = {name for names, known in zip(wanted, kept, strict=True) for name in names if name not in known}
    digests: list[dict[str, str]] = []
    scores, embeddings = Known(), dict[str, Tensor]()  # by digest
    for run, embedders, known in zip(runs, wanted, kept, strict=True):
        found = {name: embedders[name](run.data) for name in embedders if name in lacking}
        digests.append({name: _digest(z, num_items(run.data)) for name, z in found.items()})
        scores |= {digests[-1][name]: known[name] for name in found if name in known}
        embeddings |= {digests[-1][name]: z for name, z in found.items() if name not in known}
    new = {digest: z for digest, z in embeddings.items() if digest not in scores}
    if new:
        scores |= zip(new, score_all(new, runs[0].data, protocol, display), strict=True)
    return [
        [known[name] if name in known else replace(scores[own[name]], name=name) for name in embedders]
        for embedders, known, own in zip(wanted, kept, digests, strict=True)
    ]


def _digest(z: Any, count: int) -> str:
    rows = sparse_rows(z, count) if is_sparse(z) else None
    sha = hashlib.sha256(str(tuple(z.shape)).encode())
    for part in [z.detach().numpy()] if rows is None else [rows.indptr, rows.indices, rows.data]:
        sha.update(np.ascontiguousarray(part).data)
    return sha.hexdigest()
