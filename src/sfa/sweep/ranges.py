"""Ranges of a recipe's keys: what a search may choose from, in words or from a YAML file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from sfa.errors import InputError

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

DIGITS = 12
"""Of a step's multiples: 3 × 0.1 is 0.3."""


@dataclass(frozen=True)
class Choices:
    """Some values, of which one is taken."""

    key: str
    values: tuple[Any, ...]

    @property
    def text(self) -> str:
        return ",".join(map(_label, self.values))

    @property
    def ends(self) -> tuple[Any, ...]:
        """Values that must be allowed for all to be."""
        return self.values

    def grid(self) -> tuple[Any, ...]:
        return self.values

    def suggest(self, trial: BaseTrial) -> Any:
        """A value for this trial, drawn by its sampler, which knows choices by their text alone."""
        return self.value(trial.suggest_categorical(self.key, [self.stored(value) for value in self.values]))

    def stored(self, value: Any) -> Any:
        """A value as trials hold it."""
        return _label(value)

    def value(self, stored: Any) -> Any:
        """What a trial holds, as a value."""
        return next(value for value in self.values if self.stored(value) == stored)

    def settled(self, current: Any) -> Choices:
        """The same, for a key that has this value now."""
        return self


@dataclass(frozen=True)
class Interval:
    """All numbers from ``low`` to ``high``, on a logarithmic scale, in steps or in between."""

    key: str
    low: float
    high: float
    log: bool = False
    step: float | None = None
    whole: bool = False
    """Whole numbers alone."""

    @property
    def text(self) -> str:
        how = ":log" if self.log else "" if self.step is None else f":{_plain(self.step)}"
        return f"{_plain(self.low)}..{_plain(self.high)}{how}"

    @property
    def ends(self) -> tuple[Any, ...]:
        return self.low, self.high

    def grid(self) -> tuple[Any, ...]:
        step = 1 if self.whole and self.step is None and not self.log else self.step
        if step is None:
            raise InputError(
                f"The range {self.key}={self.text} has no grid: give choices or a step, for instance "
                f"{self.key}={_plain(self.low)}..{_plain(self.high)}:{(self.high - self.low) / 4:g}, or take another "
                "--sampler."
            )
        count = round((self.high - self.low) / step) + 1
        return tuple(_multiple(self.low, step, number) for number in range(count))

    def suggest(self, trial: BaseTrial) -> Any:
        if self.whole:
            return trial.suggest_int(self.key, int(self.low), int(self.high), step=int(self.step or 1), log=self.log)
        return self.value(trial.suggest_float(self.key, self.low, self.high, step=self.step, log=self.log))

    def stored(self, value: Any) -> Any:
        return value

    def value(self, stored: Any) -> Any:
        return stored if self.step is None else round(stored, DIGITS)

    def settled(self, current: Any) -> Interval:
        if isinstance(current, bool | str | list):
            raise InputError(
                f"{self.key} is {_label(current)} now, no number: give choices, such as {self.key}=A,B, in place of "
                f"{self.text}."
            )
        if not (isinstance(current, int) or (current is None and self.whole)):
            return replace(self, whole=False)
        if any(value is not None and value != int(value) for value in (self.low, self.high, self.step)):
            raise InputError(f"{self.key} takes whole numbers: give a range of such, not {self.text}.")
        step = None if self.step is None else int(self.step)
        return replace(self, whole=True, low=int(self.low), high=int(self.high), step=step)


Range: TypeAlias = Choices | Interval


def parse_range(assignment: str) -> Range:
    """``training.lr=1e-4..1e-2:log``, ``encoder.layers=1..3``, ``method.tau=0.1..1:0.1`` or ``spectral.name=none,sfa``.

    >>> parse_range("training.lr=1e-4..1e-2:log").text
    '0.0001..0.01:log'
    """
    key, equals, values = assignment.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise InputError(
            "A range is KEY=LOW..HIGH, with :log or :STEP behind it if you like, or KEY=A,B,C, for instance "
            f"training.lr=1e-4..1e-2:log, not {assignment!r}."
        )
    return _range(key.strip(), values.strip())


def load_ranges(path: Path) -> list[Range]:
    """The ranges of a YAML file: keys of the recipe, each with a text as on the command line or a list of choices."""
    try:
        return _from_yaml(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise InputError(f"The ranges {path} cannot be read: {reason}.") from error


@cache
def shipped_ranges() -> dict[str, tuple[Range, ...]]:
    """The ranges that come with sfa, by method."""
    folder = files("sfa.sweep").joinpath("ranges")
    return {
        file.name.removesuffix(".yaml"): tuple(_from_yaml(file.read_text(encoding="utf-8"), file.name))
        for file in sorted(folder.iterdir(), key=lambda entry: entry.name)
        if file.name.endswith(".yaml")
    }


def merged(*several: Iterable[Range]) -> list[Range]:
    """Ranges of several sources, of the last where two have the same key."""
    return list({found.key: found for ranges in several for found in ranges}.values())


def _from_yaml(text: str, source: str) -> list[Range]:
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"The ranges {source} are not valid YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, Mapping) or not content:
        raise InputError(f"The ranges {source} must be a mapping, such as `training.lr: 1e-4..1e-2:log`.")
    return [_range(str(key), values) for key, values in content.items()]


def _range(key: str, given: Any) -> Range:
    if isinstance(given, str) and ".." in given:
        return _interval(key, given)
    if isinstance(given, str):
        try:
            given = yaml.safe_load(f"[{given}]")
        except yaml.YAMLError as error:
            raise InputError(f"The choices {key}={given} cannot be read: separate them by commas.") from error
    values = [_number_or_text(value) for value in (given if isinstance(given, list) else [given])]
    if not values or any(isinstance(value, Mapping) for value in values):
        raise InputError(f"The range of {key} is LOW..HIGH or a list of choices, not {given!r}.")
    labels = list(map(_label, values))
    if len(set(labels)) < len(labels):
        raise InputError(f"The range {key}={','.join(labels)} has a choice twice.")
    return Choices(key, tuple(values))


def _interval(key: str, text: str) -> Interval:
    ends, _, how = text.partition(":")
    first, _, last = ends.partition("..")
    try:
        low, high = float(first), float(last)
        step = None if how in ("", "log") else float(how)
    except ValueError as error:
        raise InputError(f"The range {key}={text} is not LOW..HIGH, LOW..HIGH:log or LOW..HIGH:STEP.") from error
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"The range {key}={text} must rise from one number to a larger one.")
    if how == "log" and low <= 0:
        raise InputError(f"The range {key}={text} is logarithmic and must begin above 0.")
    whole = not any(sign in part.lower() for part in (first, last, how.replace("log", "")) for sign in ".e")
    if step is None:
        return Interval(key, low, high, log=how == "log", whole=whole)
    if not 0 < step <= (high - low) * (1 + 1e-9):
        raise InputError(f"The step of the range {key}={text} must be above 0 and at most {high - low:g}.")
    return Interval(key, low, _multiple(low, step, math.floor((high - low) / step + 1e-9)), step=step, whole=whole)


def _multiple(low: float, step: float, number: int) -> float:
    return round(low + step * number, DIGITS)


def _plain(number: float) -> str:
    return f"{number:.{DIGITS}g}"


def _number_or_text(value: Any) -> Any:
    """YAML takes 1e-4, without a point, for a word."""
    if isinstance(value, str):
        try:
            return float(value) if math.isfinite(float(value)) else value
        except ValueError:
            return value
    return value


def _label(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
