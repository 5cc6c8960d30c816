"""The training loop, from the first epoch to the last."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Literal

import torch
from torch import nn
from torch_geometric.data import Data

from sfa import processes
from sfa.errors import TrainingError
from sfa.evaluation import diagnose
from sfa.methods.base import FeatureMaps, Method
from sfa.sampling import Sampler, WholeGraph
from sfa.training.checkpoint import load_checkpoint
from sfa.training.devices import make_fabric
from sfa.training.interrupt import stop_requests
from sfa.training.keeper import Keeper
from sfa.training.progress import Progress
from sfa.training.run_folder import RunFolder
from sfa.training.schedule import learning_rate
from sfa.training.steps import Steps

OPTIMIZERS = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}


def train(
    method: nn.Module,
    graph: Data,
    *,
    epochs: int = 200,
    optimizer: Literal["adam", "adamw"] = "adam",
    lr: float = 5e-4,
    weight_decay: float = 1e-5,
    warmup: int = 0,
    cosine: bool = False,
    patience: int | None = 20,
    seed: int = 0,
    checkpoint_every: int = 25,
    diagnose_every: int = 0,
    device: str = "auto",
    folder: RunFolder | None = None,
    resume: bool = False,
    sampler: Callable[[Data], Sampler] = WholeGraph,
    on_step: Callable[[int, int, int, float], None] | None = None,
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> Progress:
    """Train a method on a graph, or on a set of graphs, in place.

    Args:
        method: A module that gives the loss of one step: ``method(graph, generator)``. For diagnostics it also takes
            ``observe``, as a :class:`~sfa.methods.Method` does.
        graph: The whole graph, or set of graphs.
        epochs: Passes over the nodes or graphs at most.
        optimizer: ``adam``, or ``adamw``, which decays the weights themselves.
        lr: Peak learning rate.
        weight_decay: L2 penalty of Adam, or decay of AdamW.
        warmup: Epochs of linear rise to ``lr``.
        cosine: Let the rate fall to zero along a cosine after the warm-up.
        patience: Stop when the running average of the loss has not improved for so many epochs; never, if ``None``.
        seed: Source of all randomness of the steps.
        checkpoint_every: Epochs between checkpoints, when there is a folder.
        diagnose_every: Epochs between two looks at the feature maps (:class:`~sfa.evaluation.Diagnostics`), which go
            with the metrics of the first epoch, of every multiple and of the last planned; never, if 0. Training is the
            same to the bit.
        device: See :func:`make_fabric`.
        folder: Where metrics and checkpoints go; nowhere, if ``None``.
        resume: Go on from the folder's checkpoint, if it has one. The result is the same to the bit.
        sampler: Makes of the graph what cuts an epoch into batches; the whole graph is one, if not given. Several
            processes (under ``torchrun``) share the seeds of each batch and act as one.
        on_step: Called after each step with its epoch, the steps done in it, the steps it has, and the loss.
        on_epoch: Called after each epoch with its metrics.

    Returns:
        How far training came and its best loss.
    """
    fabric = make_fabric(device)
    if fabric.world_size > 1:
        processes.synchronise(method)
    trained = [weights for weights in method.parameters() if weights.requires_grad]
    adam = OPTIMIZERS[optimizer](trained, lr=lr, weight_decay=weight_decay)
    model, wrapped_adam = fabric.setup(method, adam)
    model.train()
    steps = Steps(graph, sampler, seed, fabric.device)
    progress, seconds_before = Progress(), 0.0
    if resume and folder is not None:
        if folder.checkpoint.exists():
            progress = load_checkpoint(folder.checkpoint, method, adam)
        seconds_before = folder.rewind(progress.epoch) if fabric.is_global_zero else 0.0
    started = time.perf_counter() - seconds_before

    with _keeper(folder, method, adam, checkpoint_every, epochs) as keeper, processes.explained_if_lost():
        while not progress.finished:
            epoch, plan = progress.epoch, steps.plan(progress.epoch)
            seen: list[FeatureMaps] = []
            while progress.step < len(plan):
                step, is_last = progress.step, progress.step == len(plan) - 1
                now = epoch + step / len(plan)
                for group in adam.param_groups:
                    group["lr"] = learning_rate(now, peak=lr, epochs=epochs, warmup=warmup, cosine=cosine)

                look = is_last and _is_due(epoch + 1, epochs, diagnose_every)
                batch, generator = steps.batch(epoch, step, plan[step]), steps.generator(epoch, step)
                loss = model(batch, generator, **({"observe": seen.append} if look else {}))
                _require_finite(loss.item(), epoch, folder)
                wrapped_adam.zero_grad()
                fabric.backward(loss)
                wrapped_adam.step()
                if isinstance(method, Method):
                    method.after_step((epoch + (step + 1) / len(plan)) / epochs)
                _require_finite_weights(method, epoch, folder)

                progress = progress.after_step(loss.item())
                if on_step is not None:
                    on_step(epoch, progress.step, len(plan), loss.item())
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
                "lr": adam.param_groups[0]["lr"],
                "seconds": round(time.perf_counter() - started, 3),
                **({} if diagnostics is None else {"diagnostics": asdict(diagnostics)}),
            }
            if on_epoch is not None:
                on_epoch(metrics)
            if keeper is not None:
                keeper.after_epoch(progress, metrics)
    return progress


@contextmanager
def _keeper(
    folder: RunFolder | None, method: nn.Module, optimizer: torch.optim.Optimizer, every: int, epochs: int
) -> Iterator[Keeper | None]:
    """What saves the run; without a folder nothing is saved, and Ctrl-C acts as usual."""
    if folder is None:
        yield None
        return
    with stop_requests() as stop_requested:
        yield Keeper(folder, method, optimizer, every=every, epochs=epochs, stop_requested=stop_requested)


def _is_due(epoch: int, epochs: int, every: int) -> bool:
    """Whether a thing done at the first epoch, at every multiple and at the last is done at this one."""
    return every > 0 and (epoch in (1, epochs) or epoch % every == 0)


def _require_finite(loss: float, epoch: int, folder: RunFolder | None) -> None:
    if not math.isfinite(loss):
        raise _diverged(f"The loss is {loss}", epoch, folder)


def _require_finite_weights(method: nn.Module, epoch: int, folder: RunFolder | None) -> None:
    """A finite loss can still leave weights that are not: those are never saved nor handed back."""
    if not all(bool(torch.isfinite(weights).all()) for weights in method.parameters()):
        raise _diverged("The weights are no longer numbers", epoch, folder)


def _diverged(what: str, epoch: int, folder: RunFolder | None) -> TrainingError:
    kept = f" The last good checkpoint is kept in {folder.path}." if folder and folder.checkpoint.exists() else ""
    return TrainingError(
        f"{what} at epoch {epoch + 1}: try a smaller learning rate, a longer warm-up or a larger tau.{kept}"
    )
