"""Train methods with PyTorch Lightning, and show what the layer does in a ``LightningModule`` of one's own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import InputError
from sfa.evaluate import diagnose
from sfa.methods.base import FeatureMaps, Method, Observer
from sfa.products import shapes_repeat
from sfa.ranges import check_whole
from sfa.run import load_recipe
from sfa.sampling import Sampler
from sfa.seeding import step_generator
from sfa.spectral import SpectralMap
from sfa.train.batch_plan import BatchPlan
from sfa.train.loggers import split_row
from sfa.train.loop import require_finite
from sfa.train.optim import OptimizerName, learning_rate, make_optimizer, set_rate

NAMES = ("lightning.pytorch", "pytorch_lightning")


def name_in_use() -> str:
    """Return the Lightning package that has been imported already, or else is installed; their classes differ."""
    for name in (*(name for name in NAMES if sys.modules.get(name) is not None), *NAMES):
        with suppress(ImportError):
            import_module(name)
            return name
    raise InputError("sfa.lightning needs the extra `lightning`: pip install 'sfa[lightning]'.")


if TYPE_CHECKING:
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.loggers import TensorBoardLogger, WandbLogger
else:
    _package = import_module(name_in_use())
    Callback, LightningModule = _package.Callback, _package.LightningModule
    _loggers = import_module(f"{_package.__name__}.loggers")
    TensorBoardLogger, WandbLogger = _loggers.TensorBoardLogger, _loggers.WandbLogger


class LightningMethod(LightningModule):
    """A method with its optimizer, its schedule and its batches: ``Trainer(max_epochs=200).fit(LightningMethod(…))``.

    On one process and in precision 32 the weights are to the bit those of :func:`sfa.train.train` with the same
    arguments and ``patience=None``. ``Trainer.predict`` gives the embeddings.

    Without ``data`` ``fit`` and ``predict`` need a loader of batches. Options are those of :func:`sfa.train.train`.
    """

    def __init__(
        self,
        method: Method,
        data: Data | None = None,
        *,
        optimizer: OptimizerName = "adam",
        lr: float = 5e-4,
        weight_decay: float = 1e-5,
        momentum: float = 0.9,
        warmup: int = 0,
        warmup_from: float | None = None,
        cosine: bool = False,
        seed: int = 0,
        sampler: Callable[[Data], Sampler] | None = None,
    ) -> None:
        super().__init__()
        self.save_hyperparameters(ignore=["method", "data", "sampler"])
        self.method, self.data, self.sampler, self.seed = method, data, sampler, seed
        self._make_optimizer = partial(make_optimizer, optimizer, lr=lr, weight_decay=weight_decay, momentum=momentum)
        self._rate = partial(learning_rate, peak=lr, warmup=warmup, warmup_from=warmup_from, cosine=cosine)
        self.observe: Observer | None = None  # is shown the feature maps of each step
        self._plan: BatchPlan | None = None
        self._steps: list[Tensor] = []

    @classmethod
    def from_recipe(cls, recipe: str | Path | Mapping[str, Any], data: Data) -> LightningMethod:
        """Build the method of a recipe (a shipped name such as ``paper/cora``, a YAML file or a mapping) for data."""
        parsed = load_recipe(recipe)
        wanted = ("optimizer", "lr", "weight_decay", "momentum", "warmup", "warmup_from", "cosine", "seed")
        settings = {key: parsed.training.arguments[key] for key in wanted}
        return cls(parsed.build_for(data), parsed.prepare(data), sampler=parsed.make_sampler(), **settings)

    def setup(self, stage: str) -> None:
        if stage == "fit" and (self.trainer.max_epochs or -1) < 1:
            raise InputError("LightningMethod has a schedule of epochs: give the Trainer max_epochs.")
        if self.trainer.world_size > 1:
            distributed.enable_cross_rank(self.method)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self._make_optimizer(self.method)

    def train_dataloader(self) -> Iterable[Data]:
        self._plan = BatchPlan(self._require_data("fit"), self.sampler, self.seed, self.device)
        return _Loader(self._batches)

    def on_train_batch_start(self, batch: Data, batch_idx: int) -> None:
        now = self.current_epoch + batch_idx / self._num_steps()
        rate = self._rate(now, epochs=int(self.trainer.max_epochs or 1))
        set_rate(self.optimizers(use_pl_optimizer=False), rate)  # type: ignore[arg-type]
        self.method.before_step(now)
        self.log("lr", rate, on_step=True, on_epoch=False, batch_size=1)

    def training_step(self, batch: Data, batch_idx: int) -> Tensor:
        watched = {} if self.observe is None else {"observe": self.observe}
        with shapes_repeat(self._has_one_size()):
            loss: Tensor = self.method(batch, self._generator(batch_idx), **watched)
        require_finite(loss.item(), f"The loss is {loss.item()}", self.current_epoch)
        self.log("loss", loss, on_step=False, on_epoch=True, prog_bar=True, batch_size=1)
        return loss

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        with shapes_repeat(self._has_one_size()):
            super().backward(loss, *args, **kwargs)

    def _has_one_size(self) -> bool:
        return self._plan is not None and self._plan.sampler.has_one_size

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        self.method.after_backward()

    def optimizer_step(self, epoch: int, batch_idx: int, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(epoch, batch_idx, *args, **kwargs)
        self.method.after_step((epoch + (batch_idx + 1) / self._num_steps()) / int(self.trainer.max_epochs or 1))

    def on_train_epoch_end(self) -> None:
        self.method.after_epoch(self._again())

    def predict_dataloader(self) -> Iterable[Data]:
        data = self._require_data("predict")
        return _Loader(lambda: iter([data]))

    def predict_step(self, batch: Data, batch_idx: int) -> Tensor:
        return self.method.embed(batch)

    def _require_data(self, stage: str) -> Data:
        if self.data is None:
            raise InputError(f"LightningMethod was given no data: give it some, or give Trainer.{stage} a loader.")
        return self.data

    def _generator(self, step: int) -> torch.Generator:
        return step_generator(self.seed, self.current_epoch, step, rank=self.global_rank, device=self.device)

    def _num_steps(self) -> float:
        """Return the number of steps of this epoch; infinity for a loader without length."""
        return self.trainer.num_training_batches if self._plan is None else len(self._steps)

    def _batches(self) -> Iterator[Data]:
        assert self._plan is not None
        self._steps = self._plan.plan(self.current_epoch)
        for step, seeds in enumerate(self._steps):
            (part,) = self._plan.parts(self.current_epoch, step, seeds)
            yield part.batch

    def _again(self) -> Iterator[tuple[Data, torch.Generator]]:
        """Yield the batches of this epoch once more, with generators that none of its steps has had."""
        if self._plan is not None:
            yield from self._plan.again(self.current_epoch, self._steps)
            return
        first = self.trainer.fit_loop.epoch_loop.batch_idx + 1
        for step, batch in enumerate(self.trainer.train_dataloader or ()):
            yield batch.to(self.device), self._generator(first + step)


class _Loader:
    """Batches that are made anew each time, in a number that may change; Lightning would look into a list."""

    def __init__(self, batches: Callable[[], Iterator[Data]]) -> None:
        self._batches = batches

    def __iter__(self) -> Iterator[Data]:
        return self._batches()


class SpectralDiagnostics(Callback):
    """Log :class:`~sfa.evaluate.Diagnostics` of the feature maps before and after each spectral map of a model.

    The last batch of the first epoch, of each epoch divisible by ``every`` and of the last epoch is observed. Numbers
    are logged as ``spectral/effective_rank``, ``spectral/effective_rank_tilde`` and so on, with the name of the layer
    if there are several, and singular values as histograms in TensorBoard or Weights & Biases. Two calls of a layer in
    a step are two views. The attribute ``history`` has a row for each ``epoch``, counted from 1, and ``layer``.
    """

    def __init__(self, every: int = 10) -> None:
        check_whole("every", every, 1)
        self.every = every
        self.history: list[dict[str, Any]] = []
        self._observing = False
        self._calls: dict[str, list[FeatureMaps]] = {}
        self._handles: list[RemovableHandle] = []

    def on_fit_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        if isinstance(pl_module, LightningMethod):  # it knows what its views are
            pl_module.observe = partial(self._record, "")
            return
        layers = {name: part for name, part in pl_module.named_modules() if isinstance(part, SpectralMap)}
        if not layers:
            raise InputError(f"{type(pl_module).__name__} has no spectral map to look at: add one to the model.")
        for name, layer in layers.items():
            self._handles.append(layer.register_forward_hook(partial(self._record_call, name)))

    def on_train_batch_start(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        epoch = trainer.current_epoch + 1
        self._observing = trainer.is_last_batch and (epoch in (1, trainer.max_epochs) or epoch % self.every == 0)

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *_: Any) -> None:
        seen = {name if len(self._calls) > 1 else "": _join_views(calls) for name, calls in self._calls.items()}
        self._observing, self._calls = False, {}
        for name, maps in seen.items():
            if (diagnostics := diagnose(*maps)) is None:
                continue
            row = asdict(diagnostics)
            self.history.append({"epoch": trainer.current_epoch + 1, "layer": name, **row})
            numbers, histograms = split_row({f"spectral/{name}" if name else "spectral": row})
            pl_module.log_dict(numbers, on_step=False, on_epoch=True, batch_size=1)
            for logger, (tag, value) in product(trainer.loggers if trainer.is_global_zero else (), histograms.items()):
                if isinstance(logger, TensorBoardLogger):
                    logger.experiment.add_histogram(tag, torch.tensor(value), trainer.global_step)
                elif isinstance(logger, WandbLogger):
                    histogram = import_module("wandb").Histogram(value)
                    logger.experiment.log({tag: histogram, "trainer/global_step": trainer.global_step})

    def teardown(self, trainer: Trainer, pl_module: LightningModule, stage: str) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles = []
        if isinstance(pl_module, LightningMethod):
            pl_module.observe = None

    def _record(self, name: str, maps: FeatureMaps) -> None:
        if self._observing:
            self._calls.setdefault(name, []).append(maps)

    def _record_call(self, name: str, layer: nn.Module, given: tuple[Any, ...], h_tilde: Tensor) -> None:
        h, h_tilde = (one.detach().flatten(0, -2) for one in (given[0], h_tilde))
        self._record(name, FeatureMaps(h, None, h_tilde, None))


def _join_views(calls: list[FeatureMaps]) -> FeatureMaps:
    """Return the first two calls of a layer in a step as two views if their maps have one shape, else the first."""
    first, *others = calls
    if first.h_beta is not None or not others or others[0].h_alpha.shape != first.h_alpha.shape:
        return first
    return FeatureMaps(first.h_alpha, others[0].h_alpha, first.h_tilde_alpha, others[0].h_tilde_alpha)
