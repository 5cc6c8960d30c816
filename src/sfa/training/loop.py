"""The training loop, from the first epoch to the last."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, cast

import torch
from torch import nn
from torch_geometric.data import Data

from sfa import processes
from sfa.evaluation import diagnose
from sfa.evaluation.online_probe import OnlineProbe
from sfa.levels import level_of
from sfa.methods.base import FeatureMaps, Method
from sfa.sampling import Images, Sampler, WholeGraph
from sfa.training.checkpoint import Stateful, load_checkpoint
from sfa.training.devices import make_fabric
from sfa.training.divergence import require_finite, require_finite_weights
from sfa.training.gradient import Watcher, add_gradient
from sfa.training.interrupt import stop_requests
from sfa.training.keeper import Keeper
from sfa.training.optimizers import OptimizerName, make_optimizer, set_rate
from sfa.training.precision import GradientScale, PrecisionName
from sfa.training.progress import Progress
from sfa.training.run_folder import RunFolder
from sfa.training.schedule import learning_rate
from sfa.training.steps import Steps


def train(
    method: nn.Module,
    graph: Data,
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
    seed: int = 0,
    checkpoint_every: int = 25,
    diagnose_every: int = 0,
    device: str = "auto",
    folder: RunFolder | None = None,
    resume: bool = False,
    sampler: Callable[[Data], Sampler] | None = None,
    online_probe: OnlineProbe | None = None,
    on_step: Callable[[int, int, int, float], None] | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> Progress:
    """Train a method on a graph, or on a set of graphs or images, in place.

    Args:
        method: A module that gives the loss of one step: ``method(graph, generator)``. For diagnostics it also takes
            ``observe``, as a :class:`~sfa.methods.Method` does.
        graph: The whole graph, or set of graphs or images.
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
            gradient of the whole batch. But batch normalisation, spectral maps and negatives see their part alone.
        patience: Stop when the running average of the loss has not improved for so many epochs; never, if ``None``.
        seed: Source of all randomness of the steps.
        checkpoint_every: Epochs between checkpoints, when there is a folder.
        diagnose_every: Epochs between two looks at the feature maps (:class:`~sfa.evaluation.Diagnostics`), which go
            with the metrics of the first epoch, of every multiple and of the last planned; never, if 0. Training is the
            same to the bit.
        device: See :func:`make_fabric`.
        folder: Where metrics and checkpoints go; nowhere, if ``None``.
        resume: Go on from the folder's checkpoint, if it has one. The result is the same to the bit.
        sampler: Makes of the graph what cuts an epoch into batches; if not given, the whole graph is one, and images
            come as :class:`~sfa.sampling.Images` gives them. Several processes (under ``torchrun``) share the seeds of
            each batch and act as one.
        online_probe: Learns to classify images from their feature maps as they come; its metrics go with those of each
            epoch. Training is the same to the bit.
        on_step: Called after each step with its epoch, the steps done in it, the steps it has, and the loss.
        on_epoch: Called after each epoch with its metrics.

    Returns:
        How far training came and its best loss.
    """
    fabric = make_fabric(device, precision)
    if fabric.world_size > 1:
        processes.synchronise(method)
    moves = make_optimizer(optimizer, method, lr=lr, weight_decay=weight_decay, momentum=momentum)
    model, wrapped_moves = fabric.setup(method, moves)
    model.train()
    usual = Images if level_of(graph) == "image" else WholeGraph
    steps = Steps(graph, sampler or usual, seed, fabric.device, accumulate)
    others: dict[str, Stateful] = {"precision": GradientScale(fabric.strategy.precision)}
    if online_probe:
        others["online"] = online_probe
    progress, seconds_before = Progress(), 0.0
    if resume and folder is not None:
        if folder.checkpoint.exists():
            progress = load_checkpoint(folder.checkpoint, method, moves, others)
        seconds_before = folder.rewind(progress.epoch) if fabric.is_global_zero else 0.0
    started = time.perf_counter() - seconds_before

    with _keeper(folder, method, moves, others, checkpoint_every, epochs) as keeper, processes.explained_if_lost():
        while not progress.finished:
            epoch, plan = progress.epoch, steps.plan(progress.epoch)
            seen: list[FeatureMaps] = []
            while progress.step < len(plan):
                step, is_last = progress.step, progress.step == len(plan) - 1
                now = epoch + step / len(plan)
                rate = learning_rate(now, peak=lr, epochs=epochs, warmup=warmup, warmup_from=warmup_from, cosine=cosine)
                set_rate(moves, rate)
                if isinstance(method, Method):
                    method.before_step(now)

                look = is_last and _is_due(epoch + 1, epochs, diagnose_every)
                watchers = [*([online_probe.observe] if online_probe else []), *([_into(seen)] if look else [])]
                wrapped_moves.zero_grad()
                parts, generator = steps.parts(epoch, step, plan[step]), steps.generator(epoch, step)
                loss = add_gradient(fabric, model, parts, generator, watchers)
                require_finite(loss, epoch, folder)
                if isinstance(method, Method):
                    method.after_backward()
                wrapped_moves.step()
                if isinstance(method, Method):
                    method.after_step((epoch + (step + 1) / len(plan)) / epochs)
                require_finite_weights(method, epoch, folder)

                progress = progress.after_step(loss)
                if on_step is not None:
                    on_step(epoch, progress.step, len(plan), loss)
                if keeper is not None and not is_last:
                    keeper.after_step(progress)

            if isinstance(method, Method):
                method.after_epoch(steps.again(epoch, plan))
            mean_loss = progress.step_losses / progress.step
            progress = progress.after_epoch()
            exhausted = patience is not None and progress.stale >= patience
            progress = progress.finish_if(progress.epoch >= epochs or exhausted)
            diagnostics = diagnose(*seen[0]) if seen else None
            metrics = {
                "epoch": progress.epoch,
                "loss": mean_loss,
                "lr": rate,
                "seconds": round(time.perf_counter() - started, 3),
                **({} if diagnostics is None else {"diagnostics": asdict(diagnostics)}),
                **({"online": online_probe.end_of_epoch(cast("Method", method), graph)} if online_probe else {}),
            }
            if on_epoch is not None:
                on_epoch(metrics)
            if keeper is not None:
                keeper.after_epoch(progress, metrics)
    return progress


@contextmanager
def _keeper(
    folder: RunFolder | None,
    method: nn.Module,
    optimizer: torch.optim.Optimizer,
    others: Mapping[str, Stateful],
    every: int,
    epochs: int,
) -> Iterator[Keeper | None]:
    """What saves the run; without a folder nothing is saved, and Ctrl-C acts as usual."""
    if folder is None:
        yield None
        return
    with stop_requests() as stop_requested:
        yield Keeper(folder, method, optimizer, others, every=every, epochs=epochs, stop_requested=stop_requested)


def _into(seen: list[FeatureMaps]) -> Watcher:
    return lambda maps, batch: seen.append(maps)


def _is_due(epoch: int, epochs: int, every: int) -> bool:
    """Whether a thing done at the first epoch, at every multiple and at the last is done at this one."""
    return every > 0 and (epoch in (1, epochs) or epoch % every == 0)
