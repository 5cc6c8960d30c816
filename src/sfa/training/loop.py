"""The training loop, from the first epoch to the last."""

from __future__ import annotations

import copy
import math
import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from typing import Any

import torch
from torch import nn
from torch_geometric.data import Data

from sfa.errors import TrainingError
from sfa.evaluation import diagnose
from sfa.methods.base import FeatureMaps
from sfa.seeding import step_generator
from sfa.training.checkpoint import load_checkpoint, save_checkpoint
from sfa.training.devices import make_fabric
from sfa.training.interrupt import Interrupted, stop_requests
from sfa.training.progress import Progress
from sfa.training.run_folder import RunFolder
from sfa.training.schedule import learning_rate


def train(
    method: nn.Module,
    graph: Data,
    *,
    epochs: int = 200,
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
    on_epoch: Callable[[dict[str, Any]], None] | None = None,
) -> Progress:
    """Train a method on one graph, in place.

    Args:
        method: A module that gives the loss of one step: ``method(graph, generator)``. For diagnostics it also takes
            ``observe``, as a :class:`~sfa.methods.ContrastiveMethod` does.
        graph: The whole graph, one step per epoch.
        epochs: Steps at most.
        lr: Peak learning rate of Adam.
        weight_decay: L2 penalty of Adam.
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
        on_epoch: Called after each epoch with its metrics.

    Returns:
        How far training came and its best loss.
    """
    fabric = make_fabric(device)
    optimizer = torch.optim.Adam(method.parameters(), lr=lr, weight_decay=weight_decay)
    model, wrapped_optimizer = fabric.setup(method, optimizer)
    model.train()
    graph = copy.copy(graph).to(fabric.device)  # PyG moves in place, and the caller's graph stays where it is
    progress, seconds_before = Progress(), 0.0
    if resume and folder is not None:
        if folder.checkpoint.exists():
            progress = load_checkpoint(folder.checkpoint, method, optimizer)
        seconds_before = folder.rewind(progress.epoch)
    started = time.perf_counter() - seconds_before

    # Without a folder there is nothing to save, and Ctrl-C acts as usual.
    with stop_requests() if folder else nullcontext(lambda: False) as stop_requested:
        while not progress.finished:
            epoch = progress.epoch
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(epoch, peak=lr, epochs=epochs, warmup=warmup, cosine=cosine)

            seen: list[FeatureMaps] = []
            observing = {"observe": seen.append} if _is_due(epoch + 1, epochs, diagnose_every) else {}
            loss = model(graph, step_generator(seed, epoch, fabric.device), **observing)
            _require_finite(loss.item(), epoch, folder)
            wrapped_optimizer.zero_grad()
            fabric.backward(loss)
            wrapped_optimizer.step()
            _require_finite_weights(method, epoch, folder)

            progress = progress.after(loss.item())
            exhausted = patience is not None and progress.stale >= patience
            progress = progress.finish_if(progress.epoch >= epochs or exhausted)
            diagnostics = diagnose(*seen[0]) if seen else None
            metrics = {
                "epoch": progress.epoch,
                "loss": loss.item(),
                "lr": optimizer.param_groups[0]["lr"],
                "seconds": round(time.perf_counter() - started, 3),
                **({} if diagnostics is None else {"diagnostics": asdict(diagnostics)}),
            }
            if on_epoch is not None:
                on_epoch(metrics)
            if folder is not None:
                stopping = stop_requested() and not progress.finished
                with _explained_if_the_disk_fails(folder):
                    folder.append(metrics)
                    if progress.finished or stopping or progress.epoch % checkpoint_every == 0:
                        save_checkpoint(folder.checkpoint, method, optimizer, progress)
                if stopping:
                    raise Interrupted(f"Stopped after epoch {progress.epoch} of {epochs}; {_go_on(folder)}")
    return progress


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


@contextmanager
def _explained_if_the_disk_fails(folder: RunFolder) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TrainingError(
            f"Cannot write to {folder.path} ({error.strerror or error}); what was written before is whole. "
            f"Once it can be written, {_go_on(folder)}"
        ) from error


def _go_on(folder: RunFolder) -> str:
    return f"go on with: sfa train --resume --out {shlex.quote(str(folder.path))}"
