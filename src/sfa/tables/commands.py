"""The commands that fill cells: of one, and of all that are missing, as few as there can be."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sfa.methods import DEFAULTS, available_methods
from sfa.registry import resolve
from sfa.studies import protocols_of
from sfa.tables.ask import Ask
from sfa.tables.definition import Definition, Point


@dataclass
class Order:
    """One call of a study that measures some cells."""

    study: str
    protocols: tuple[str, ...]
    """To ask for; none where they are the study's own."""
    methods: tuple[str, ...]
    recipe: str | None
    datasets: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    def command(self, ask: Ask, more: Sequence[str] = ()) -> str:
        """What to type for it; ``more`` words go to the end."""
        words = ["sfa", "study", self.study, "--datasets", *self.datasets]
        if self.methods:
            words += ["--method", *self.methods]
        if self.recipe is not None:
            words += ["--recipe", self.recipe]
        if self.protocols:
            words += ["--protocol", *self.protocols]
        return shlex.join([*words, *ask.words, *more])


def order_of(definition: Definition, point: Point, ask: Ask) -> Order:
    """The call that measures one cell."""
    return orders(definition, [point], ask)[0]


def orders(definition: Definition, points: Iterable[Point], ask: Ask) -> list[Order]:
    """Calls that measure cells: one for all data sets on which the same methods are missing."""
    by_set: dict[tuple[str | None, str], list[Point]] = {}
    for point in points:
        by_set.setdefault((point.line.recipe, point.dataset), []).append(point)
    found: dict[tuple[str | None, tuple[str, ...]], Order] = {}
    for (recipe, dataset), those in by_set.items():
        methods = _methods(definition, those, ask)
        order = found.setdefault((recipe, methods), Order(definition.study, _protocols(definition), methods, recipe))
        order.datasets.append(dataset)
        order.points += those
    return list(found.values())


def _methods(definition: Definition, points: Iterable[Point], ask: Ask) -> tuple[str, ...]:
    """Those to name; what is no method's stands beside the level's first, whose preparation of features it has."""
    if not definition.many_methods:
        return ask.methods
    wanted = {point.line.method or DEFAULTS[definition.level] for point in points}
    return tuple(name for name in available_methods() if name in wanted)


def _protocols(definition: Definition) -> tuple[str, ...]:
    own = protocols_of(resolve("study", definition.study), definition.level)
    return () if own == (definition.protocol,) else (definition.protocol,)


def table_command(number: int, ask: Ask, more: Sequence[str] = ()) -> str:
    """What shows a table as it is asked for."""
    words = ["sfa", "table", str(number)]
    words += ["--datasets", *ask.datasets] if ask.datasets else []
    words += ["--method", *ask.methods] if ask.methods else []
    return shlex.join([*words, *ask.words, *more])
