"""Several loggers as one, none of which can take a run down with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sfa import processes
from sfa.errors import InputError
from sfa.registry import resolve
from sfa.train.loggers.base import Logger, Row


class Loggers:
    """The loggers of some names; one that fails is told of and left out, and training goes on.

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
        for name, logger in self._classes.items() if processes.rank() == 0 else ():
            with self._left_out_if_it_fails(name):
                self._open[name] = logger(folder, settings, rows)

    def log(self, row: Row) -> None:
        """Add the metrics of an epoch."""
        for name, logger in list(self._open.items()):
            with self._left_out_if_it_fails(name):
                logger.log(row)

    def hints(self) -> list[str]:
        """The commands that show what the loggers have, of those that work and have something to show."""
        found: list[str | None] = []
        for name, logger in list(self._open.items()):
            with self._left_out_if_it_fails(name):
                found.append(logger.hint())
        return [hint for hint in found if hint is not None]

    def close(self) -> None:
        """Write what is still to be written."""
        for name, logger in list(self._open.items()):
            with self._left_out_if_it_fails(name):
                logger.close()
        self._open.clear()

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
