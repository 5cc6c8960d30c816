"""Where a run's metrics can be watched, beside its own folder: TensorBoard, Weights & Biases, or one's own logger."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfa import distributed
from sfa.errors import InputError
from sfa.registry import register, resolve

Row = Mapping[str, Any]
"""Metrics of an ``epoch``, as the training loop gives them: numbers, lists of them, ``None``, or mappings of these."""


class Logger:
    """Takes a run's metrics as they come and shows them in a place of its own below the run's folder.

    :class:`~sfa.train.LoggerCallback` gives it the metrics of each epoch. Of a run that goes on, the log is written
    anew with the rows that are there: it is whole and has no step twice, whatever an interruption left of the old one.
    A logger is a subclass that overrides :meth:`log`, and what else it needs.

    Args:
        folder: Of the run.
        settings: What decided the run, such as the sections of a recipe: its hyperparameters.
        rows: Metrics of the epochs that are done already.
    """

    package: ClassVar[str | None] = None
    """What must be installed, and the extra of this project that brings it."""

    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        for row in rows:
            self.log(row)

    def log(self, row: Row) -> None:
        """Add the metrics of an epoch; those of one that is there already join it."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it logs: give it a method log(row).")

    def close(self) -> None:
        """Write what is still to be written."""

    def hint(self) -> str | None:
        """Return the command that shows the log, or its address; ``None`` if there is nothing to show."""
        return None

    @classmethod
    def check(cls) -> None:
        """Raise unless its package is installed."""
        try:
            import_module(cls.package or "sfa")
        except ImportError as error:
            raise InputError(
                f"Logging to {cls.package} needs the extra `{cls.package}`: pip install 'sfa[{cls.package}]'."
            ) from error


class Loggers:
    """Use the loggers of some names as one; one that fails is told of and left out, and training goes on.

    Of several processes the first alone logs. Use it in a ``with`` block, which closes them however it ends.

    Args:
        names: See ``sfa list loggers``. Each is taken once.
        tell: Is given a sentence on each that fails.

    Raises:
        InputError: A name is unknown, or its package is not installed.
    """

    def __init__(self, names: Sequence[str], tell: Callable[[str], None]) -> None:
        self._classes = {name: resolve("logger", name) for name in names}
        for logger in self._classes.values():
            logger.check()
        self._tell = tell
        self._open: dict[str, Logger] = {}

    def __enter__(self) -> Loggers:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        """Begin, or go on; see :class:`Logger`."""
        for name, logger in self._classes.items() if distributed.rank() == 0 else ():
            with self._left_out_if_it_fails(name):
                self._open[name] = logger(folder, settings, rows)

    def log(self, row: Row) -> None:
        """Add the metrics of an epoch."""
        self._call("log", row)

    def hints(self) -> list[str]:
        """Return the commands that show what the loggers have, of those that work and have something to show."""
        return [hint for hint in self._call("hint") if hint is not None]

    def close(self) -> None:
        """Write what is still to be written."""
        self._call("close")
        self._open.clear()

    def _call(self, method: str, *args: Any) -> list[Any]:
        results = []
        for name, logger in list(self._open.items()):
            with self._left_out_if_it_fails(name):
                results.append(getattr(logger, method)(*args))
        return results

    @contextmanager
    def _left_out_if_it_fails(self, name: str) -> Iterator[None]:
        try:
            yield
        except Exception as error:  # whatever another's program may raise
            with suppress(Exception):
                self._open.pop(name).close()
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            shown = " ".join(reason.split())[:200].rstrip(".")
            self._tell(
                f"Logging to {name} has ended ({shown}); the run goes on, and its metrics.jsonl has every epoch."
            )


def flatten(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the path of their keys.

    >>> flatten({"method": {"name": "grace", "tau": 0.4}, "feature_norm": "row"})
    {'method/name': 'grace', 'method/tau': 0.4, 'feature_norm': 'row'}
    """
    found: dict[str, Any] = {}
    for key, value in nested.items():
        inner = flatten(value) if isinstance(value, Mapping) else {"": value}
        found |= {f"{key}/{path}" if path else key: one for path, one in inner.items()}
    return found


def split_row(row: Row) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return the numbers of a row but for its epoch, and its lists, such as singular values, by their paths.

    >>> split_row({"epoch": 3, "loss": 0.5, "diagnostics": {"sigma": [2.0, 1.0], "uniformity": -1.5}})
    ({'loss': 0.5, 'diagnostics/uniformity': -1.5}, {'diagnostics/sigma': [2.0, 1.0]})
    """
    values = {path: value for path, value in flatten(row).items() if path != "epoch"}
    numbers = {path: value for path, value in values.items() if isinstance(value, int | float)}
    return numbers, {path: value for path, value in values.items() if isinstance(value, list)}


BINS = 30
"""Of a histogram; a feature map has as many singular values as it has columns, some hundred."""


@register("logger", "tensorboard")
class TensorBoard(Logger):
    """Curves and histograms in RUN/tensorboard, for `tensorboard --logdir`; no network.

    The recipe is in the tabs of text and of hyperparameters, whose metric is the loss. Events are written as they come
    and not by a thread of their own, as ``SummaryWriter`` would: what a full disk says is heard where it happens.
    """

    package = "tensorboard"

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

    package = "wandb"

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
