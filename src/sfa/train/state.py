"""How far training has come, and the state that callbacks are handed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch_geometric.data import Data

from sfa.methods.base import FeatureMaps

if TYPE_CHECKING:
    from sfa.train.callbacks import Callback, Hook

WINDOW = 10
"""Epochs that the running average of the loss spans; random views make single losses too noisy to judge progress by."""


@dataclass(frozen=True)
class Progress:
    """How far a run has come."""

    epoch: int = 0
    """Epochs completed."""
    loss: float = math.inf
    """Running average of the loss."""
    best_loss: float = math.inf
    """The lowest that average has been, once it has settled."""
    stale: int = 0
    """Epochs since then."""
    finished: bool = False
    step: int = 0
    """Steps completed of the epoch that is under way."""
    step_losses: float = 0.0
    """Sum of their losses."""

    def after_step(self, loss: float) -> Progress:
        """Return the progress after one more step of this loss in the epoch."""
        return replace(self, step=self.step + 1, step_losses=self.step_losses + loss)

    def after(self, loss: float) -> Progress:
        """Return the progress after an epoch with this mean loss."""
        share = 1 / min(self.epoch + 1, WINDOW)
        average = loss if self.epoch == 0 else (1 - share) * self.loss + share * loss
        done = replace(self, epoch=self.epoch + 1, loss=average, step=0, step_losses=0.0)
        if self.epoch < WINDOW or average < self.best_loss:  # before, a chance-low first loss could not be beaten
            return replace(done, best_loss=average, stale=0)
        return replace(done, stale=self.stale + 1)


@dataclass
class TrainingState:
    """Where training is. Every hook gets it, and may add to :attr:`metrics` or call :meth:`stop`."""

    method: nn.Module
    """The module that is trained."""
    optimizer: torch.optim.Optimizer
    data: Data
    """All data that it is trained on."""
    epochs: int
    """Epochs planned."""
    callbacks: Sequence[Callback]
    progress: Progress = field(default_factory=Progress)
    num_steps: int = 1
    """Steps of the current epoch."""
    loss: float = float("nan")
    """Loss of the last step."""
    metrics: dict[str, Any] = field(default_factory=dict)
    """Row of the epoch that has just ended: ``epoch``, ``loss``, ``lr``, ``seconds``, and what callbacks add."""
    should_stop: bool = False
    started: float = field(default_factory=time.perf_counter)

    @property
    def epoch(self) -> int:
        """Epochs completed."""
        return self.progress.epoch

    @property
    def step(self) -> int:
        """Steps completed of the current epoch."""
        return self.progress.step

    @property
    def epochs_done(self) -> float:
        """Epochs completed, as a fraction within one."""
        return self.epoch + self.step / self.num_steps

    def stop(self) -> None:
        """Make this epoch the last one."""
        self.should_stop = True

    def end_epoch(self, rate: float) -> None:
        """Count the current epoch as completed, and begin its row of metrics."""
        mean_loss = self.progress.step_losses / self.progress.step
        self.progress = self.progress.after(mean_loss)
        self.should_stop = self.should_stop or self.epoch >= self.epochs
        seconds = round(time.perf_counter() - self.started, 3)
        self.metrics = {"epoch": self.epoch, "loss": mean_loss, "lr": rate, "seconds": seconds}

    def call(self, hook: Hook) -> None:
        """Call a hook of every callback, in their order."""
        for callback in self.callbacks:
            getattr(callback, hook)(self)

    def observers(self) -> list[Callable[[FeatureMaps, Data], None]]:
        """Return what is to see the feature maps of the next step."""
        return [partial(each.on_feature_maps, self) for each in self.callbacks if each.needs_feature_maps(self)]

    @contextmanager
    def active_callbacks(self) -> Iterator[None]:
        """Set all callbacks up, and tear them down however training ends."""
        with ExitStack() as stack:
            for callback in self.callbacks:
                stack.callback(callback.teardown, self)
                callback.setup(self)
            yield
