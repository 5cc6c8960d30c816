"""The training loop, from the first epoch to the last."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import torch
from torch import nn
from torch.nn.utils import get_total_norm
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import TrainingError
from sfa.methods.base import FeatureMaps, TrainingHooks
from sfa.sampling import Sampler
from sfa.train.batch_plan import BatchPlan, Part
from sfa.train.callbacks import Callback, DiagnosticsCallback, EarlyStopping, GradientScale, RestoreBest
from sfa.train.checkpoint import CheckpointCallback
from sfa.train.fabric import PrecisionName, make_fabric
from sfa.train.optim import OptimizerName, learning_rate, make_optimizer, set_rate
from sfa.train.run_folder import RunFolder
from sfa.train.state import Progress, TrainingState

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def train(
    method: nn.Module,
    data: Data,
    *,
    epochs: int = 200,
    optimizer: OptimizerName = "adam",
    lr: float = 5e-4,
    weight_decay: float = 1e-5,
    momentum: float = 0.9,
    warmup: int = 0,
    warmup_from: float | None = None,
    cosine: bool = False,
    precision: PrecisionName = "32",
    accumulate: int = 1,
    patience: int | None = 20,
    restore_best: bool = False,
    seed: int = 0,
    checkpoint_every: int = 25,
    diagnose_every: int = 0,
    device: str | Fabric = "auto",
    sampler: Callable[[Data], Sampler] | None = None,
    folder: RunFolder | None = None,
    resume: bool = False,
    callbacks: Sequence[Callback] = (),
) -> Progress:
    """Train a method on a graph, or on a set of graphs or images, in place.

    Args:
        method: A module that gives the loss of one step: ``method(data, generator)``. For diagnostics and probes it
            also takes ``observe``, as a :class:`~sfa.methods.Method` does.
        data: The whole graph, or set of graphs or images.
        epochs: Passes over the nodes, graphs or images at most.
        optimizer: ``adam``; ``adamw``, which decays the weights themselves; ``sgd``; or :class:`LARS`, ``lars``.
        lr: Peak learning rate.
        weight_decay: L2 penalty, or decay of AdamW.
        momentum: Of SGD and LARS.
        warmup: Epochs of linear rise to ``lr``.
        warmup_from: The rate that the rise begins at; see :func:`learning_rate`.
        cosine: Let the rate fall to zero along a cosine after the warm-up.
        precision: Of the forward pass: ``32``, or autocast to half precision, ``bf16-mixed`` or, on a GPU,
            ``16-mixed``; weights stay in float32.
        accumulate: Parts that a step's batch is taken in, one after another, where memory does not hold it at once.
            Their gradients are added up, each by its share of the batch: of a loss that is a mean over rows, it is the
            gradient of the whole batch. But batch normalization, spectral maps and negatives see their part alone.
        patience: Epochs without progress before :class:`EarlyStopping`; never, if ``None``.
        restore_best: End with the weights of the epoch of lowest loss (:class:`RestoreBest`), not of the last.
        seed: Source of all randomness of the steps.
        checkpoint_every: Epochs between checkpoints, when there is a folder.
        diagnose_every: Epochs between two looks at the feature maps (:class:`DiagnosticsCallback`); never, if 0.
            Training is the same to the bit.
        device: See :func:`make_fabric`.
        sampler: Cuts an epoch into batches; see :class:`BatchPlan`. Several processes (under ``torchrun``) share the
            seeds of each batch and act as one.
        folder: Where metrics and checkpoints go (:class:`CheckpointCallback`); nowhere, if ``None``.
        resume: Go on from the folder's checkpoint, if it has one. The result is the same to the bit.
        callbacks: Called at each stage of training, in their order: after the built-in ones, but before metrics and
            checkpoints are written, so that what they add to the metrics is kept.

    Returns:
        How far training came and its best loss.
    """
    fabric = make_fabric(device, precision)
    if fabric.world_size > 1:
        distributed.enable_cross_rank(method)
    base_optimizer = make_optimizer(optimizer, method, lr=lr, weight_decay=weight_decay, momentum=momentum)
    model, fabric_optimizer = fabric.setup(method, base_optimizer)
    model.train()
    hooks = method if isinstance(method, TrainingHooks) else TrainingHooks()
    batches = BatchPlan(data, sampler, seed, fabric.device, accumulate)
    schedule = partial(learning_rate, peak=lr, epochs=epochs, warmup=warmup, warmup_from=warmup_from, cosine=cosine)
    every_callback = [
        GradientScale(fabric.strategy.precision),
        *([DiagnosticsCallback(diagnose_every)] if diagnose_every else []),
        *([EarlyStopping(patience)] if patience is not None else []),
        *([RestoreBest()] if restore_best else []),
        *callbacks,
        *([CheckpointCallback(folder, every=checkpoint_every, resume=resume)] if folder else []),
    ]
    state = TrainingState(method, base_optimizer, data, epochs, every_callback)

    with state.active_callbacks(), distributed.translate_connection_errors():
        was_finished = state.progress.finished  # as a resumed run may be
        if was_finished:
            return state.progress
        state.call("on_train_start")
        while not state.progress.finished:
            plan = batches.plan(state.epoch)
            state.num_steps = len(plan)
            for seeds in plan[state.step :]:
                rate = schedule(state.epochs_done)
                set_rate(base_optimizer, rate)
                hooks.before_step(state.epochs_done)
                state.call("on_step_start")

                fabric_optimizer.zero_grad()
                parts = batches.parts(state.epoch, state.step, seeds)
                generator = batches.generator(state.epoch, state.step)
                state.loss = add_gradient(fabric, model, parts, generator, state.observers())
                require_finite(state.loss, f"The loss is {state.loss}", state.epoch, folder)
                hooks.after_backward()
                fabric_optimizer.step()
                state.progress = state.progress.after_step(state.loss)
                hooks.after_step(state.epochs_done / epochs)
                size = float(get_total_norm(list(method.parameters())).square())  # a finite loss does not imply it
                require_finite(size, "The weights are no longer numbers", state.epoch, folder)
                state.call("on_step_end")

            hooks.after_epoch(batches.again(state.epoch, plan))
            state.end_epoch(rate)
            state.call("on_epoch_end")
            state.progress = replace(state.progress, finished=distributed.any_of(state.should_stop))
        state.call("on_train_end")
    return state.progress


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


def require_finite(number: float, what: str, epoch: int, folder: RunFolder | None = None) -> None:
    """Raise, with what is wrong, unless a number of a step in this epoch (counted from 0) is finite."""
    if not math.isfinite(number):
        kept = f" The last good checkpoint is kept in {folder.path}." if folder and folder.checkpoint.exists() else ""
        raise TrainingError(
            f"{what} at epoch {epoch + 1}: try a smaller learning rate, a longer warm-up or a larger tau.{kept}"
        )
