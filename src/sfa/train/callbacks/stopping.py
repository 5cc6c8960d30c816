"""When training ends, and with which weights."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from sfa.train.callbacks.base import Callback, TrainingState


class EarlyStopping(Callback):
    """Stop when the running average of the loss has not improved for ``patience`` epochs."""

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_epoch_end(self, state: TrainingState) -> None:
        if state.progress.stale >= self.patience:
            state.stop()


class RestoreBest(Callback):
    """Keep the weights at the end of the epoch with the lowest mean loss, and restore them when training ends.

    A checkpoint on the way has both the current and the best weights; the final one has the best as the model's.
    """

    state_key = "best"

    def __init__(self) -> None:
        self.loss = math.inf
        self.weights: dict[str, Tensor] = {}

    def on_epoch_end(self, state: TrainingState) -> None:
        if state.metrics["loss"] < self.loss:
            self.loss = state.metrics["loss"]
            self.weights = {name: value.detach().clone() for name, value in state.method.state_dict().items()}

    def on_train_end(self, state: TrainingState) -> None:
        state.method.load_state_dict(self.weights)
        self.weights = {}

    def state_dict(self) -> dict[str, Tensor]:
        weights = {f"weights.{name}": value for name, value in self.weights.items()}
        return {"loss": torch.tensor(self.loss, dtype=torch.float64), **weights} if weights else {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.loss = state["loss"].item()
        self.weights = {name.removeprefix("weights."): value for name, value in state.items() if name != "loss"}
