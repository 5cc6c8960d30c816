"""Ranges of a recipe's keys, from which a search chooses: written as text or in a YAML file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from sfa.errors import InputError, quoted, shortened
from sfa.run.shipped import parse_yaml, read_yaml

if TYPE_CHECKING:
    from optuna.trial import BaseTrial

MOST = 10_000  # points of a grid
DIGITS = 12  # significant digits of the multiples of a step, so that 3 × 0.1 is 0.3


@dataclass(frozen=True)
class Choices:
    """Values of a key, one of which is chosen; ``text`` is as on the command line."""

    key: str
    values: tuple[Any, ...]

    @property
    def text(self) -> str:
        return ",".join(map(_label, self.values))

    def __str__(self) -> str:
        return f"{self.key}={self.text}"

    @property
    def ends(self) -> tuple[Any, ...]:
        """The values that must be valid for the whole range to be valid."""
        return self.values

    def grid(self) -> tuple[Any, ...]:
        """Return all values in order; raise for an interval without steps."""
        return self.values

    def suggest(self, trial: BaseTrial) -> Any:
        """Let the sampler of a trial choose a value."""
        return self.value(trial.suggest_categorical(self.key, list(map(_label, self.values))))

    def stored(self, value: Any) -> Any:
        """Return a value as Optuna stores it: choices by their text."""
        return _label(value)

    def value(self, stored: Any) -> Any:
        """Return the value that Optuna has stored."""
        return next(value for value in self.values if _label(value) == stored)

    def typed_like(self, current: Any) -> Choices:
        """Return the range with numbers of the type that the key has in the recipe."""
        return self


@dataclass(frozen=True)
class Interval:
    """Numbers from ``low`` to ``high``, on a linear or logarithmic scale or in steps; used as :class:`Choices` are."""

    key: str
    low: float
    high: float
    log: bool = False
    step: float | None = None
    whole: bool = False  # whole numbers only

    @property
    def text(self) -> str:
        how = ":log" if self.log else "" if self.step is None else f":{self.step:.{DIGITS}g}"
        return f"{self.low:.{DIGITS}g}..{self.high:.{DIGITS}g}{how}"

    def __str__(self) -> str:
        return f"{self.key}={self.text}"

    @property
    def ends(self) -> tuple[Any, ...]:
        return self.low, self.high

    def grid(self) -> tuple[Any, ...]:
        step = 1 if self.whole and self.step is None and not self.log else self.step
        if step is None:
            example = f"{self.low:.{DIGITS}g}..{self.high:.{DIGITS}g}:{(self.high - self.low) / 4:g}"
            raise InputError(
                f"The range {self} has no grid: give choices or a step, for instance "
                f"{self.key}={example}, or take another --sampler."
            )
        count = round((self.high - self.low) / step) + 1
        if count > MOST:
            raise InputError(f"The range {self} has {count} points, and a grid at most {MOST}: take larger steps.")
        return tuple(round(self.low + step * number, DIGITS) for number in range(count))

    def suggest(self, trial: BaseTrial) -> Any:
        if self.whole:
            return trial.suggest_int(self.key, int(self.low), int(self.high), step=int(self.step or 1), log=self.log)
        return self.value(trial.suggest_float(self.key, self.low, self.high, step=self.step, log=self.log))

    def stored(self, value: Any) -> Any:
        return value

    def value(self, stored: Any) -> Any:
        return stored if self.step is None else round(stored, DIGITS)

    def typed_like(self, current: Any) -> Interval:
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


def parse_range(assignment: str | Range) -> Range:
    """Parse ``training.lr=1e-4..1e-2:log``, ``encoder.layers=1..3``, ``method.tau=0..1:0.1`` or ``spectral=none,sfa``.

    >>> parse_range("training.lr=1e-4..1e-2:log").text
    '0.0001..0.01:log'
    """
    if isinstance(assignment, Choices | Interval):
        return assignment
    key, _, values = (part.strip() for part in assignment.partition("="))
    if not key or not values:
        raise InputError(
            "A range is KEY=LOW..HIGH, with :log or :STEP behind it if you like, or KEY=A,B,C, for instance "
            f"training.lr=1e-4..1e-2:log, not {quoted(assignment)}."
        )
    return _make_range(key, values)


def load_ranges(path: Path) -> list[Range]:
    """Load ranges from a YAML file of keys, each with a text as on the command line or a list of choices."""
    content = read_yaml(path, f"file of ranges {path}", "`training.lr: 1e-4..1e-2:log`")
    if not content:
        raise InputError(f"The file of ranges {path} is an empty mapping: name keys of a recipe in it.")
    return [_make_range(str(key), values) for key, values in content.items()]


@cache
def shipped_ranges() -> dict[str, tuple[Range, ...]]:
    """Return the ranges that come with sfa, by method."""
    with as_file(files("sfa.sweep").joinpath("ranges")) as folder:
        return {file.stem: tuple(load_ranges(file)) for file in sorted(folder.glob("*.yaml"))}


def merged(*several: Iterable[Range]) -> list[Range]:
    """Merge ranges from several sources; of two with the same key the last one counts."""
    return list({range_.key: range_ for ranges in several for range_ in ranges}.values())


def _make_range(key: str, given: Any) -> Range:
    if isinstance(given, str) and ".." in given:
        return _make_interval(key, given)
    if isinstance(given, str):
        given = parse_yaml(
            f"[{given}]", f"The list of choices {shortened(key, 80)}={shortened(given, 80)} (separate them by commas)"
        )
    choices = Choices(key, tuple(map(_number_or_text, given if isinstance(given, list) else [given])))
    if not choices.values or any(isinstance(value, Mapping) for value in choices.values):
        raise InputError(f"The range of {key} is LOW..HIGH or a list of choices, not {quoted(given)}.")
    if len(set(map(_label, choices.values))) < len(choices.values):
        raise InputError(f"The range {choices} has a choice twice.")
    return choices


def _make_interval(key: str, text: str) -> Interval:
    ends, _, how = text.partition(":")
    first, _, last = ends.partition("..")
    try:
        low, high = float(first), float(last)
        step = None if how in ("", "log") else float(how)
    except ValueError as error:
        raise InputError(f"The range {key}={text} is not LOW..HIGH, LOW..HIGH:log or LOW..HIGH:STEP.") from error
    if not (math.isfinite(high - low) and low < high):
        raise InputError(f"The range {key}={text} must rise from one number to a larger one.")
    if how == "log" and low <= 0:
        raise InputError(f"The range {key}={text} is logarithmic and must begin above 0.")
    whole = not any(sign in part.lower() for part in (first, last, how.replace("log", "")) for sign in ".e")
    if step is None:
        return Interval(key, low, high, log=how == "log", whole=whole)
    if not (high - low) * 1e-12 < step <= (high - low) * (1 + 1e-9):
        most = f"at most {high - low:g}, and not too small for numbers"
        raise InputError(f"The step of the range {key}={text} must be above 0 and {most}.")
    last_step = math.floor((high - low) / step + 1e-9)
    return Interval(key, low, round(low + step * last_step, DIGITS), step=step, whole=whole)


def _number_or_text(value: Any) -> Any:
    if isinstance(value, str):
        with suppress(ValueError):  # YAML reads 1e-4, which has no point, as text
            return float(value) if math.isfinite(float(value)) else value
    return value


def _label(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
