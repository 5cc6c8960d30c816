"""The training loop, from the first epoch to the last, and the device, precision and processes that it runs on."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor, cuda, nn
from torch.nn.utils import get_total_norm
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import InputError, TrainingError, quoted
from sfa.memory import translate_memory_errors
from sfa.methods.base import FeatureMaps, Method, TrainingHooks
from sfa.products import shapes_repeat
from sfa.sampling import Sampler
from sfa.train.batch_plan import BatchPlan, Part, prefetch
from sfa.train.callbacks import (
    Callback,
    DiagnosticsCallback,
    EarlyStopping,
    LambdaCallback,
    Progress,
    RestoreBest,
    TrainingState,
)
from sfa.train.checkpoint import CheckpointCallback
from sfa.train.optim import OptimizerName, learning_rate, make_optimizer, set_rate
from sfa.train.run_folder import RunFolder

if TYPE_CHECKING:
    from lightning_fabric import Fabric
    from lightning_fabric.plugins import Precision

PrecisionName = Literal["32", "bf16-mixed", "16-mixed"]


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
        optimizer: ``adam``, ``adamw``, ``sgd`` or ``lars`` (:class:`LARS`); ``momentum`` is that of the last two.
        lr: Peak learning rate; see :func:`learning_rate` for ``warmup``, ``warmup_from`` and ``cosine``.
        weight_decay: L2 penalty, or decay of AdamW.
        precision: ``32``, or autocast to ``bf16-mixed`` or, on a GPU, ``16-mixed``; weights stay in float32.
        accumulate: Parts of the batch of a step whose gradients are added up to save memory; batch normalization,
            spectral maps and negatives see their part alone.
        patience: Epochs without progress before :class:`EarlyStopping`; never, if ``None``.
        restore_best: End with the weights of the epoch of lowest loss (:class:`RestoreBest`), not of the last.
        seed: Source of all randomness of the steps.
        diagnose_every: Epochs between two diagnostics (:class:`DiagnosticsCallback`); never, if 0.
        device: See :func:`make_fabric`.
        sampler: Cuts an epoch into batches; see :class:`BatchPlan`. Processes started by ``torchrun`` share each batch.
        folder: Where metrics and, every ``checkpoint_every`` epochs, checkpoints go; nowhere, if ``None``.
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
        LambdaCallback(on_train_end=lambda _: hooks.after_training(batches.data)),
        *callbacks,
        *([CheckpointCallback(folder, every=checkpoint_every, resume=resume)] if folder else []),
    ]
    state = TrainingState(method, base_optimizer, data, epochs, every_callback)

    advice = getattr(method, "saves_memory", Method.saves_memory)
    with (
        translate_memory_errors(advice),
        ExitStack() as stack,
        distributed.translate_connection_errors(),
        shapes_repeat(batches.sampler.has_one_size),
        ThreadPoolExecutor(1, "batches") as thread,
    ):
        for callback in every_callback:
            stack.callback(callback.teardown, state)
            callback.setup(state)
        if state.progress.finished:  # as a resumed run may be
            return state.progress
        hooks.before_training(batches.data)
        state.call("on_train_start")
        if not learns:  # one look at the data was all
            state.progress = Progress(epochs, finished=True)
        while not state.progress.finished:
            plan = batches.plan(state.epoch)
            state.num_steps = len(plan)
            if state.step >= len(plan):
                raise InputError(f"The checkpoint stands at step {state.step} of an epoch that has {len(plan)} steps.")
            parts = batches.rest(state.epoch, plan, state.step)
            parts = prefetch(thread, parts) if len(plan) > 1 else parts
            for _ in plan[state.step :]:
                rate = schedule(state.epochs_done)
                set_rate(base_optimizer, rate)
                hooks.before_step(state.epochs_done)
                state.call("on_step_start")

                fabric_optimizer.zero_grad()
                generator = batches.generator(state.epoch, state.step)
                state.loss = add_gradient(fabric, model, parts, generator, state)
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
    fabric: Fabric, model: Any, parts: Iterator[Part], generator: torch.Generator, state: TrainingState
) -> float:
    r"""Add the gradient of a step, and return its loss :math:`\sum_i s_i \mathcal{L}_i` over parts with shares ``s_i``.

    The parts of later steps are left. Callbacks see feature maps outside of autocast. Processes meet at the last part.
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
        if part.is_last:
            break
    return loss


def require_finite(number: float, what: str, epoch: int, folder: RunFolder | None = None) -> None:
    """Raise a sentence about ``what`` in this epoch, counted from 0, unless the number is finite."""
    if not math.isfinite(number):
        kept = f" The last good checkpoint is kept in {folder.path}." if folder and folder.checkpoint.exists() else ""
        raise TrainingError(f"{what} at epoch {epoch + 1}: try a smaller learning rate or a larger tau.{kept}")


def make_fabric(device: str | Fabric = "auto", precision: PrecisionName = "32") -> Fabric:
    """Make Lightning Fabric on one device: ``cpu``, ``cuda``, ``cuda:1``, or ``auto``, a GPU if there is one.

    A process joins the others of its process group, or those that a launcher started with it: one device a process,
    gloo on CPUs and NCCL on GPUs.
    """
    from lightning_fabric import Fabric  # slow to import, and embedding needs none

    from sfa.train.launchers import OneDeviceEach, count_processes, join, own_gpu

    if isinstance(device, Fabric):
        if device.world_size != distributed.world_size():
            own = f"The process group has {distributed.world_size()} processes, and the Fabric {device.world_size}"
            raise InputError(f"{own}: launch the Fabric with all of them, or leave the device to sfa.")
        return device
    name, colon, index = device.partition(":")
    if colon and not (index.isdecimal() and len(index) < 4 and (name != "cpu" or int(index) == 0)):
        raise InputError(f"The device is auto, cpu, cuda or, of several, cuda:1, not {quoted(device)}.")
    if name == "mps":
        raise InputError("The device 'mps' cannot be used: PyTorch has no sparse matrices on it. Use cpu.")
    if name == "auto":
        name = "cuda" if cuda.is_available() else "cpu"
    if name == "cpu" and precision == "16-mixed":
        raise InputError("The precision 16-mixed needs a GPU, and training is on the CPU: take bf16-mixed, or 32.")
    logging.getLogger("lightning_fabric").setLevel(logging.WARNING)  # it tells standard error of each thing it is asked
    total = count_processes()
    devices = [int(index)] if index and name != "cpu" else [own_gpu()] if name == "cuda" and total > 1 else 1
    kind: Any = {"strategy": "ddp" if total > 1 else "auto", "num_nodes": total, "plugins": OneDeviceEach()}
    try:
        fabric = Fabric(accelerator=name, devices=devices, precision=precision, **kind)
    except (ValueError, RuntimeError, ImportError) as error:
        raise InputError(f"The device {device!r} cannot be used here (see `sfa doctor`): {error}") from error
    if total > 1:
        join(fabric)
    return fabric


@dataclass(eq=False)
class GradientScale(Callback):
    """Keep the scale of the loss under ``16-mixed`` in checkpoints; other precisions have none."""

    state_key = "precision"
    precision: Precision

    def state_dict(self) -> dict[str, Tensor]:
        kept = self.precision.state_dict()
        return {key: torch.tensor(n, dtype=torch.float64 if isinstance(n, float) else None) for key, n in kept.items()}

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.precision.load_state_dict({name: value.item() for name, value in state.items()})
