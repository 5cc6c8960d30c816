"""Scores in a run folder: what they are of, so that they are used again only where they fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sfa.atomic import write_text
from sfa.cli.console import Display
from sfa.cli.run import Run
from sfa.errors import InputError
from sfa.evaluate import Protocol, Score
from sfa.recipes.legacy import flatten


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
