"""Metrics and checkpoints in the run folder, and a clean end on Ctrl-C or SIGTERM."""

from __future__ import annotations

import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from sfa import distributed
from sfa.errors import InputError, SfaError, TrainingError
from sfa.train.callbacks import Callback
from sfa.train.checkpoint import load_checkpoint, save_checkpoint
from sfa.train.run_folder import RunFolder
from sfa.train.state import TrainingState

SECONDS = 600.0
"""Save within a long epoch after so many seconds without a checkpoint."""


class Interrupted(SfaError):
    """Training was stopped by the user; what was learned is saved."""

    exit_code = 130


class CheckpointCallback(Callback):
    """Write metrics and checkpoints to the run folder (rank 0 only).

    After Ctrl-C or SIGTERM it saves at the end of the current step and raises :class:`Interrupted`, in all processes at
    the same step.

    Args:
        folder: Of the run.
        every: Epochs between checkpoints.
        resume: Start from the folder's checkpoint, if there is one, and drop metrics of later epochs.
    """

    def __init__(self, folder: RunFolder, *, every: int = 25, resume: bool = False) -> None:
        self.folder = folder
        self.every = every
        self.resume = resume
        self._signals = ExitStack()

    def setup(self, state: TrainingState) -> None:
        keys = [each.state_key for each in state.callbacks if type(each).state_dict is not Callback.state_dict]
        if len({"model", "optimizer", *keys}) < len(keys) + 2:
            raise InputError(
                "Callbacks that have a state need a state_key each, other than model and optimizer, and these are "
                f"{', '.join(keys)}."
            )
        if self.resume:
            if self.folder.checkpoint.exists():
                state.progress = load_checkpoint(self.folder.checkpoint, state.method, state.optimizer, state.callbacks)
            if distributed.rank() == 0:
                state.started -= self.folder.rewind(state.epoch)
        self._saved_at = time.monotonic()
        self._stop_requested = self._signals.enter_context(stop_requests())

    def on_step_end(self, state: TrainingState) -> None:
        if state.step == state.num_steps:
            return
        stopping = distributed.any_of(self._stop_requested())
        if stopping or time.monotonic() - self._saved_at > SECONDS:
            self._save(state)
        if stopping:
            raise self._interrupted(f"within epoch {state.epoch + 1}", state)

    def on_epoch_end(self, state: TrainingState) -> None:
        is_last = distributed.any_of(state.should_stop)
        stopping = distributed.any_of(self._stop_requested()) and not is_last
        if distributed.rank() == 0:
            with self._translate_disk_errors():
                self.folder.append(state.metrics)
        if stopping or (state.epoch % self.every == 0 and not is_last):
            self._save(state)
        if stopping:
            raise self._interrupted(f"after epoch {state.epoch}", state)

    def on_train_end(self, state: TrainingState) -> None:
        self._save(state)

    def teardown(self, state: TrainingState) -> None:
        self._signals.close()

    def _save(self, state: TrainingState) -> None:
        if distributed.rank() == 0:
            with self._translate_disk_errors():
                save_checkpoint(self.folder.checkpoint, state.method, state.optimizer, state.progress, state.callbacks)
        self._saved_at = time.monotonic()

    def _interrupted(self, when: str, state: TrainingState) -> Interrupted:
        return Interrupted(f"Stopped {when} of {state.epochs}; {self._go_on()}")

    @contextmanager
    def _translate_disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise TrainingError(
                f"Cannot write to {self.folder.path} ({error.strerror or error}); what was written before is whole. "
                f"Once it can be written, {self._go_on()}"
            ) from error

    def _go_on(self) -> str:
        return f"go on with: sfa train --resume --out {shlex.quote(str(self.folder.path))}"


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Take Ctrl-C and SIGTERM as a request to stop after the current step, not in the middle of one.

    Inside, the first of them makes the yielded function return True; a second one acts as usual.
    """
    requested = False
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def request(number: int, frame: FrameType | None) -> None:
        nonlocal requested
        requested = True
        restore()

    def restore() -> None:
        for number, handler in previous.items():
            signal.signal(number, handler)

    for number in previous:
        signal.signal(number, request)
    try:
        yield lambda: requested
    finally:
        restore()
