"""The training loop, from the first epoch to the last."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
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
from sfa.train.callbacks import (
    Callback,
    DiagnosticsCallback,
    EarlyStopping,
    GradientScale,
    Progress,
    RestoreBest,
    TrainingState,
)
from sfa.train.checkpoint import CheckpointCallback
from sfa.train.fabric import PrecisionName, make_fabric
from sfa.train.optim import OptimizerName, learning_rate, make_optimizer, set_rate
from sfa.train.prefetch import parts_of_step, prefetch
from sfa.train.run_folder import RunFolder

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
        method: A module that returns the loss of one step, ``method(data, generator)``. For diagnostics and probes it
            also takes ``observe``, as a :class:`~sfa.methods.Method` does.
        data: The whole graph, or set of graphs or images.
        epochs: Passes over the nodes, graphs or images at most.
        optimizer: ``adam``, ``adamw``, ``sgd`` or ``lars`` (:class:`LARS`).
        lr: Peak learning rate.
        weight_decay: L2 penalty, or decay of AdamW.
        momentum: Of SGD and LARS.
        warmup: Epochs of linear rise to ``lr``.
        warmup_from: The rate that the rise begins at; see :func:`learning_rate`.
        cosine: Let the rate fall to zero along a cosine after the warm-up.
        precision: ``32``, or autocast to ``bf16-mixed`` or, on a GPU, ``16-mixed``; weights stay in float32.
        accumulate: Parts of the batch of a step whose gradients are added up to save memory; batch normalization,
            spectral maps and negatives see their part alone.
        patience: Epochs without progress before :class:`EarlyStopping`; never, if ``None``.
        restore_best: End with the weights of the epoch of lowest loss (:class:`RestoreBest`), not of the last.
        seed: Source of all randomness of the steps.
        checkpoint_every: Epochs between checkpoints.
        diagnose_every: Epochs between two diagnostics (:class:`DiagnosticsCallback`); never, if 0.
        device: See :func:`make_fabric`.
        sampler: Cuts an epoch into batches; see :class:`BatchPlan`. Processes started by ``torchrun`` share each batch.
        folder: Where metrics and checkpoints go (:class:`CheckpointCallback`); nowhere, if ``None``.
        resume: Continue from the checkpoint of the folder, if it has one. The result is the same to the bit.
        callbacks: Called after the built-in ones, but before metrics and checkpoints are written.
    """
    fabric = make_fabric(device, precision)
    if fabric.world_size > 1:
        distributed.enable_cross_rank(method)
    base_optimizer = make_optimizer(optimizer, method, lr=lr, weight_decay=weight_decay, momentum=momentum)
    learns = len(base_optimizer.param_groups[0]["params"]) > 0
    model, fabric_optimizer = (
        fabric.setup(method, base_optimizer) if learns else (fabric.to_device(method), base_optimizer)
    )
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

    with ExitStack() as stack, distributed.translate_connection_errors(), ThreadPoolExecutor(1, "batches") as thread:
        for callback in every_callback:
            stack.callback(callback.teardown, state)
            callback.setup(state)
        was_finished = state.progress.finished  # as a resumed run may be
        if was_finished:
            return state.progress
        hooks.before_training(batches.data)
        state.call("on_train_start")
        if not learns:  # one look at the data was all
            state.progress = Progress(epochs, finished=True)
        while not state.progress.finished:
            plan = batches.plan(state.epoch)
            state.num_steps = len(plan)
            parts = batches.rest(state.epoch, plan, state.step)
            parts = prefetch(thread, parts) if len(plan) > 1 else parts
            for _ in plan[state.step :]:
                rate = schedule(state.epochs_done)
                set_rate(base_optimizer, rate)
                hooks.before_step(state.epochs_done)
                state.call("on_step_start")

                fabric_optimizer.zero_grad()
                generator = batches.generator(state.epoch, state.step)
                state.loss = add_gradient(fabric, model, parts_of_step(parts), generator, state)
                require_finite(state.loss, f"The loss is {state.loss}", state.epoch, folder)
                hooks.after_backward()
                fabric_optimizer.step()
                losses = state.progress.step_losses + state.loss
                state.progress = replace(state.progress, step=state.step + 1, step_losses=losses)
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
    fabric: Fabric, model: Any, parts: Iterable[Part], generator: torch.Generator, state: TrainingState
) -> float:
    r"""Add the gradient of a step, and return its loss :math:`\sum_i s_i \mathcal{L}_i` over parts with shares ``s_i``.

    Memory holds one part at a time. Callbacks see its feature maps outside of autocast. Processes meet at the last one.
    """
    loss, observers = 0.0, [callback for callback in state.callbacks if callback.needs_feature_maps(state)]
    for part in parts:
        seen: list[FeatureMaps] = []
        with fabric.no_backward_sync(model, enabled=not part.is_last):
            part_loss = part.share * model(part.batch, generator, **({"observe": seen.append} if observers else {}))
            fabric.backward(part_loss)
        loss += part_loss.item()
        for callback, maps in product(observers, seen):
            callback.on_feature_maps(state, maps, part.batch)
    return loss


def require_finite(number: float, what: str, epoch: int, folder: RunFolder | None = None) -> None:
    """Raise a sentence about ``what`` in this epoch, counted from 0, unless the number is finite."""
    if not math.isfinite(number):
        kept = f" The last good checkpoint is kept in {folder.path}." if folder and folder.checkpoint.exists() else ""
        raise TrainingError(f"{what} at epoch {epoch + 1}: try a smaller learning rate or a larger tau.{kept}")
