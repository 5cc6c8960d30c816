"""Metrics for TensorBoard, in an event file of the run folder."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sfa.registry import register
from sfa.train.loggers.base import Logger, Row, flat, lists_of, numbers_of

FOLDER = "tensorboard"
BINS = 30
"""Of a histogram; a feature map has as many singular values as it has columns, some hundred."""


@register("logger", "tensorboard")
class TensorBoard(Logger):
    """Curves and histograms in RUN/tensorboard, for `tensorboard --logdir`; no network.

    The recipe is in the tabs of text and of hyper-parameters, whose metric is the loss.

    Events are written as they come and not by a thread of their own: what a full disk says is heard where it happens.
    """

    package = "tensorboard"
    extra = "tensorboard"

    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        from tensorboard.compat.proto.event_pb2 import Event, SessionLog
        from tensorboard.summary.writer.record_writer import RecordWriter

        self._event = Event
        self._place = folder / FOLDER
        self._place.mkdir(exist_ok=True)
        before = list(self._place.glob("events.out.tfevents.*"))
        # The relative time of TensorBoard is then that of training, whatever time lay between two parts of it.
        self._seconds = 0.0
        self._begun = time.time() - (float(rows[-1]["seconds"]) if rows else 0.0)
        self._file = (self._place / f"events.out.tfevents.{time.time_ns():020d}.sfa").open("xb")
        self._records = RecordWriter(self._file)
        try:
            self._write(0, 0.0, file_version="brain.Event:2")
            # A TensorBoard that is open on the old file forgets what it has read of it.
            self._write(0, 0.0, session_log=SessionLog(status=SessionLog.START))
            self._describe(settings)
            for row in rows:
                self._add(row)
            self._file.flush()
        except BaseException:
            with suppress(OSError):
                self.close()
            raise
        for file in before:
            _forget(file)

    def log(self, row: Row) -> None:
        self._add(row)
        self._file.flush()

    def close(self) -> None:
        self._file.close()

    def hint(self) -> str:
        return f"tensorboard --logdir {shlex.quote(str(self._place))}"

    def _add(self, row: Row) -> None:
        from torch.utils.tensorboard import summary

        build: Any = summary
        parts = [
            *(build.scalar(_tag(path), number) for path, number in numbers_of(row).items()),
            *(build.histogram(_tag(path), _array(numbers), BINS) for path, numbers in lists_of(row).items()),
        ]
        self._seconds = row.get("seconds", self._seconds)
        for part in parts:
            self._write(row["epoch"], self._seconds, summary=part)

    def _describe(self, settings: Mapping[str, Any]) -> None:
        from torch.utils.tensorboard import summary

        build: Any = summary
        chosen = {path: _plain(value) for path, value in flat(settings).items() if value is not None}
        for part in build.hparams(chosen, {"loss": 0.0})[:2]:
            self._write(0, 0.0, summary=part)
        shown = "\n".join(f"    {line}" for line in json.dumps(settings, indent=2, default=str).splitlines())
        self._write(0, 0.0, summary=build.text("recipe", shown))

    def _write(self, step: int, seconds: float, **content: Any) -> None:
        event = self._event(wall_time=self._begun + seconds, step=step, **content)
        self._records.write(event.SerializeToString())


def _forget(file: Path) -> None:
    """Empty a file: a TensorBoard may be open on it, and would wait for it for ever if it went. An empty one goes."""
    if file.stat().st_size:
        os.truncate(file, 0)
    else:
        file.unlink()


def _array(numbers: Sequence[float]) -> Any:
    import numpy as np

    return np.asarray(numbers, dtype=np.float64)


def _tag(path: str) -> str:
    """A path in the letters that TensorBoard has."""
    return "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-/._") else "_" for sign in path)


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else json.dumps(value, default=str)
