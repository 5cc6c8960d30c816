"""An entry of the results: the settings, costs and scores of one run; and the same as JSON."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Annotated, Any

from annotated_types import Len
from pydantic import AfterValidator, BaseModel, ConfigDict, GetPydanticSchema, TypeAdapter

from sfa.evaluate import Score


class _Label(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    study: str
    variant: str


class _Metric(BaseModel):
    """A score's values of one metric."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)
    embedding: str
    protocol: str
    splits_digest: str
    metric: str
    values: Annotated[list[float], Len(1)]
    validation: list[float] = []


def _make_scores(rows: Iterable[_Metric]) -> tuple[Score, ...]:
    found: dict[tuple[str, str, str], dict[str, _Metric]] = {}
    for row in rows:
        found.setdefault((row.embedding, row.protocol, row.splits_digest), {})[row.metric] = row
    return tuple(
        Score(
            embedding,
            protocol,
            {metric: tuple(row.values) for metric, row in metrics.items()},
            validation={metric: tuple(row.validation) for metric, row in metrics.items() if row.validation},
            splits=splits,
        )
        for (embedding, protocol, splits), metrics in found.items()
    )


def _read_as(written: Any, convert: Any) -> GetPydanticSchema:
    """Validate a field by the type that JSON has it as, and convert it."""
    return GetPydanticSchema(lambda _, handler: handler(Annotated[written, AfterValidator(convert)]))


@dataclass(frozen=True)
class Entry:
    """One run. A field that does not apply to it, or that it failed before, is ``None``.

    Attributes:
        kind: ``trained``, ``timed``, or a baseline such as ``raw features``, ``untrained encoder``, ``supervised gcn``.
        fingerprint: Hash of the data before any preparation, :func:`sfa.data.fingerprint`.
        created: When it was entered, in UTC.
        epochs: Epochs done; fewer than planned if early stopping ended it.
        peak_memory: Peak memory of the process in bytes while it trained.
        peak_memory_by: ``VmHWM``, the peak of the training alone, or ``ru_maxrss``, that since the process started.
        failure: Why it failed, in a sentence.
        labels: Studies that it belongs to, with its name in each.
    """

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    key: Annotated[str, Len(1)]
    kind: str
    dataset: str
    method: str | None
    spectral: str | None
    recipe: Mapping[str, Any]
    recipe_hash: str
    fingerprint: str
    seed: int
    versions: Mapping[str, str]
    device: str
    threads: int
    created: str
    epochs: int | None = None
    train_seconds: float | None = None
    seconds_per_epoch: float | None = None
    evaluate_seconds: float | None = None
    peak_memory: int | None = None
    peak_memory_by: str | None = None
    failure: str | None = None
    labels: Annotated[
        tuple[tuple[str, str], ...],
        _read_as(list[_Label], lambda labels: tuple((label.study, label.variant) for label in labels)),
    ] = ()
    scores: Annotated[tuple[Score, ...], _read_as(list[_Metric], _make_scores)] = ()

    def score_under(self, protocol: str, splits: str) -> Score | None:
        """Return its score under a protocol with these settings and splits (:meth:`~sfa.evaluate.Protocol.digest`)."""
        found = (score for score in self.scores if (score.protocol, score.splits) == (protocol, splits))
        return next(found, None)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON, with the value of every split; a single value has no standard deviation."""
        described = {field.name: getattr(self, field.name) for field in fields(self)}
        described["labels"] = [{"study": study, "variant": variant} for study, variant in self.labels]
        described["scores"] = [
            {
                "embedding": score.name,
                "protocol": score.protocol,
                "splits_digest": score.splits,
                "metric": metric,
                "mean": score.mean(metric),
                "std": score.std(metric) if len(values) > 1 else None,
                "splits": len(values),
                "values": list(values),
                **({"validation": list(score.validation[metric])} if metric in score.validation else {}),
            }
            for score in self.scores
            for metric, values in score.values.items()
        ]
        return described


@cache
def entries_adapter() -> TypeAdapter[list[Entry]]:
    """Return what validates a list of :meth:`Entry.as_dict`."""
    return TypeAdapter(list[Entry])
