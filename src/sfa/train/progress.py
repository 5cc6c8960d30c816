"""How far a run has come, and whether it still makes progress."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

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
        """Progress with one more step of this loss in the epoch."""
        return replace(self, step=self.step + 1, step_losses=self.step_losses + loss)

    def after_epoch(self) -> Progress:
        """Progress with the epoch's steps done: its loss is their mean."""
        return replace(self, step=0, step_losses=0.0).after(self.step_losses / self.step)

    def after(self, loss: float) -> Progress:
        """Progress with one more epoch of this loss."""
        share = 1 / min(self.epoch + 1, WINDOW)
        average = loss if self.epoch == 0 else (1 - share) * self.loss + share * loss
        if self.epoch < WINDOW or average < self.best_loss:  # before, a chance-low first loss could not be beaten
            return replace(self, epoch=self.epoch + 1, loss=average, best_loss=average, stale=0)
        return replace(self, epoch=self.epoch + 1, loss=average, stale=self.stale + 1)

    def finish_if(self, condition: bool) -> Progress:
        """Progress marked as complete, if it is."""
        return replace(self, finished=condition)
