"""Scores in a run folder: what they are of, so that they are used again only where they fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfa.atomic import write_text
from sfa.errors import InputError
from sfa.evaluate import Protocol, Score
from sfa.run.display import Display
from sfa.run.legacy import flatten
from sfa.run.run import Run


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
