"""Metrics for TensorBoard and for Weights & Biases, in the run folder."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from sfa.errors import InputError
from sfa.registry import register
from sfa.train.loggers.base import Logger, Row, flatten, split_row

BINS = 30
"""Of a histogram; a feature map has as many singular values as it has columns, some hundred."""


@register("logger", "tensorboard")
class TensorBoard(Logger):
    """Curves and histograms in RUN/tensorboard, for `tensorboard --logdir`; no network.

    The recipe is in the tabs of text and of hyperparameters, whose metric is the loss. Events are written as they come
    and not by a thread of their own, as ``SummaryWriter`` would: what a full disk says is heard where it happens.
    """

    package = extra = "tensorboard"

    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter
        from torch.utils.tensorboard import summary

        self._event: Any = Event
        self._summary: Any = summary
        self._place = folder / "tensorboard"
        self._place.mkdir(exist_ok=True)
        before = list(self._place.glob("events.out.tfevents.*"))
        # The relative time of TensorBoard is then that of training, whatever time lay between two parts of it.
        self._seconds = 0.0
        self._begun = time.time() - (float(rows[-1]["seconds"]) if rows else 0.0)
        self._file = (self._place / f"events.out.tfevents.{time.time_ns():020d}.sfa").open("xb")
        self._records = RecordWriter(self._file)
        try:
            self._write(0, file_version="brain.Event:2")
            # A TensorBoard that is open on the old file forgets what it has read of it.
            self._write(0, session_log=SessionLog(status=SessionLog.START))
            self._describe(settings)
            for row in rows:
                self.log(row)
        except BaseException:
            with suppress(OSError):
                self.close()
            raise
        for file in before:  # one that a TensorBoard may be open on is emptied: it would wait for it if it went
            if file.stat().st_size:
                os.truncate(file, 0)
            else:
                file.unlink()

    def log(self, row: Row) -> None:
        self._seconds = row.get("seconds", self._seconds)
        numbers, lists = split_row(row)
        parts = [self._summary.scalar(_tag(path), number) for path, number in numbers.items()]
        parts += [self._summary.histogram(_tag(path), np.asarray(one, float), BINS) for path, one in lists.items()]
        for part in parts:
            self._write(row["epoch"], summary=part)
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def hint(self) -> str:
        return f"tensorboard --logdir {shlex.quote(str(self._place))}"

    def _describe(self, settings: Mapping[str, Any]) -> None:
        chosen = {path: value for path, value in flatten(settings).items() if value is not None}
        chosen |= {k: json.dumps(v, default=str) for k, v in chosen.items() if not isinstance(v, int | float | str)}
        text = "\n".join(f"    {line}" for line in json.dumps(settings, indent=2, default=str).splitlines())
        parts = [*self._summary.hparams(chosen, {"loss": 0.0})[:2], self._summary.text("recipe", text)]
        for part in parts:
            self._write(0, summary=part)

    def _write(self, step: int, **content: Any) -> None:
        event = self._event(wall_time=self._begun + self._seconds, step=step, **content)
        self._records.write(event.SerializeToString())


def _tag(path: str) -> str:
    """Return a path in the letters that TensorBoard has."""
    return re.sub(r"[^a-zA-Z0-9/._-]", "_", path)


@register("logger", "wandb")
class WeightsAndBiases(Logger):
    """Curves and histograms in RUN/wandb, for `wandb sync`; offline, unless WANDB_MODE says otherwise.

    Its own environment variables hold as usual: ``WANDB_MODE=online`` sends metrics as they come, to an account that
    ``wandb login`` was called for; ``WANDB_PROJECT``, ``WANDB_ENTITY`` and ``WANDB_NAME`` say where to and under which
    name. Nothing is ever asked for at the keyboard.
    """

    package = extra = "wandb"

    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        if mode == "offline":
            os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # of its own faults, by network; read on import
        import wandb

        place = folder / "wandb"
        place.mkdir(exist_ok=True)
        if not os.access(place, os.W_OK):  # it would take a temporary folder instead
            raise PermissionError(f"{place} cannot be written to")
        if mode == "online" and not _is_logged_in(wandb):
            raise InputError("WANDB_MODE is online, and nobody is logged in: run `wandb login` first")
        # What was logged of this run before, the oldest first: run-TIME-ID or offline-run-TIME-ID.
        logged = {path.name.removeprefix("offline-"): path for path in place.glob("*run-*-*") if path.is_dir()}
        self._histogram: Any = wandb.Histogram
        self._run: Any = wandb.init(
            dir=str(folder),
            mode=mode,
            project=os.environ.get("WANDB_PROJECT", "sfa"),
            name=os.environ.get("WANDB_NAME", folder.resolve().name),
            id=max(logged).split("-", 2)[2] if logged else None,
            resume="allow" if mode == "online" else None,
            config=dict(settings),
            settings=wandb.Settings(silent=True, console="off", init_timeout=60),  # also where no network answers
        )
        self._begin = int(self._run.step)  # a server has the steps before, and takes none of them again
        for row in rows:
            self.log(row)
        for old in logged.values() if mode == "offline" else ():
            shutil.rmtree(old)

    def log(self, row: Row) -> None:
        if row["epoch"] >= self._begin:
            numbers, lists = split_row(row)
            histograms = {path: self._histogram(values) for path, values in lists.items()}
            self._run.log({**numbers, **histograms}, step=row["epoch"])

    def close(self) -> None:
        self._run.finish()

    def hint(self) -> str | None:
        own = Path(self._run.dir).parent
        if own.name.startswith("offline-"):
            return f"wandb sync {shlex.quote(str(own))}"
        return None if self._run.url is None else str(self._run.url)  # a run that is disabled has none


def _is_logged_in(wandb: Any) -> bool:
    """Tell whether there is an account to send to, without a question at the keyboard."""
    try:
        return bool(wandb.login(prompt=False))
    except TypeError:  # a version that cannot be told not to ask
        return wandb.api.api_key is not None
