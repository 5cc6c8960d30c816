"""Callbacks: hooks at each stage of training, and those that come with the package."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.evaluate import diagnose
from sfa.evaluate.online_probe import OnlineProbe
from sfa.methods.base import FeatureMaps, Method
from sfa.train.loggers import Logger, Loggers
from sfa.train.state import TrainingState

if TYPE_CHECKING:
    from lightning_fabric.plugins import Precision

Hook = Literal["on_train_start", "on_step_start", "on_step_end", "on_epoch_end", "on_train_end"]


class Callback:
    """Base class of callbacks: override the hooks you need, and pass ``callbacks=[...]`` to :func:`sfa.train.train`.

    With several processes every one of them calls the hooks. Training stops when one of them asks for it.
    """

    @property
    def state_key(self) -> str:
        """Name of the callback's state in a checkpoint."""
        return type(self).__name__

    def setup(self, state: TrainingState) -> None:
        """Called first, before a checkpoint is loaded."""

    def on_train_start(self, state: TrainingState) -> None:
        """Called before the first step, or the first after a resume; not if the run has finished already."""

    def on_step_start(self, state: TrainingState) -> None:
        """Called before each step, with its learning rate set."""

    def needs_feature_maps(self, state: TrainingState) -> bool:
        """Return whether :meth:`on_feature_maps` is to be called in the next step. The method must then observe."""
        return False

    def on_feature_maps(self, state: TrainingState, maps: FeatureMaps, batch: Data) -> None:
        """Called with the detached feature maps of a step and their batch, or of each part of it."""

    def on_step_end(self, state: TrainingState) -> None:
        """Called after each step."""

    def on_epoch_end(self, state: TrainingState) -> None:
        """Called after each epoch, before its metrics are written."""

    def on_train_end(self, state: TrainingState) -> None:
        """Called after the last epoch, before the final checkpoint; not after an interruption or an error."""

    def teardown(self, state: TrainingState) -> None:
        """Called last, however training ended."""

    def state_dict(self) -> dict[str, Tensor]:
        """Return the tensors that a checkpoint keeps."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned."""


class LambdaCallback(Callback):
    """Callback made of functions: ``LambdaCallback(on_epoch_end=lambda state: print(state.metrics))``."""

    def __init__(self, **hooks: Callable[[TrainingState], Any]) -> None:
        for name, function in hooks.items():
            if name not in get_args(Hook):
                raise unknown_name("hook", name, get_args(Hook))
            setattr(self, name, function)


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


class DiagnosticsCallback(Callback):
    """Add ``diagnostics`` of the feature maps (:class:`~sfa.evaluate.Diagnostics`) of an epoch's last step.

    Args:
        every: Epochs between two of them. The first and the last planned epoch always have some.
    """

    def __init__(self, every: int) -> None:
        self.every = every
        self._maps: FeatureMaps | None = None

    def needs_feature_maps(self, state: TrainingState) -> bool:
        epoch, is_last_step = state.epoch + 1, state.step + 1 == state.num_steps
        return is_last_step and (epoch in (1, state.epochs) or epoch % self.every == 0)

    def on_feature_maps(self, state: TrainingState, maps: FeatureMaps, batch: Data) -> None:
        self._maps = self._maps or maps  # the first part stands for the step

    def on_epoch_end(self, state: TrainingState) -> None:
        diagnostics = diagnose(*self._maps) if self._maps else None
        self._maps = None
        if diagnostics is not None:
            state.metrics["diagnostics"] = asdict(diagnostics)


class OnlineProbeCallback(Callback):
    """Train a linear probe on the feature maps of every step, and add its accuracies as ``online``."""

    state_key = "online"

    def __init__(self, probe: OnlineProbe) -> None:
        self.probe = probe

    def needs_feature_maps(self, state: TrainingState) -> bool:
        return True

    def on_feature_maps(self, state: TrainingState, maps: FeatureMaps, batch: Data) -> None:
        self.probe.observe(maps, batch)

    def on_epoch_end(self, state: TrainingState) -> None:
        state.metrics["online"] = self.probe.end_of_epoch(cast("Method", state.method), state.data)

    def state_dict(self) -> dict[str, Tensor]:
        return self.probe.state_dict()

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.probe.load_state_dict(state)


class LoggerCallback(Callback):
    """Log the metrics of every epoch, also those that callbacks before this one added."""

    def __init__(self, logger: Logger | Loggers) -> None:
        self.logger = logger

    def on_epoch_end(self, state: TrainingState) -> None:
        self.logger.log(state.metrics)


class GradientScale(Callback):
    """Keep the scale of the loss under ``16-mixed``, and how long it has held; nothing in other precisions.

    Float16 gradients would vanish without it. It is halved when one overflows, whose step is then left out, and doubled
    after many that do not: a resumed run needs it.
    """

    state_key = "precision"

    def __init__(self, precision: Precision) -> None:
        self._precision = precision

    def state_dict(self) -> dict[str, Tensor]:
        kept = self._precision.state_dict()
        return {key: torch.tensor(n, dtype=torch.float64 if isinstance(n, float) else None) for key, n in kept.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self._precision.load_state_dict({name: value.item() for name, value in state.items()})
