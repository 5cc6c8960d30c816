"""Checkpoints: weights, optimizer state and progress in one safetensors file, replaced in one step."""

import hashlib
import json
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter, ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.optim import Optimizer

from sfa import distributed
from sfa.atomic import atomic_path
from sfa.errors import InputError, SfaError, TrainingError, shortened
from sfa.folders import parse_json
from sfa.train.callbacks import Callback, Progress, TrainingState
from sfa.train.optim import state_names
from sfa.train.run_folder import RunFolder

DIGEST = "sha256"  # name of the tensor that tells whether the others are those that were written
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
    save_tensors(path, tensors | {DIGEST: _digest(tensors, asdict(progress))}, asdict(progress))


def load_checkpoint(
    path: Path,
    model: nn.Module,
    optimizer: Optimizer | None = None,
    callbacks: Sequence[Callback] = (),
    *,
    epochs: int | None = None,
) -> Progress:
    """Restore a model, its optimizer, and those callbacks that the checkpoint has a state of, in place.

    Raise if anything in it does not fit these, or a run of so many ``epochs``, or has values that are not finite.
    """
    tensors, meta = load_tensors(path)
    progress = _parse_progress(path, meta, epochs)
    try:
        _check_weights(tensors, model)
        states = None if optimizer is None else _optimizer_states(tensors, optimizer, progress)
        model.load_state_dict(beginning_with("model", tensors))
        for callback in callbacks:
            if state := beginning_with(callback.state_key, tensors):
                callback.load_state_dict(state)
    except (RuntimeError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise InputError(f"The checkpoint {path} does not fit this recipe and data: {shortened(str(error))}") from error
    if optimizer is None:
        return progress
    optimizer.load_state_dict({"state": states, "param_groups": optimizer.state_dict()["param_groups"]})
    # A file has no strides. With others than those of the weights, PyTorch takes another loop that rounds differently.
    for weights, kept in optimizer.state.items():
        for key, value in kept.items():
            if value.shape == weights.shape:
                kept[key] = torch.empty_like(weights, dtype=value.dtype).copy_(value)
    return progress


def read_progress(path: Path, epochs: int) -> Progress:
    """Return how far the run of a checkpoint has come, of so many epochs."""
    return _parse_progress(path, load_tensors(path)[1], epochs)


def _parse_progress(path: Path, meta: dict[str, Any], epochs: int | None) -> Progress:
    try:
        progress = TypeAdapter(Progress).validate_json(json.dumps({"epoch": None, **meta}))
        if epochs is not None and (progress.epoch > epochs or (progress.epoch == epochs and not progress.finished)):
            raise ValueError(f"it stands at epoch {progress.epoch}, and the recipe has {epochs} epochs")
        if progress.stale > progress.epoch or (progress.finished and progress.step):
            raise ValueError("its counts of epochs and steps contradict each other")
    except ValueError as error:
        problem = error.errors()[0] if isinstance(error, ValidationError) else None
        reason = error if problem is None else f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}"
        raise InputError(f"The checkpoint {path} is damaged: {shortened(str(reason))}.") from error
    return progress


def _check_weights(tensors: dict[str, Tensor], model: nn.Module) -> None:
    """Raise unless the weights of a model, the last and the best, are as its own, and all numbers are finite."""
    own, best = model.state_dict(), beginning_with("best.weights", tensors)
    if best and best.keys() != beginning_with("model", tensors).keys():
        raise ValueError("the best weights have other names than the last")
    for name, value in [*beginning_with("model", tensors).items(), *best.items()]:
        if name in own and not is_lazy(own[name]):
            _require_like(name, value, own[name].shape, own[name].dtype)
    for name, value in tensors.items():
        if name.startswith(("model.", "optimizer.", "best.", "features.")) and not value.isfinite().all():
            raise ValueError(f"{name} has values that are NaN or infinite")


def _optimizer_states(
    tensors: dict[str, Tensor], optimizer: Optimizer, progress: Progress
) -> dict[int, dict[str, Tensor]]:
    """Return the state of each of the weights, of which some may never have had a gradient."""
    weights = [one for group in optimizer.param_groups for one in group["params"]]
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in beginning_with("optimizer", tensors).items():
        index, _, key = name.partition(".")
        like = weights[int(index)]
        _require_like(f"optimizer.{name}", value, torch.Size() if key == "step" else like.shape, like.dtype)
        states.setdefault(int(index), {})[key] = value
    names = state_names(optimizer)
    if any(state.keys() != names for state in states.values()):
        raise ValueError(f"the state of the optimizer is not {' and '.join(sorted(names)) or 'empty'} of each weight")
    skipped = bool(beginning_with("precision", tensors))  # scaled gradients overflow at first, and then no step is made
    if names and weights and not states and not skipped and (progress.epoch or progress.step):
        raise ValueError("the state of the optimizer is missing")
    if any(state["step"] < 1 for state in states.values() if "step" in state):
        raise ValueError("the state of the optimizer is of no step")
    return states


def _require_like(name: str, value: Tensor, shape: torch.Size, dtype: torch.dtype) -> None:
    if (value.shape, value.dtype) != (shape, dtype):
        found = f"{name} is {value.dtype} of shape {tuple(value.shape)}"
        raise ValueError(f"{found}, where {dtype} of shape {tuple(shape)} is needed")


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
            meta = dict(parse_json((file.metadata() or {})["sfa"]).items())
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
            digest = tensors.pop(DIGEST, None)  # which older files do not have
            is_whole = digest is None or torch.equal(digest, _digest(tensors, meta))
    except (SafetensorError, OSError, LookupError, ValueError, TypeError, AttributeError, RuntimeError) as error:
        raise InputError(f"The checkpoint {path} is truncated or not one of sfa's: {shortened(str(error))}") from error
    if not is_whole:
        raise InputError(f"The checkpoint {path} is damaged: what it holds is not what was written.")
    return tensors, meta


def _digest(tensors: dict[str, Tensor], meta: dict[str, Any]) -> Tensor:
    """Return the SHA-256 of metadata, names, types, shapes and bytes."""
    sha = hashlib.sha256(json.dumps(meta).encode())
    for name, value in sorted(tensors.items()):
        sha.update(f"{name} {value.dtype} {tuple(value.shape)} ".encode())
        sha.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return torch.frombuffer(bytearray(sha.digest()), dtype=torch.uint8)


def beginning_with(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose names begin with ``prefix.``, by the rest of their names."""
    start = f"{prefix}."
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}


class Interrupted(SfaError):
    """Training was stopped by the user; what was learned is saved."""

    exit_code = 130


class CheckpointCallback(Callback):
    """Write metrics and checkpoints to the run folder (rank 0 only).

    To ``resume`` is to start from the checkpoint of the folder, if there is one, and to drop metrics of later epochs.
    Until training ends the folder is locked for other processes. The first Ctrl-C or SIGTERM makes it save at the end
    of the current step and raise :class:`Interrupted`, in all processes at the same step, and says so; a second one
    acts as usual, at once.
    """

    def __init__(self, folder: RunFolder, *, every: int = 25, resume: bool = False) -> None:
        self.folder, self.every, self.resume = folder, every, resume
        self._stop_requested = False
        self._handlers: dict[int, Any] = {}
        self._locked = ExitStack()
        self._go_on = f"go on with: sfa train --resume --out {shlex.quote(str(folder.path))}"

    def setup(self, state: TrainingState) -> None:
        keys = [each.state_key for each in state.callbacks if type(each).state_dict is not Callback.state_dict]
        if len({"model", "optimizer", *keys}) < len(keys) + 2:
            named = ", ".join(keys)
            raise InputError(f"Callbacks need a state_key each, other than model and optimizer, and have {named}.")
        if distributed.rank() == 0:
            self._locked.enter_context(self.folder.locked())
        if self.resume:
            if (path := self.folder.checkpoint).exists():
                kept = state.optimizer, state.callbacks
                state.progress = load_checkpoint(path, state.method, *kept, epochs=state.epochs)
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
        self._locked.close()

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
