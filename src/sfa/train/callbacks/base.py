"""The hooks of a callback, and the state of training that they are handed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import unknown_name
from sfa.methods.base import FeatureMaps
from sfa.train.progress import Progress

Hook = Literal["on_train_start", "on_step_start", "on_step_end", "on_epoch_end", "on_train_end"]


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
        self.progress = self.progress.after_epoch()
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
