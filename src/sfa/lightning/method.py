"""A published method as a module that a Lightning ``Trainer`` trains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import processes
from sfa.errors import InputError
from sfa.lightning.installed import LightningModule
from sfa.methods.base import Method, Observer
from sfa.run import Recipe, load_recipe
from sfa.sampling import Sampler
from sfa.seeding import step_generator
from sfa.train.batch_plan import BatchPlan
from sfa.train.divergence import require_finite
from sfa.train.optimizers import OptimizerName, make_optimizer, set_rate
from sfa.train.schedule import learning_rate

if TYPE_CHECKING:
    from typing_extensions import Self


class LightningMethod(LightningModule):
    """A method with its optimiser, its schedule and its batches: ``Trainer(max_epochs=200).fit(LightningMethod(…))``.

    On one process and in precision 32 the weights are to the bit those of :func:`sfa.train.train` with the same
    arguments and ``patience=None``. Epochs, devices, precision, early stopping and checkpoints are the trainer's
    affair. ``Trainer.predict`` gives the embeddings.

    Args:
        method: What is trained, of :mod:`sfa.methods`.
        data: The graph, or set of graphs or images; if not given, a loader of batches as the method takes them goes to
            ``fit``, and another to ``predict``.
        optimizer: This and the next six as in :func:`sfa.train.train`.
        lr: Peak learning rate.
        weight_decay: L2 penalty, or decay of AdamW.
        momentum: Of SGD and LARS.
        warmup: Epochs of linear rise to ``lr``.
        warmup_from: The rate that the rise begins at.
        cosine: Let the rate fall to zero along a cosine after the warm-up.
        seed: Source of all randomness of the steps.
        sampler: Makes of the data what cuts an epoch into batches; if not given, a graph is one, and images come as
            :class:`~sfa.sampling.Images` gives them.
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
        self.method = method
        self.data = data
        self.optimizer_options = {"name": optimizer, "lr": lr, "weight_decay": weight_decay, "momentum": momentum}
        self.schedule = {"peak": lr, "warmup": warmup, "warmup_from": warmup_from, "cosine": cosine}
        self.seed = seed
        self.sampler = sampler
        self.observe: Observer | None = None
        """Is shown the feature maps of each step, if it is set."""
        self._batches: _Batches | None = None

    @classmethod
    def from_recipe(cls, recipe: str | Path | Mapping[str, Any], data: Data) -> Self:
        """A recipe's method and settings for these data; ``max_epochs`` and the like are to be given to the trainer.

        Args:
            recipe: A shipped name such as ``paper/cora``, a YAML file or a mapping.
            data: As :func:`sfa.data.load` gives them.
        """
        parsed = Recipe.parse(recipe) if isinstance(recipe, Mapping) else load_recipe(recipe)
        wanted = ("optimizer", "lr", "weight_decay", "momentum", "warmup", "warmup_from", "cosine", "seed")
        settings = {key: parsed.training.arguments[key] for key in wanted}
        return cls(parsed.build_for(data), parsed.prepare(data), sampler=parsed.make_sampler(), **settings)

    def setup(self, stage: str) -> None:
        """Check what the schedule needs; several processes act as one."""
        if stage == "fit" and (self.trainer.max_epochs or -1) < 1:
            raise InputError("LightningMethod has a schedule of epochs: give the Trainer max_epochs.")
        if self.trainer.world_size > 1:
            processes.synchronise(self.method)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return make_optimizer(method=self.method, **self.optimizer_options)  # type: ignore[arg-type]

    def train_dataloader(self) -> Iterable[Data]:
        if self.data is None:
            raise InputError("LightningMethod was given no data: give it some, or give Trainer.fit a loader.")
        plan = BatchPlan(self.data, self.sampler, self.seed, self.device)
        self._batches = _Batches(plan, lambda: self.current_epoch)
        return self._batches

    def on_train_batch_start(self, batch: Data, batch_idx: int) -> None:
        now = self.current_epoch + batch_idx / self._steps()
        rate = learning_rate(now, epochs=self._epochs(), **self.schedule)  # type: ignore[arg-type]
        set_rate(self.optimizers(use_pl_optimizer=False), rate)  # type: ignore[arg-type]
        self.method.before_step(now)
        self.log("lr", rate, on_step=True, on_epoch=False, batch_size=1)

    def training_step(self, batch: Data, batch_idx: int) -> Tensor:
        watched = {} if self.observe is None else {"observe": self.observe}
        loss: Tensor = self.method(batch, self._generator(batch_idx), **watched)
        require_finite(loss.item(), self.current_epoch, None)
        self.log("loss", loss, on_step=False, on_epoch=True, prog_bar=True, batch_size=1)
        return loss

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        self.method.after_backward()

    def optimizer_step(self, epoch: int, batch_idx: int, *args: Any, **kwargs: Any) -> None:
        super().optimizer_step(epoch, batch_idx, *args, **kwargs)
        self.method.after_step((epoch + (batch_idx + 1) / self._steps()) / self._epochs())

    def on_train_epoch_end(self) -> None:
        self.method.after_epoch(self._again())

    def predict_dataloader(self) -> Iterable[Data]:
        if self.data is None:
            raise InputError("LightningMethod was given no data: give it some, or give Trainer.predict a loader.")
        return _Once(self.data)

    def predict_step(self, batch: Data, batch_idx: int) -> Tensor:
        """Embeddings of the uncorrupted nodes, graphs or images."""
        return self.method.embed(batch)

    def _generator(self, step: int) -> torch.Generator:
        return step_generator(self.seed, self.current_epoch, step, rank=self.global_rank, device=self.device)

    def _epochs(self) -> int:
        return int(self.trainer.max_epochs or 1)

    def _steps(self) -> float:
        """Steps of this epoch; infinitely many of a loader that does not know."""
        return self.trainer.num_training_batches if self._batches is None else self._batches.count

    def _again(self) -> Iterator[tuple[Data, torch.Generator]]:
        """The batches of this epoch once more, with generators that none of its steps has had."""
        if self._batches is not None:
            yield from self._batches.again()
            return
        first = self.trainer.fit_loop.epoch_loop.batch_idx + 1
        for step, batch in enumerate(self.trainer.train_dataloader or ()):
            yield batch.to(self.device), self._generator(first + step)


class _Batches:
    """The batches of an epoch each time it is gone through; how many there are may change from epoch to epoch."""

    def __init__(self, plan: BatchPlan, epoch: Callable[[], int]) -> None:
        self._plan, self._epoch = plan, epoch
        self.count = 1

    def __iter__(self) -> Iterator[Data]:
        epoch = self._epoch()
        steps = self._plan.plan(epoch)
        self.count = len(steps)
        for step, seeds in enumerate(steps):
            (part,) = self._plan.parts(epoch, step, seeds)
            yield part.batch

    def again(self) -> Iterator[tuple[Data, torch.Generator]]:
        epoch = self._epoch()
        yield from self._plan.again(epoch, self._plan.plan(epoch))


class _Once:
    """All data as one batch; Lightning would look into a list."""

    def __init__(self, data: Data) -> None:
        self._data = data

    def __iter__(self) -> Iterator[Data]:
        yield self._data
