"""Precision of the forward pass, and its state in a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from sfa.train.callbacks.base import Callback

if TYPE_CHECKING:
    from lightning_fabric.plugins import Precision

PrecisionName = Literal["32", "bf16-mixed", "16-mixed"]


class GradientScale(Callback):
    """Keep the scale of the loss under ``16-mixed``, and how long it has held; nothing in other precisions.

    Float16 gradients would vanish without it. It is halved when one overflows, whose step is then left out, and doubled
    after many that do not: a resumed run needs it.
    """

    state_key = "precision"

    def __init__(self, precision: Precision) -> None:
        self._precision = precision

    def state_dict(self) -> dict[str, Tensor]:
        numbers = self._precision.state_dict().items()
        return {
            name: torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else torch.int64)
            for name, value in numbers
        }

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._precision.load_state_dict({name: value.item() for name, value in state.items()})
