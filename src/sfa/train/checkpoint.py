"""Checkpoints: weights, optimizer state and progress in one safetensors file, replaced in one step."""

import json
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.optim import Optimizer

from sfa import distributed
from sfa.atomic import atomic_path
from sfa.errors import InputError, SfaError, TrainingError
from sfa.train.callbacks import Callback, Progress, TrainingState
from sfa.train.run_folder import RunFolder

SECONDS = 600.0  # without a checkpoint, after which one is saved within a long epoch


def save_checkpoint(
    path: Path, model: nn.Module, optimizer: Optimizer, progress: Progress, callbacks: Sequence[Callback] = ()
) -> None:
    """Write everything that a resumed run needs; names of the tensors of a callback begin with its ``state_key``."""
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in state.items()}
    for callback in callbacks:
        tensors |= {f"{callback.state_key}.{name}": value for name, value in callback.state_dict().items()}
    save_tensors(path, tensors, asdict(progress))


def load_checkpoint(
    path: Path, model: nn.Module, optimizer: Optimizer | None = None, callbacks: Sequence[Callback] = ()
) -> Progress:
    """Restore a model, its optimizer, and those callbacks that the checkpoint has a state of, in place."""
    tensors, meta = load_tensors(path)
    try:
        model.load_state_dict(_beginning_with("model", tensors))
        progress = Progress(**meta)
        for callback in callbacks:
            if state := _beginning_with(callback.state_key, tensors):
                callback.load_state_dict(state)
    except (RuntimeError, TypeError, KeyError) as error:
        raise InputError(f"The checkpoint {path} does not fit this recipe and data: {_first_line(error)}") from error
    if optimizer is None:
        return progress
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in _beginning_with("optimizer", tensors).items():
        index, key = name.split(".")
        states.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": states, "param_groups": optimizer.state_dict()["param_groups"]})
    # A file has no strides: in others than those of the weights, another loop with other rounding would be taken.
    for weights, kept in optimizer.state.items():
        for key, value in kept.items():
            if value.shape == weights.shape:
                kept[key] = torch.empty_like(weights, dtype=value.dtype).copy_(value)
    return progress


def save_tensors(path: Path, tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    """Replace a safetensors file, with JSON metadata, in one step."""
    contiguous = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        # Written by Python, so that a full disk is the OSError that it is.
        temporary.write_bytes(save(contiguous, metadata={"sfa": json.dumps(meta)}))


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read a file of :func:`save_tensors`; nothing in it is executed."""
    if not path.is_file():
        raise InputError(f"There is no checkpoint at {path}.")
    try:
        with safe_open(path, framework="pt") as file:
            meta = dict(json.loads((file.metadata() or {})["sfa"]).items())
            return {name: file.get_tensor(name) for name in file.keys()}, meta  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, KeyError, ValueError, AttributeError) as error:
        raise InputError(f"The checkpoint {path} is truncated or is not one of sfa's: {_first_line(error)}") from error


def _beginning_with(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]


class Interrupted(SfaError):
    """Training was stopped by the user; what was learned is saved."""

    exit_code = 130


class CheckpointCallback(Callback):
    """Write metrics and checkpoints to the run folder (rank 0 only).

    To ``resume`` is to start from the checkpoint of the folder, if there is one, and to drop metrics of later epochs.
    The first Ctrl-C or SIGTERM makes it save at the end of the current step and raise :class:`Interrupted`, in all
    processes at the same step, and says so; a second one acts as usual, at once.
    """

    def __init__(self, folder: RunFolder, *, every: int = 25, resume: bool = False) -> None:
        self.folder, self.every, self.resume = folder, every, resume
        self._stop_requested = False
        self._handlers: dict[int, Any] = {}
        self._go_on = f"go on with: sfa train --resume --out {shlex.quote(str(folder.path))}"

    def setup(self, state: TrainingState) -> None:
        keys = [each.state_key for each in state.callbacks if type(each).state_dict is not Callback.state_dict]
        if len({"model", "optimizer", *keys}) < len(keys) + 2:
            named = ", ".join(keys)
            raise InputError(f"Callbacks need a state_key each, other than model and optimizer, and have {named}.")
        if self.resume:
            if self.folder.checkpoint.exists():
                state.progress = load_checkpoint(self.folder.checkpoint, state.method, state.optimizer, state.callbacks)
            if distributed.rank() == 0:
                state.started -= self.folder.rewind(state.epoch)
        self._saved_at = time.monotonic()
        if threading.current_thread() is threading.main_thread():
            numbers = (signal.SIGINT, signal.SIGTERM)
            self._handlers = {number: signal.signal(number, self._request_stop) for number in numbers}

    def on_train_start(self, state: TrainingState) -> None:
        if distributed.any_of(self._stop_requested):  # while the method looked at all data
            raise Interrupted(f"Stopped before the first step; {self._go_on}")

    def on_step_end(self, state: TrainingState) -> None:
        if state.step < state.num_steps:
            is_due = time.monotonic() - self._saved_at > SECONDS
            self._save_or_stop(state, is_due, f"within epoch {state.epoch + 1}")

    def on_epoch_end(self, state: TrainingState) -> None:
        is_last = distributed.any_of(state.should_stop)
        self._write(lambda: self.folder.append(state.metrics))
        if not is_last:
            self._save_or_stop(state, state.epoch % self.every == 0, f"after epoch {state.epoch}")

    def on_train_end(self, state: TrainingState) -> None:
        self._save(state)

    def teardown(self, state: TrainingState) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _request_stop(self, number: int, frame: object) -> None:
        self._stop_requested = True
        for each, handler in self._handlers.items():
            signal.signal(each, handler)
        if distributed.rank() == 0:
            with suppress(RuntimeError, OSError):  # of a stream that is just being written to, or is closed
                print("stopping after this step; again to stop now", file=sys.stderr, flush=True)

    def _save_or_stop(self, state: TrainingState, is_due: bool, when: str) -> None:
        stopping = distributed.any_of(self._stop_requested)
        if stopping or is_due:
            self._save(state)
        if stopping:
            raise Interrupted(f"Stopped {when} of {state.epochs}; {self._go_on}")

    def _save(self, state: TrainingState) -> None:
        progress, path = state.progress, self.folder.checkpoint
        self._write(lambda: save_checkpoint(path, state.method, state.optimizer, progress, state.callbacks))
        self._saved_at = time.monotonic()

    def _write(self, write: Callable[[], None]) -> None:
        try:
            if distributed.rank() == 0:
                write()
        except OSError as error:
            reason = f"Cannot write to {self.folder.path} ({error.strerror or error})"
            raise TrainingError(f"{reason}; once it can be written, {self._go_on}") from error
