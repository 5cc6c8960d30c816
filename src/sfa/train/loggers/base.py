"""What a logger is, and several of them as one, none of which can take a run down with it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from sfa import distributed
from sfa.errors import InputError
from sfa.registry import resolve

Row = Mapping[str, Any]
"""Metrics of an ``epoch``, as the training loop gives them: numbers, lists of them, ``None``, or mappings of these."""


class Logger(ABC):
    """Takes a run's metrics as they come and shows them in a place of its own below the run's folder.

    :class:`~sfa.train.LoggerCallback` gives it the metrics of each epoch. Of a run that goes on, the log is written
    anew with the rows that are there: it is whole and has no step twice, whatever an interruption left of the old one.

    Args:
        folder: Of the run.
        settings: What decided the run, such as the sections of a recipe: its hyperparameters.
        rows: Metrics of the epochs that are done already.
    """

    package: ClassVar[str]
    """What must be installed."""
    extra: ClassVar[str]
    """The extra of this project that brings it."""

    @abstractmethod
    def __init__(self, folder: Path, settings: Mapping[str, Any], rows: Sequence[Row] = ()) -> None: ...

    @abstractmethod
    def log(self, row: Row) -> None:
        """Add the metrics of an epoch; those of one that is there already join it."""

    @abstractmethod
    def close(self) -> None:
        """Write what is still to be written."""

    @abstractmethod
    def hint(self) -> str | None:
        """Return the command that shows the log, or its address; ``None`` if there is nothing to show."""

    @classmethod
    def check(cls) -> None:
        """Raise unless its package is installed."""
        try:
            import_module(cls.package)
        except ImportError as error:
            raise InputError(
                f"Logging to {cls.package} needs the extra `{cls.extra}`: pip install 'sfa[{cls.extra}]'."
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
