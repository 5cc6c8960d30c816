"""Stop training on non-finite losses or weights."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn.utils import get_total_norm

from sfa.errors import TrainingError
from sfa.train.run_folder import RunFolder


def require_finite(loss: float, epoch: int, folder: RunFolder | None) -> None:
    """Raise unless the loss of a step in this epoch (counted from 0) is finite."""
    if not math.isfinite(loss):
        raise _diverged(f"The loss is {loss}", epoch, folder)


def require_finite_weights(method: nn.Module, epoch: int, folder: RunFolder | None) -> None:
    """Raise unless the weights and their squared norm are finite: a finite loss does not imply it."""
    size = get_total_norm(list(method.parameters()))
    if not bool(torch.isfinite(size.square())):
        raise _diverged("The weights are no longer numbers", epoch, folder)


def _diverged(what: str, epoch: int, folder: RunFolder | None) -> TrainingError:
    kept = f" The last good checkpoint is kept in {folder.path}." if folder and folder.checkpoint.exists() else ""
    return TrainingError(
        f"{what} at epoch {epoch + 1}: try a smaller learning rate, a longer warm-up or a larger tau.{kept}"
    )
