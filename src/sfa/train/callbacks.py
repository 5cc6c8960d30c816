"""Callbacks: hooks at each stage of training, the state that they are given, and those that come with the package."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Any, cast

import torch
from annotated_types import Le
from pydantic import ConfigDict, FiniteFloat
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.evaluate import diagnose
from sfa.evaluate.online_probe import OnlineProbe
from sfa.methods.base import FeatureMaps, Method
from sfa.ranges import Natural
from sfa.train.loggers import Logger, Loggers

HOOKS = ("on_train_start", "on_step_start", "on_step_end", "on_epoch_end", "on_train_end")
WINDOW = 10  # epochs that the running average of the loss spans: random views make single losses too noisy
NotNaN = Annotated[float, Le(math.inf)]


@dataclass(frozen=True)
class Progress:
    """How far a run has come; the constraints are those of a checkpoint, from which it is read."""

    __pydantic_config__ = ConfigDict(extra="forbid", strict=True)

    epoch: Natural = 0  # completed
    loss: NotNaN = math.inf  # running average over epochs
    best_loss: NotNaN = math.inf  # its lowest value
    stale: Natural = 0  # epochs since then
    finished: bool = False
    step: Natural = 0  # completed in the current epoch
    step_losses: FiniteFloat = 0.0  # their sum

    def after(self, loss: float) -> Progress:
        """Return the progress after an epoch with this mean loss."""
        share = 1 / min(self.epoch + 1, WINDOW)
        average = loss if self.epoch == 0 else (1 - share) * self.loss + share * loss
        if self.epoch < WINDOW or average < self.best_loss:  # before, a chance-low first loss could not be beaten
            return Progress(self.epoch + 1, average, average)
        return Progress(self.epoch + 1, average, self.best_loss, self.stale + 1)


@dataclass
class TrainingState:
    """Where training is. Every hook gets it, and may add to :attr:`metrics` or call :meth:`stop`.

    ``epoch`` and ``step`` count completed epochs and completed steps of the current one.
    """

    method: nn.Module
    optimizer: torch.optim.Optimizer
    data: Data  # all data that the method is trained on
    epochs: int  # planned
    callbacks: Sequence[Callback]
    progress: Progress = field(default_factory=Progress)
    num_steps: int = 1  # of the current epoch
    loss: float = math.nan  # of the last step
    metrics: dict[str, Any] = field(default_factory=dict)  # of the last epoch, and what callbacks add
    should_stop: bool = False
    started: float = field(default_factory=time.perf_counter)

    @property
    def epoch(self) -> int:
        return self.progress.epoch

    @property
    def step(self) -> int:
        return self.progress.step

    @property
    def epochs_done(self) -> float:
        """Completed epochs, as a fraction within one."""
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

    def call(self, hook: str) -> None:
        """Call a hook of every callback, in their order."""
        for callback in self.callbacks:
            getattr(callback, hook)(self)


class Callback:
    """Base class of callbacks: override the hooks you need, and pass ``callbacks=[...]`` to :func:`sfa.train.train`.

    With several processes every one of them calls the hooks. Training stops when one of them asks for it.
    """

    @property
    def state_key(self) -> str:
        """Name of the callback's state in a checkpoint."""
        return type(self).__name__

    def setup(self, state: TrainingState) -> None:
        """Run first, before a checkpoint is loaded."""

    def on_train_start(self, state: TrainingState) -> None:
        """Run before the first step, or the first after a resume; not if the run has finished already."""

    def on_step_start(self, state: TrainingState) -> None:
        """Run before each step, with its learning rate set."""

    def needs_feature_maps(self, state: TrainingState) -> bool:
        """Return whether to call :meth:`on_feature_maps` in the next step; the method must then take ``observe``."""
        return False

    def on_feature_maps(self, state: TrainingState, maps: FeatureMaps, batch: Data) -> None:
        """Take the detached feature maps of a step and their batch, or of each part of it."""

    def on_step_end(self, state: TrainingState) -> None:
        """Run after each step."""

    def on_epoch_end(self, state: TrainingState) -> None:
        """Run after each epoch, before its metrics are written."""

    def on_train_end(self, state: TrainingState) -> None:
        """Run after the last epoch, before the final checkpoint; not after an interruption or an error."""

    def teardown(self, state: TrainingState) -> None:
        """Run last, however training ended."""

    def state_dict(self) -> dict[str, Tensor]:
        """Return the tensors that a checkpoint keeps."""
        return {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        """Restore what :meth:`state_dict` returned."""


class LambdaCallback(Callback):
    """Callback made of functions: ``LambdaCallback(on_epoch_end=lambda state: print(state.metrics))``."""

    def __init__(self, **hooks: Callable[[TrainingState], Any]) -> None:
        for name, function in hooks.items():
            if name not in HOOKS:
                raise unknown_name("hook", name, HOOKS)
            setattr(self, name, function)


@dataclass(eq=False)
class EarlyStopping(Callback):
    """Stop when the running average of the loss has not improved for ``patience`` epochs."""

    patience: int

    def on_epoch_end(self, state: TrainingState) -> None:
        if state.progress.stale >= self.patience:
            state.stop()


@dataclass(eq=False)
class RestoreBest(Callback):
    """Keep the weights of the epoch with the lowest mean loss, and restore them when training ends."""

    state_key = "best"
    loss: float = math.inf
    weights: dict[str, Tensor] = field(default_factory=dict)

    def on_epoch_end(self, state: TrainingState) -> None:
        if state.metrics["loss"] < self.loss:
            self.loss = state.metrics["loss"]
            self.weights = {name: value.detach().clone() for name, value in state.method.state_dict().items()}

    def on_train_end(self, state: TrainingState) -> None:
        if self.weights:  # a method that learns nothing has no epochs
            state.method.load_state_dict(self.weights)
        self.weights = {}

    def state_dict(self) -> dict[str, Tensor]:
        weights = {f"weights.{name}": value for name, value in self.weights.items()}
        return {"loss": torch.tensor(self.loss, dtype=torch.float64), **weights} if weights else {}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.loss = float(state["loss"].item())
        self.weights = {name.removeprefix("weights."): value for name, value in state.items() if name != "loss"}


@dataclass(eq=False)
class DiagnosticsCallback(Callback):
    """Add :class:`~sfa.evaluate.Diagnostics` of the last step of every so many epochs, the first and the last."""

    every: int
    _maps: FeatureMaps | None = None

    def needs_feature_maps(self, state: TrainingState) -> bool:
        epoch, is_last_step = state.epoch + 1, state.step + 1 == state.num_steps
        return is_last_step and (epoch in (1, state.epochs) or epoch % self.every == 0)

    def on_feature_maps(self, state: TrainingState, maps: FeatureMaps, batch: Data) -> None:
        self._maps = self._maps or maps  # the first part stands for the step

    def on_epoch_end(self, state: TrainingState) -> None:
        if self._maps and (diagnostics := diagnose(*self._maps)) is not None:
            state.metrics["diagnostics"] = asdict(diagnostics)
        self._maps = None


@dataclass(eq=False)
class OnlineProbeCallback(Callback):
    """Train a linear probe on the feature maps of every step, and add its accuracies as ``online``."""

    state_key = "online"
    probe: OnlineProbe

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


@dataclass(eq=False)
class FeatureStatistics(Callback):
    """Keep in checkpoints the statistics by which features were normalized; other data are normalized by the same."""

    state_key = "features"
    statistics: dict[str, Tensor] = field(default_factory=dict)

    def state_dict(self) -> dict[str, Tensor]:
        return self.statistics

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.statistics = state


@dataclass(eq=False)
class LoggerCallback(Callback):
    """Log the metrics of every epoch, also those that callbacks before this one added."""

    logger: Logger | Loggers

    def on_epoch_end(self, state: TrainingState) -> None:
        self.logger.log(state.metrics)
