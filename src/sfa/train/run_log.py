"""What pictures need of a run: its name and its diagnostics. Neither its data nor its weights are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from sfa.errors import InputError
from sfa.evaluate import Diagnostics
from sfa.train import RunFolder


@dataclass(frozen=True)
class RunLog:
    """The diagnostics of a run, at least one, in the order of the epochs."""

    name: str
    epochs: list[int]
    diagnostics: list[Diagnostics]
    dataset: str = ""
    """What it was trained on: a data set's name, or that of a file without its ending."""

    @property
    def has_spectral_map(self) -> bool:
        """Whether anything happened to the feature maps between encoder and head."""
        return any(
            (row.sigma, row.alignment) != (row.sigma_tilde, row.alignment_tilde)  # a rotation keeps the spectrum
            for row in self.diagnostics
        )


def read_runs(paths: Sequence[Path]) -> list[RunLog]:
    """The logs of run folders, named after their folders, or by the paths as given where that is ambiguous."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return [_read_run(path, name) for path, name in zip(paths, names, strict=True)]


def _read_run(path: Path, name: str) -> RunLog:
    folder = RunFolder.open(path)
    rows = [row for row in folder.read_metrics() if "diagnostics" in row]
    if not rows:
        raise InputError(
            f"{path} has no diagnostics to draw: train again with --set training.diagnose_every=10 and another --out."
        )
    try:
        return _RUN_LOG.validate_python(
            {
                "name": name,
                "epochs": [row["epoch"] for row in rows],
                "diagnostics": [row["diagnostics"] for row in rows],
                "dataset": _dataset(folder),
            }
        )
    except ValidationError as error:
        problem = error.errors()[0]
        where = ".".join(str(part) for part in problem["loc"])
        raise InputError(f"{folder.metrics} is damaged: {where}: {problem['msg']}.") from error


def _dataset(folder: RunFolder) -> str:
    source = folder.record.get("source")
    data = source.get("data") if isinstance(source, dict) else None
    return Path(data).stem if isinstance(data, str) else ""


_RUN_LOG = TypeAdapter(RunLog)
