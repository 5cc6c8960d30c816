"""The log of a run for figures: the diagnostics that its metrics hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sfa.errors import InputError
from sfa.evaluate.diagnostics import Diagnostics
from sfa.train.run_folder import RunFolder, require_valid


@dataclass(frozen=True)
class RunLog:
    """The diagnostics of a run, at least one, in the order of the epochs."""

    name: str
    epochs: list[int]
    diagnostics: list[Diagnostics]
    dataset: str = ""  # name of the data set that it was trained on, or of a file without its suffix

    @property
    def has_spectral_map(self) -> bool:
        """Whether the feature maps differ before and after the spectral slot."""
        return any(row.is_changed for row in self.diagnostics)


def read_runs(paths: Sequence[Path]) -> list[RunLog]:
    """Read the logs of run folders, named after their folders, or by the paths as given where that is ambiguous."""
    names = [path.resolve().name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    logs = []
    for path, name in zip(paths, names, strict=True):
        folder = RunFolder.open(path)
        rows = [row for row in folder.read_metrics() if "diagnostics" in row]
        if not rows:
            raise InputError(f"{path} has no diagnostics to draw: train with --set training.diagnose_every=10.")
        epochs, diagnostics = ([row[key] for row in rows] for key in ("epoch", "diagnostics"))
        source = folder.record.get("source")
        data = source.get("data") if isinstance(source, dict) else None
        dataset = Path(data).stem if isinstance(data, str) else ""
        log = {"name": name, "epochs": epochs, "diagnostics": diagnostics, "dataset": dataset}
        logs.append(require_valid(RunLog, log, folder.metrics))
    return logs
