"""What the layer does to the feature maps of a Lightning model, for its logger."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from sfa.errors import InputError
from sfa.evaluate import diagnose
from sfa.lightning.installed import (
    STEP_OUTPUT,
    Callback,
    LightningModule,
    Logger,
    TensorBoardLogger,
    Trainer,
    WandbLogger,
)
from sfa.lightning.method import LightningMethod
from sfa.methods.base import FeatureMaps
from sfa.ranges import check_whole
from sfa.spectral import SpectralMap


class SpectralDiagnostics(Callback):
    """Logs the spectrum, effective rank, uniformity and alignment of the feature maps before and after each layer.

    It looks at the last batch of the first epoch, of every multiple and of the last, and draws nothing: training is the
    same to the bit. Numbers are logged as ``spectral/effective_rank``, ``spectral/effective_rank_tilde`` and so on (see
    :class:`~sfa.evaluate.Diagnostics`), singular values as histograms where the logger is TensorBoard or Weights &
    Biases. Of a model with several layers the layer's name is part of theirs.

    A layer that is called twice in a step, on maps of one shape, is taken to see two views, and their alignment is
    logged.

    Args:
        every: Epochs between two looks.

    Attributes:
        history: What was seen, a row a layer: its ``epoch`` counted from 1, its ``layer`` and its diagnostics.
    """

    def __init__(self, every: int = 10) -> None:
        check_whole("every", every, 1)
        self.every = every
        self.history: list[dict[str, Any]] = []
        self._looking = False
        self._calls: dict[str, list[tuple[Tensor, Tensor]]] = {}
        self._shown: list[FeatureMaps] = []
        self._handles: list[RemovableHandle] = []

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if isinstance(pl_module, LightningMethod):  # it knows what its views are
            self._show_me(pl_module)
            return
        layers = {name: part for name, part in pl_module.named_modules() if isinstance(part, SpectralMap)}
        if not layers:
            raise InputError(
                f"{type(pl_module).__name__} has no spectral map to look at: put a layer such as "
                "sfa.SpectralFeatureAugmentation() between its encoder and its projector, or leave the callback out."
            )
        self._handles = [layer.register_forward_hook(self._hook(name)) for name, layer in layers.items()]

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, batch: Any, batch_idx: int) -> None:
        epoch = trainer.current_epoch + 1
        self._looking = trainer.is_last_batch and (epoch in (1, trainer.max_epochs) or epoch % self.every == 0)

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: STEP_OUTPUT, batch: Any, batch_idx: int
    ) -> None:
        if not self._looking:
            return
        self._looking = False
        seen = {"": self._shown[0]} if self._shown else {}
        seen |= {name if len(self._calls) > 1 else "": _as_views(calls) for name, calls in self._calls.items()}
        self._calls, self._shown = {}, []
        for name, maps in seen.items():
            diagnostics = diagnose(*maps)
            if diagnostics is None:
                continue
            row = asdict(diagnostics)
            self.history.append({"epoch": trainer.current_epoch + 1, "layer": name, **row})
            tags = {f"spectral/{name}/{key}" if name else f"spectral/{key}": value for key, value in row.items()}
            numbers = {tag: value for tag, value in tags.items() if isinstance(value, float)}
            pl_module.log_dict(numbers, on_step=False, on_epoch=True, batch_size=1)
            for tag, value in tags.items():
                if isinstance(value, list) and trainer.is_global_zero:
                    for logger in trainer.loggers:
                        _log_histogram(logger, tag, value, trainer.global_step)

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if isinstance(pl_module, LightningMethod):
            pl_module.observe = None

    def _show_me(self, module: LightningMethod) -> None:
        def see(maps: FeatureMaps) -> None:
            if self._looking:
                self._shown.append(maps)

        module.observe = see

    def _hook(self, name: str) -> Callable[[nn.Module, tuple[Any, ...], Tensor], None]:
        def see(layer: nn.Module, given: tuple[Any, ...], h_tilde: Tensor) -> None:
            if self._looking:
                self._calls.setdefault(name, []).append((_rows(given[0]), _rows(h_tilde)))

        return see


def _rows(h: Tensor) -> Tensor:
    return h.detach().flatten(0, -2)


def _as_views(calls: list[tuple[Tensor, Tensor]]) -> FeatureMaps:
    """The first two calls of a layer in a step, if their maps are of one shape; else the first."""
    (alpha, alpha_tilde), *others = calls
    if not others or others[0][0].shape != alpha.shape:
        return FeatureMaps(alpha, None, alpha_tilde, None)
    return FeatureMaps(alpha, others[0][0], alpha_tilde, others[0][1])


def _log_histogram(logger: Logger, tag: str, values: list[float], step: int) -> None:
    if isinstance(logger, TensorBoardLogger):
        logger.experiment.add_histogram(tag, torch.tensor(values), step)
    elif isinstance(logger, WandbLogger):
        import wandb

        logger.experiment.log({tag: wandb.Histogram(values), "trainer/global_step": step})
