"""A run on disk: its recipe, its record, its metrics as they come, and its checkpoint."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import yaml
from annotated_types import Ge, Interval
from pydantic import BaseModel, ConfigDict, FiniteFloat, TypeAdapter, ValidationError

from sfa.atomic import TEMPORARY, ensure_writable, locked, temporary_folder, umask, write_text
from sfa.errors import InputError, shortened, translate_os_errors
from sfa.folders import expand_user, parse_json, read_json, require_regular_file

LOCK = ".lock"  # name of the file that a process holds while it trains in the folder
FORMAT = 3  # layout of a run folder; raised whenever an older `sfa` could no longer read what a newer one writes

Number = Annotated[int, Interval(ge=0, le=2**31 - 1)]


class Record(BaseModel):
    """What ``run.json`` may say; what it must say depends on the task."""

    model_config = ConfigDict(strict=True)

    source: dict[str, Any] = {}
    fingerprint: str = ""
    nodes: Number = 0
    size: list[Number] = []
    in_features: Number = 0
    features_of: str | None = None
    versions: dict[str, str] = {}
    command: list[str] = []


class Row(BaseModel):
    """What a line of metrics holds; callbacks may add more."""

    model_config = ConfigDict(strict=True)

    epoch: Number
    seconds: Annotated[FiniteFloat, Ge(0)]
    loss: float = 0.0
    diagnostics: dict[str, Any] = {}
    online: dict[str, float | None] = {}


@dataclass
class RunFolder:
    """Paths and small files of one run. The checkpoint is written by the training loop."""

    path: Path

    def __post_init__(self) -> None:
        self.path = expand_user(self.path)
        self.checkpoint, self.metrics = self.path / "checkpoint.safetensors", self.path / "metrics.jsonl"
        self.recipe_file = self.path / "recipe.yaml"

    @classmethod
    def create(cls, path: Path, recipe: Mapping[str, Any], record: Mapping[str, Any]) -> RunFolder:
        """Make a new run folder in one step; raise if it already holds something."""
        path = cls(path).path
        cls.check_creatable(path)
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        exists = path.is_dir()  # maybe as a mount point or a link, over which nothing can be renamed
        with cls(path).locked() if exists else temporary_folder(target) as staging:
            cls.check_creatable(path)  # as another process may have been first
            folder = staging or path
            write_text(folder / "recipe.yaml", yaml.safe_dump(dict(recipe), sort_keys=False))
            described = {"format": FORMAT, **record, "versions": versions(), "command": sys.argv}
            described |= {"torchrun": job} if (job := os.environ.get("TORCHELASTIC_RUN_ID")) else {}
            write_text(folder / "run.json", json.dumps(described, indent=2) + "\n")
            if staging is not None:
                staging.chmod(0o777 & ~umask())
                try:
                    staging.replace(target)
                except OSError:
                    cls.check_creatable(path)
                    raise
        return cls(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes from training here; raise if one does already."""
        with ExitStack() as stack:
            with translate_os_errors(f"Cannot train in {self.path}"):
                is_ours = stack.enter_context(locked(self.path / LOCK, wait=False))
            if not is_ours:
                raise InputError(f"Another process trains in {self.path}: wait for its end, or choose another --out.")
            yield

    @staticmethod
    def check_creatable(path: Path) -> None:
        """Raise unless a run can be made at ``path``, leaving no trace."""
        path = expand_user(path)
        try:
            path.resolve()
            occupied = path.is_dir() and any(not file.match(TEMPORARY) and file.name != LOCK for file in path.iterdir())
        except (OSError, RuntimeError) as error:  # a name that is too long, a loop of links
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"Cannot make the run folder {path}: {reason}.") from error
        if occupied:
            raise InputError(f"{path} already holds files: go on with it by --resume, or choose another --out.")
        nearest = next(parent for parent in (path, *path.absolute().parents) if parent.exists())
        if not nearest.is_dir():
            raise InputError(f"Cannot make the run folder {path}: {nearest} is a file.")
        ensure_writable(nearest / "run.json")

    @classmethod
    def open(cls, path: Path) -> RunFolder:
        """Return an existing run folder; raise if there is none, or one of another version."""
        folder = cls(path)
        found = folder.record.get("format")
        if found != FORMAT:
            raise InputError(f"{path} was written by another version of sfa (format {found}): train again.")
        return folder

    @property
    def record(self) -> dict[str, Any]:
        """Content of ``run.json``: versions, seed, data."""
        file = self.path / "run.json"
        if not file.is_file():
            raise InputError(f"{self.path} is not a run folder: it has no run.json (made by `sfa train`).")
        record = read_json(file)
        if not isinstance(record, dict):
            raise InputError(f"{file} cannot be read: it holds no mapping.")
        if record.get("format") == FORMAT:
            require_valid(Record, record, file)
        return record

    def append(self, row: Mapping[str, Any]) -> None:
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(row)) + "\n")

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return all complete lines of the metrics; a last line torn by a crash is left out."""
        if not os.path.lexists(self.metrics):
            return []
        try:
            *lines, last = require_regular_file(self.metrics, max_bytes=2**30).read_text(encoding="utf-8").split("\n")
            rows = [parse_json(line) for line in lines]
            with suppress(ValueError):
                rows += [parse_json(last)]
        except (OSError, ValueError) as error:
            raise InputError(f"{self.metrics} is damaged or is not text: {shortened(str(error))}.") from error
        require_valid(list[Row], rows, self.metrics)
        if any(row["epoch"] <= before["epoch"] for before, row in pairwise(rows)):
            raise InputError(f"{self.metrics} is damaged: its epochs do not rise from line to line.")
        return rows

    def rewind(self, epoch: int) -> float:
        """Remove metrics of epochs after this one, and return the seconds spent until then."""
        kept = [row for row in self.read_metrics() if row["epoch"] <= epoch]
        write_text(self.metrics, "".join(json.dumps(row) + "\n" for row in kept))
        return float(kept[-1]["seconds"]) if kept else 0.0


def require_valid(kind: Any, values: Any, file: Path) -> Any:
    """Return values in the form that a type says, or raise that the file is damaged."""
    try:
        return TypeAdapter(kind).validate_python(values)
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(map(str, problem["loc"]))
        raise InputError(f"{file} is damaged: {shortened(where, 80)}: {problem['msg']}.") from error


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide the bits of a result."""
    packages = ["sfa", "torch", "torch_geometric", "lightning-fabric", "numpy", "scipy", "scikit-learn"]
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
