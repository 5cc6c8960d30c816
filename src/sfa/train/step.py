"""The gradient of a step, part by part, and checks that its loss and the weights are finite."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import product
from typing import Any

import torch
from lightning_fabric import Fabric
from torch import nn
from torch.nn.utils import get_total_norm
from torch_geometric.data import Data

from sfa.errors import TrainingError
from sfa.methods.base import FeatureMaps
from sfa.train.batch_plan import Part
from sfa.train.run_folder import RunFolder


def add_gradient(
    fabric: Fabric,
    model: Any,
    parts: Iterable[Part],
    generator: torch.Generator,
    observers: Sequence[Callable[[FeatureMaps, Data], None]] = (),
) -> float:
    r"""Add the gradient of a step to that of the weights of a model that Fabric has set up, and return the loss.

    .. math::
        \mathcal{L} = \sum_i s_i \mathcal{L}_i

    over its parts with their shares :math:`s_i`, one after another: memory holds one at a time. Observers are shown the
    feature maps of a part when its gradient is done, outside of autocast. Processes meet at the last part alone.
    """
    loss = 0.0
    for part in parts:
        seen: list[FeatureMaps] = []
        with fabric.no_backward_sync(model, enabled=not part.is_last):
            part_loss = part.share * model(part.batch, generator, **({"observe": seen.append} if observers else {}))
            fabric.backward(part_loss)
        loss += part_loss.item()
        for observe, maps in product(observers, seen):
            observe(maps, part.batch)
    return loss


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
