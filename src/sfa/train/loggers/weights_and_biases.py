"""Metrics for Weights & Biases, in a folder of the run that can be sent to its server later."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfa.errors import InputError
from sfa.registry import register
from sfa.train.loggers.base import Logger, Row, lists_of, numbers_of

FOLDER = "wandb"
PROJECT = "sfa"
SECONDS = 60.0
"""To begin in, also where the network does not answer."""


@register("logger", "wandb")
class WeightsAndBiases(Logger):
    """Curves and histograms in RUN/wandb, for `wandb sync`; offline, unless WANDB_MODE says otherwise.

    Its own environment variables hold as usual: ``WANDB_MODE=online`` sends metrics as they come, to an account that
    ``wandb login`` was called for; ``WANDB_PROJECT``, ``WANDB_ENTITY`` and ``WANDB_NAME`` say where to and under which
    name. Nothing is ever asked for at the keyboard.
    """

    package = "wandb"
    extra = "wandb"

    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None:
        mode: Any = os.environ.get("WANDB_MODE", "offline")
        if mode == "offline":
            os.environ.setdefault("WANDB_ERROR_REPORTING", "false")  # of its own faults, by network; read on import
        import wandb

        place = folder / FOLDER
        place.mkdir(exist_ok=True)
        if not os.access(place, os.W_OK):  # it would take a temporary folder instead
            raise PermissionError(f"{place} cannot be written to")
        if mode == "online" and not _is_logged_in(wandb):
            raise InputError("WANDB_MODE is online, and nobody is logged in: run `wandb login` first")
        before = _folders(place)
        self._histogram: Any = wandb.Histogram
        self._run: Any = wandb.init(
            dir=str(folder),
            mode=mode,
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            name=os.environ.get("WANDB_NAME", folder.resolve().name),
            id=_id(before[-1]) if before else None,
            resume="allow" if mode == "online" else None,
            config=dict(settings),
            settings=wandb.Settings(silent=True, console="off", init_timeout=SECONDS),
        )
        self._begin = int(self._run.step)  # a server has the steps before, and takes none of them again
        for row in rows:
            self.log(row)
        for old in before if mode == "offline" else ():
            shutil.rmtree(old)

    def log(self, row: Row) -> None:
        if row["epoch"] >= self._begin:
            histograms = {path: self._histogram(numbers) for path, numbers in lists_of(row).items()}
            self._run.log({**numbers_of(row), **histograms}, step=row["epoch"])

    def close(self) -> None:
        self._run.finish()

    def hint(self) -> str | None:
        own = Path(self._run.dir).parent
        if own.name.startswith("offline-"):
            return f"wandb sync {shlex.quote(str(own))}"
        return None if self._run.url is None else str(self._run.url)  # a run that is disabled has none


def _is_logged_in(wandb: Any) -> bool:
    """Whether there is an account to send to, without a question at the keyboard."""
    try:
        return bool(wandb.login(prompt=False))
    except TypeError:  # a version that cannot be told not to ask
        return wandb.api.api_key is not None


def _folders(place: Path) -> list[Path]:
    """What was logged of this run before, the oldest first."""
    return sorted((path for path in place.glob("*run-*-*") if path.is_dir()), key=_without_mode)


def _id(folder: Path) -> str:
    """Of the run that is logged in ``run-TIME-ID`` or ``offline-run-TIME-ID``."""
    return _without_mode(folder).split("-", 2)[2]


def _without_mode(folder: Path) -> str:
    return folder.name.removeprefix("offline-")
