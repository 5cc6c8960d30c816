"""Callbacks that add to the metrics of an epoch, or pass them on."""

from __future__ import annotations

from dataclasses import asdict
from typing import cast

from torch import Tensor
from torch_geometric.data import Data

from sfa.evaluate import diagnose
from sfa.evaluate.online_probe import OnlineProbe
from sfa.methods.base import FeatureMaps, Method
from sfa.train.callbacks.base import Callback, TrainingState
from sfa.train.loggers import Logger, Loggers


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
