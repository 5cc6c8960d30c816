"""An exported ledger read back."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Annotated, Any

from annotated_types import Len
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sfa.errors import InputError
from sfa.evaluate import Score
from sfa.ledger.entry import Entry


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


class _Run(BaseModel):
    """An entry as :meth:`~sfa.ledger.Entry.as_dict` describes it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    key: Annotated[str, Len(1)]
    kind: str
    dataset: str
    method: str | None
    spectral: str | None
    recipe: dict[str, Any]
    recipe_hash: str
    fingerprint: str
    seed: int
    versions: dict[str, str]
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
    labels: list[_Label] = Field(default_factory=list)
    scores: list[_Score] = Field(default_factory=list)


def read_entries(path: Path) -> list[Entry]:
    """The runs in a file that ``sfa ledger export`` wrote as ``.json`` or ``.json.gz``."""
    content = _read(path)
    try:
        runs = TypeAdapter(list[_Run]).validate_python(json.loads(content))
    except ValidationError as error:
        first = error.errors()[0]
        place = f"run {first['loc'][0]}, {'.'.join(map(str, first['loc'][1:]))}: " if first["loc"] else ""
        raise InputError(f"{path} is not a ledger as sfa exports it: {place}{first['msg']}.") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not a ledger as sfa exports it: it is not JSON.") from error
    return [_entry(run) for run in runs]


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == ".gz" else content
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path} cannot be unpacked: it is damaged, or not a .gz.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _entry(run: _Run) -> Entry:
    values: dict[tuple[str, str, str], dict[str, tuple[float, ...]]] = {}
    for score in run.scores:
        place = score.protocol, score.splits_digest, score.embedding
        values.setdefault(place, {})[score.metric] = tuple(score.values)
    columns = run.model_dump(exclude={"labels", "scores"})
    return Entry(
        **columns,
        labels=tuple((label.study, label.variant) for label in run.labels),
        scores=tuple(
            Score(embedding, protocol, metrics, splits=splits)
            for (protocol, splits, embedding), metrics in values.items()
        ),
    )
