"""What a run leaves on disk as it goes, and how it ends when it is asked to."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from sfa import processes
from sfa.errors import TrainingError
from sfa.training.checkpoint import Stateful, save_checkpoint
from sfa.training.interrupt import Interrupted
from sfa.training.progress import Progress
from sfa.training.run_folder import RunFolder

SECONDS = 600.0
"""A long epoch is saved on the way after so many seconds without a checkpoint."""


class Keeper:
    """Keeps the metrics and checkpoints of a run in its folder; of several processes the first alone writes.

    Args:
        folder: The run's.
        method: What is trained.
        optimizer: With what.
        others: What else a checkpoint keeps, by name.
        every: Epochs between checkpoints.
        epochs: How many there are to be.
        stop_requested: Whether this process was asked to stop. All of them stop at the same step.
    """

    def __init__(
        self,
        folder: RunFolder,
        method: nn.Module,
        optimizer: torch.optim.Optimizer,
        others: Mapping[str, Stateful],
        *,
        every: int,
        epochs: int,
        stop_requested: Callable[[], bool],
    ) -> None:
        self.folder = folder
        self.method = method
        self.optimizer = optimizer
        self.others = others
        self.every = every
        self.epochs = epochs
        self.stop_requested = stop_requested
        self.saved_at = time.monotonic()

    def after_step(self, progress: Progress) -> None:
        """Within an epoch: save if it has been long, or save and raise :class:`Interrupted` if asked to stop."""
        stopping = processes.any_of(self.stop_requested())
        if stopping or time.monotonic() - self.saved_at > SECONDS:
            self._save(progress)
        if stopping:
            raise self._interrupted(f"within epoch {progress.epoch + 1}")

    def after_epoch(self, progress: Progress, metrics: dict[str, Any]) -> None:
        """Between epochs: write the metrics, and save when it is due; if asked to stop, save and raise."""
        stopping = processes.any_of(self.stop_requested()) and not progress.finished
        if processes.rank() == 0:
            with _explained_if_the_disk_fails(self.folder):
                self.folder.append(metrics)
        if progress.finished or stopping or progress.epoch % self.every == 0:
            self._save(progress)
        if stopping:
            raise self._interrupted(f"after epoch {progress.epoch}")

    def _save(self, progress: Progress) -> None:
        if processes.rank() == 0:
            with _explained_if_the_disk_fails(self.folder):
                save_checkpoint(self.folder.checkpoint, self.method, self.optimizer, progress, self.others)
        self.saved_at = time.monotonic()

    def _interrupted(self, when: str) -> Interrupted:
        return Interrupted(f"Stopped {when} of {self.epochs}; {_go_on(self.folder)}")


@contextmanager
def _explained_if_the_disk_fails(folder: RunFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TrainingError(
            f"Cannot write to {folder.path} ({error.strerror or error}); what was written before is whole. "
            f"Once it can be written, {_go_on(folder)}"
        ) from error


def _go_on(folder: RunFolder) -> str:
    return f"go on with: sfa train --resume --out {shlex.quote(str(folder.path))}"
