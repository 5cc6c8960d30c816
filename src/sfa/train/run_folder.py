"""A run on disk: its recipe, its record, its metrics as they come, and its checkpoint."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from sfa.atomic import ensure_writable, umask, write_text
from sfa.errors import InputError

FORMAT = 3  # layout of a run folder; raised whenever an older `sfa` could no longer read what a newer one writes


@dataclass
class RunFolder:
    """Paths and small files of one run. The checkpoint is written by the training loop."""

    path: Path

    def __post_init__(self) -> None:
        self.checkpoint, self.metrics = self.path / "checkpoint.safetensors", self.path / "metrics.jsonl"
        self.recipe_file = self.path / "recipe.yaml"

    @classmethod
    def create(cls, path: Path, recipe: Mapping[str, Any], record: Mapping[str, Any]) -> RunFolder:
        """Make a new run folder in one step; raise if it already holds something."""
        cls.check_creatable(path)
        target = path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        exists = path.is_dir()  # maybe as a mount point or a link, over which nothing can be renamed
        staging = nullcontext(path) if exists else TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.")
        with staging as name:
            write_text(Path(name, "recipe.yaml"), yaml.safe_dump(dict(recipe), sort_keys=False))
            described = {"format": FORMAT, **record, "versions": versions(), "command": sys.argv}
            write_text(Path(name, "run.json"), json.dumps(described, indent=2) + "\n")
            if not exists:
                Path(name).chmod(0o777 & ~umask())
                Path(name).replace(target)
        return cls(path)

    @staticmethod
    def check_creatable(path: Path) -> None:
        """Raise unless a run can be made at ``path``, leaving no trace."""
        try:
            occupied = path.is_dir() and any(path.iterdir())
        except OSError as error:
            raise InputError(f"Cannot make the run folder {path}: {error.strerror or error}.") from error
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
        try:
            return dict(json.loads(file.read_text(encoding="utf-8")).items())
        except (OSError, AttributeError, ValueError, RecursionError) as error:
            raise InputError(f"{file} cannot be read: {error}.") from error

    def append(self, row: Mapping[str, Any]) -> None:
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(dict(row)) + "\n")

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return all complete lines of the metrics; a last line torn by a crash is left out."""
        try:
            lines = self.metrics.read_text(encoding="utf-8").splitlines() if self.metrics.exists() else []
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{self.metrics} cannot be read or is not text: {error}.") from error
        rows = []
        for line in lines:
            try:
                row = json.loads(line)
            except ValueError:
                break
            if not isinstance(row, dict) or not {"epoch", "seconds"} <= row.keys():
                raise InputError(f"{self.metrics} is damaged: {line[:60]!r} is no line of metrics.")
            rows.append(row)
        return rows

    def rewind(self, epoch: int) -> float:
        """Remove metrics of epochs after this one, and return the seconds spent until then."""
        for torn in self.path.glob(f".{self.checkpoint.name}.*"):  # left by a process killed while it wrote
            torn.unlink()
        kept = [row for row in self.read_metrics() if row["epoch"] <= epoch]
        write_text(self.metrics, "".join(json.dumps(row) + "\n" for row in kept))
        return float(kept[-1]["seconds"]) if kept else 0.0


def versions() -> dict[str, str]:
    """Return the versions of the packages that decide the bits of a result."""
    packages = ["sfa", "torch", "torch_geometric", "lightning-fabric", "numpy", "scipy", "scikit-learn"]
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
