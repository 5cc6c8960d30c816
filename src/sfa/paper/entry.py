"""An entry of the results: what was run, what it took, what came out; and the same as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from typing import Annotated, Any, get_type_hints

from annotated_types import Len
from pydantic import BaseModel, ConfigDict, TypeAdapter, create_model

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
        """Return its score under a protocol with these settings and splits (:meth:`~sfa.evaluate.Protocol.digest`)."""
        found = (score for score in self.scores if (score.protocol, score.splits) == (protocol, splits))
        return next(found, None)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, with the value of every split."""
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
                **_validation(score, metric),
            }
            for score in self.scores
            for metric, values in score.values.items()
        ]
        return described


def summary(score: Score, metric: str) -> dict[str, Any]:
    """Return mean, standard deviation and number of a metric's values; a single one has no deviation."""
    splits = len(score.of(metric))
    return {"mean": score.mean(metric), "std": score.std(metric) if splits > 1 else None, "splits": splits}


def _validation(score: Score, metric: str) -> dict[str, Any]:
    stored: Any = score.validation
    return {"validation": list(stored[metric])} if metric in stored else {}


class _Label(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    study: str
    variant: str


class _Score(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)

    embedding: str
    protocol: str
    splits_digest: str
    metric: str
    values: Annotated[list[float], Len(1)]
    validation: list[float] = []


@cache
def _runs() -> TypeAdapter[Any]:
    """Return what validates a list of entries as :meth:`Entry.as_dict` writes them."""
    types = get_type_hints(Entry) | {"key": Annotated[str, Len(1)], "labels": list[_Label], "scores": list[_Score]}
    columns: Any = {
        field.name: (types[field.name], ... if field.default is MISSING else field.default) for field in fields(Entry)
    }
    run: Any = create_model("Run", __config__=ConfigDict(extra="forbid", strict=True), **columns)
    return TypeAdapter(list[run])


def parse_entries(content: bytes | str) -> list[Entry]:
    """Return the entries that JSON describes; raise pydantic's ``ValidationError`` if it describes none."""
    return [
        Entry(
            **{
                **dict(run),
                "labels": tuple((label.study, label.variant) for label in run.labels),
                "scores": make_scores(
                    (one.protocol, one.splits_digest, one.embedding, one.metric, one.values, one.validation)
                    for one in run.scores
                ),
            }
        )
        for run in _runs().validate_json(content)
    ]


def make_scores(
    values: Iterable[tuple[str, str, str, str, Sequence[float], Sequence[float]]],
) -> tuple[Score, ...]:
    """Return scores from protocol, digest of the splits, embedding and metric, each with test and validation values."""
    found: dict[tuple[str, str, str], tuple[dict[str, Any], Any]] = {}
    for protocol, splits, embedding, metric, test, validation in values:
        of_test, of_validation = found.setdefault((protocol, splits, embedding), ({}, {}))
        of_test[metric] = tuple(test)
        if validation:
            of_validation[metric] = tuple(validation)
    return tuple(
        replace(Score(embedding, protocol, test, splits=splits), **({"validation": kept} if kept else {}))
        for (protocol, splits, embedding), (test, kept) in found.items()
    )
