"""A row of the ledger: what was run, what it took, what came out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sfa.evaluate import Score


@dataclass(frozen=True)
class Entry:
    """One run. What does not apply to it, or was never reached because it failed, is ``None``."""

    key: str
    kind: str
    """``trained``, or what else was scored: ``raw features``, ``untrained encoder``, ``supervised gcn``, ``timed`` …"""
    dataset: str
    method: str | None
    spectral: str | None
    recipe: Mapping[str, Any]
    recipe_hash: str
    fingerprint: str
    """Of the graph before anything was done to it: :func:`sfa.data.fingerprint`."""
    seed: int
    versions: Mapping[str, str]
    device: str
    threads: int
    created: str
    """When it was entered, in UTC."""
    epochs: int | None = None
    """Epochs done; fewer than planned where patience ended it."""
    train_seconds: float | None = None
    """Wall time of all epochs, over interruptions."""
    seconds_per_epoch: float | None = None
    evaluate_seconds: float | None = None
    peak_memory: int | None = None
    """Bytes the process held at most while it trained, or trained on after an interruption."""
    peak_memory_by: str | None = None
    """How that was read: ``VmHWM`` is of the training alone, ``ru_maxrss`` of the process since its start."""
    failure: str | None = None
    """Why it failed, in a sentence; ``None`` if it did not."""
    labels: tuple[tuple[str, str], ...] = ()
    """Studies that it belongs to, with what it is called in each."""
    scores: tuple[Score, ...] = ()
    """Metric by metric and split by split, but for what was selected on each."""

    def score_under(self, protocol: str, splits: str) -> Score | None:
        """Its score under a protocol with these settings and splits (:meth:`~sfa.evaluate.Protocol.digest`)."""
        found = (score for score in self.scores if (score.protocol, score.splits) == (protocol, splits))
        return next(found, None)

    def as_dict(self) -> dict[str, Any]:
        """For JSON, with the value of every split."""
        described = {field.name: getattr(self, field.name) for field in fields(self)}
        described["labels"] = [{"study": study, "variant": variant} for study, variant in self.labels]
        described["scores"] = [
            {
                "embedding": score.name,
                "protocol": score.protocol,
                "splits_digest": score.splits,
                "metric": metric,
                **summary(score, metric),
                "values": list(values),
            }
            for score in self.scores
            for metric, values in score.values.items()
        ]
        return described


def summary(score: Score, metric: str) -> dict[str, Any]:
    """Mean, standard deviation and number of a metric's values; a single one has no deviation."""
    splits = len(score.of(metric))
    return {"mean": score.mean(metric), "std": score.std(metric) if splits > 1 else None, "splits": splits}
