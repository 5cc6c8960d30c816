"""What a logger is: rows of metrics in, a log of their numbers out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from sfa.errors import InputError

Row = Mapping[str, Any]
"""Metrics of an ``epoch``, as the training loop gives them: numbers, lists of them, ``None``, or mappings of these."""


class Logger(ABC):
    """Takes a run's metrics as they come and shows them in a place of its own below the run's folder.

    :class:`~sfa.train.LoggerCallback` gives it the metrics of each epoch. Of a run that goes on, the log is written
    anew with the rows that are there: it is whole and has no step twice, whatever an interruption left of the old one.

    Args:
        folder: Of the run.
        settings: What decided the run, such as the sections of a recipe: its hyper-parameters.
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
        """The command that shows the log, or its address; ``None`` if there is nothing to show."""

    @classmethod
    def check(cls) -> None:
        """Raise unless its package is installed."""
        try:
            import_module(cls.package)
        except ImportError as error:
            raise InputError(
                f"Logging to {cls.package} needs the extra `{cls.extra}`: pip install 'sfa[{cls.extra}]'."
            ) from error


def numbers_of(row: Row) -> dict[str, float]:
    """The numbers of a row by their path, but for its epoch.

    >>> numbers_of({"epoch": 3, "loss": 0.5, "diagnostics": {"sigma": [2.0, 1.0], "uniformity": -1.5}})
    {'loss': 0.5, 'diagnostics/uniformity': -1.5}
    """
    return {path: value for path, value in flat(row).items() if isinstance(value, int | float) and path != "epoch"}


def lists_of(row: Row) -> dict[str, list[float]]:
    """The lists of a row by their path, such as the singular values of a feature map.

    >>> lists_of({"epoch": 3, "loss": 0.5, "diagnostics": {"sigma": [2.0, 1.0]}})
    {'diagnostics/sigma': [2.0, 1.0]}
    """
    return {path: value for path, value in flat(row).items() if isinstance(value, list)}


def flat(nested: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the path of their keys.

    >>> flat({"method": {"name": "grace", "tau": 0.4}, "feature_norm": "row"})
    {'method/name': 'grace', 'method/tau': 0.4, 'feature_norm': 'row'}
    """
    found: dict[str, Any] = {}
    for key, value in nested.items():
        inner = flat(value) if isinstance(value, Mapping) else {"": value}
        found |= {f"{key}/{path}" if path else key: one for path, one in inner.items()}
    return found
