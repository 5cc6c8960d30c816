"""Loggers that show the metrics of a run outside its folder: TensorBoard, Weights & Biases, or one's own."""

import json
import os
import re
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sfa import distributed
from sfa.errors import InputError
from sfa.registry import register, resolve

Row = Mapping[str, Any]  # metrics of an ``epoch``: numbers, lists of them, ``None``, or mappings of these


class Logger:
    """Base class of loggers: override :meth:`log`, and pass a :class:`~sfa.train.LoggerCallback` to training.

    A logger writes to a place of its own below the run folder. ``settings`` are hyperparameters, such as the sections
    of a recipe; from ``rows``, metrics of completed epochs, a resumed run writes its log anew.
    """

    package: ClassVar[str | None] = None  # what must be installed, and the extra of this project that brings it

    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        for row in rows:
            self.log(row)

    def log(self, row: Row) -> None:
        """Add metrics of an epoch, which may have some already."""
        raise NotImplementedError(f"{type(self).__name__} does not say what it logs: give it a method log(row).")

    def close(self) -> None:
        """Write what is still to be written."""

    def hint(self) -> str | None:
        """Return the command that shows the log, or its address; ``None`` if there is nothing to show."""
        return None


class Loggers(AbstractContextManager["Loggers"]):
    """Use several loggers as one, in a ``with`` block, which closes them; only the first process logs.

    A logger that fails is reported to ``tell`` and left out, and training goes on.
    """

    def __init__(self, names: Sequence[str], tell: Callable[[str], None]) -> None:
        self._classes = {name: resolve("logger", name) for name in names}
        self._tell = tell
        self._open: dict[str, Logger] = {}
        for name in (logger.package for logger in self._classes.values() if logger.package):
            if find_spec(name) is None:
                raise InputError(f"Logging to {name} needs the extra `{name}`: pip install 'sfa[{name}]'.")

    def open(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        """Begin, or go on; see :class:`Logger`."""
        for name, logger in self._classes.items() if distributed.rank() == 0 else ():
            if (opened := self._try(name, logger, folder, settings, rows)) is not None:
                self._open[name] = opened

    def log(self, row: Row) -> None:
        for name, logger in list(self._open.items()):
            self._try(name, logger.log, row)

    def hints(self) -> list[str]:
        hints = [self._try(name, logger.hint) for name, logger in list(self._open.items())]
        return [hint for hint in hints if hint is not None]

    def __exit__(self, *_: object) -> None:
        for name, logger in list(self._open.items()):
            self._try(name, logger.close)
        self._open.clear()

    def _try(self, name: str, action: Callable[..., Any], *args: Any) -> Any:
        try:
            return action(*args)
        except Exception as error:  # whatever the program of another may raise
            with suppress(Exception):
                self._open.pop(name).close()
            reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
            ended = f"Logging to {name} has ended ({' '.join(reason.split())[:200].rstrip('.')})"
            self._tell(f"{ended}; the run goes on, and its metrics.jsonl has every epoch.")


def flatten(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Return values by the path of their keys, such as ``method/tau``."""
    found: dict[str, Any] = {}
    for key, value in nested.items():
        inner = flatten(value) if isinstance(value, Mapping) else {"": value}
        found |= {f"{key}/{path}" if path else key: one for path, one in inner.items()}
    return found


def split_row(row: Row) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Return the numbers of a row except its epoch, and its lists, such as singular values, by their paths."""
    values = {path: value for path, value in flatten(row).items() if path != "epoch"}
    numbers = {path: value for path, value in values.items() if isinstance(value, int | float)}
    return numbers, {path: value for path, value in values.items() if isinstance(value, list)}


@register("logger", "tensorboard")
class TensorBoard(Logger):
    """Curves and histograms in RUN/tensorboard, for `tensorboard --logdir`; no network.

    Unlike those of ``SummaryWriter``, events are written at once, so that a full disk is noticed where it happens.
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
        # The relative time of TensorBoard is that of training, whatever time passed between two parts of it.
        self._seconds = 0.0
        self._begun = time.time() - (float(rows[-1]["seconds"]) if rows else 0.0)
        self._file = (self._place / f"events.out.tfevents.{time.time_ns():020d}.sfa").open("xb")
        self._records = RecordWriter(self._file)
        self._write(0, file_version="brain.Event:2")
        self._write(0, session_log=SessionLog(status=SessionLog.START))  # so that an open TensorBoard reads anew
        chosen = {path: value for path, value in flatten(settings).items() if value is not None}
        chosen |= {k: json.dumps(v, default=str) for k, v in chosen.items() if not isinstance(v, int | float | str)}
        text = "\n".join(f"    {line}" for line in json.dumps(settings, indent=2, default=str).splitlines())
        for part in (*self._summary.hparams(chosen, {"loss": 0.0})[:2], self._summary.text("recipe", text)):
            self._write(0, summary=part)
        super().__init__(folder, settings, rows)
        for file in before:  # an open TensorBoard would wait for a file that is gone, but not for an empty one
            if file.stat().st_size:
                os.truncate(file, 0)
            else:
                file.unlink()

    def log(self, row: Row) -> None:
        self._seconds = row.get("seconds", self._seconds)
        numbers, lists = split_row({re.sub(r"[^a-zA-Z0-9/._-]", "_", path): one for path, one in flatten(row).items()})
        for tag, number in numbers.items():
            self._write(row["epoch"], summary=self._summary.scalar(tag, number))
        for tag, one in lists.items():
            self._write(row["epoch"], summary=self._summary.histogram(tag, np.asarray(one, float), 30))
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def hint(self) -> str:
        return f"tensorboard --logdir {shlex.quote(str(self._place))}"

    def _write(self, step: int, **content: Any) -> None:
        event = self._event(wall_time=self._begun + self._seconds, step=step, **content)
        self._records.write(event.SerializeToString())


@register("logger", "wandb")
class WeightsAndBiases(Logger):
    """Curves and histograms in RUN/wandb, for `wandb sync`; offline, unless WANDB_MODE says otherwise.

    ``WANDB_MODE=online`` sends metrics as they come, to an account that ``wandb login`` was called for;
    ``WANDB_PROJECT``, ``WANDB_ENTITY`` and ``WANDB_NAME`` are read as usual.
    """

    package = "wandb"

    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        if mode == "offline":
            os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # of its own errors, by network; read on import
        import wandb

        place = folder / "wandb"
        place.mkdir(exist_ok=True)
        if not os.access(place, os.W_OK):  # it would take a temporary folder instead
            raise PermissionError(f"{place} cannot be written to")
        if mode == "online" and not _is_logged_in(wandb):
            raise InputError("WANDB_MODE is online, and nobody is logged in: run `wandb login` first")
        # Logs of this run, the oldest first: run-TIME-ID or offline-run-TIME-ID.
        logged = {path.name.removeprefix("offline-"): path for path in place.glob("*run-*-*") if path.is_dir()}
        self._histogram = wandb.Histogram
        self._run: Any = wandb.init(
            dir=str(folder),
            mode=mode,
            project=os.environ.get("WANDB_PROJECT", "sfa"),
            name=os.environ.get("WANDB_NAME", folder.resolve().name),
            id=max(logged).split("-", 2)[2] if logged else None,
            resume="allow" if mode == "online" else None,
            config=dict(settings),
            settings=wandb.Settings(silent=True, console="off", init_timeout=60),
        )
        self._begin = int(self._run.step)  # a server has the steps before, and takes none of them again
        super().__init__(folder, settings, rows)
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
    try:
        return bool(wandb.login(prompt=False))
    except TypeError:  # a version that cannot be told not to ask at the keyboard
        return wandb.api.api_key is not None
