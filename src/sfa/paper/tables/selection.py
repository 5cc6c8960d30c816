"""What is selected of a table: data sets, methods, seeds and settings; and the commands that fill it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfa.data import names
from sfa.errors import InputError, unknown_name
from sfa.methods import DEFAULTS, available_methods
from sfa.paper.plans import protocols_of
from sfa.paper.tables.budgets import is_budget
from sfa.paper.tables.definition import Definition, Point
from sfa.registry import resolve
from sfa.tasks import DATA, Task


@dataclass(frozen=True)
class Selection:
    """What is selected of a table.

    Attributes:
        datasets: Data sets to show, by default the paper's and others that were measured.
        methods: Methods to show, where methods are compared; else the one that the study is run with.
        seeds: Seeds that count, by default any.
        changes: Recipe keys set in every recipe; those of the budget select the runs with this budget.
    """

    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The changes that do not belong to the budget."""
        return {path: value for path, value in self.changes.items() if not is_budget(path)}

    @property
    def words(self) -> list[str]:
        """Settings and seeds as words of the command line."""
        changes, words = dict(self.changes), list[str]()
        if "training.epochs" in changes:
            words += ["--epochs", str(changes.pop("training.epochs"))]
        if changes:  # as YAML reads them
            values = {path: one if isinstance(one, str) else json.dumps(one) for path, one in changes.items()}
            words += ["--set", *(f"{path}={value}" for path, value in values.items())]
        return [*words, "--seeds", *map(str, self.seeds)] if self.seeds else words

    def command(self, number: int, more: Sequence[str] = ()) -> str:
        """Return the command that shows a table with this selection."""
        words = ["sfa", "table", str(number)]
        words += ["--datasets", *self.datasets] if self.datasets else []
        words += ["--method", *self.methods] if self.methods else []
        return shlex.join([*words, *self.words, *more])

    def check(self, number: int, task: Task, *, many_methods: bool) -> None:
        """Raise unless this can be selected of a table of a task."""
        tasks = {dataset.name: dataset.task for dataset in names()}
        for dataset in self.datasets:
            if dataset not in tasks:
                raise unknown_name("data set of a table", dataset, tasks)
            if (found := tasks[dataset]) not in (None, task):
                raise InputError(f"Table {number} is of {DATA[task]}, and {dataset} is {DATA[found]}.")
        for method in self.methods:
            if resolve("method", method).task != task:
                fitting = ", ".join(available_methods(task))
                raise InputError(f"{method} is no method for table {number}: it has {fitting}.")
        if not many_methods and len(self.methods) > 1:
            raise InputError(f"Table {number} is of one method, not of {', '.join(self.methods)}.")


@dataclass
class StudyCall:
    """A study on data sets, which measures points of a table; ``protocols`` are given if they are not its own."""

    study: str
    protocols: tuple[str, ...]
    methods: tuple[str, ...]
    recipe: str | None
    datasets: list[str] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)

    def command(self, selection: Selection, more: Sequence[str] = ()) -> str:
        """Return the command that runs it; ``more`` words go to the end."""
        words = ["sfa", "study", self.study, "--datasets", *self.datasets]
        words += ["--method", *self.methods] if self.methods else []
        words += ["--recipe", self.recipe] if self.recipe is not None else []
        words += ["--protocol", *self.protocols] if self.protocols else []
        return shlex.join([*words, *selection.words, *more])


def study_calls(definition: Definition, points: Iterable[Point], selection: Selection) -> list[StudyCall]:
    """Return calls that measure points: one for all data sets on which the same methods are missing."""
    own = protocols_of(resolve("study", definition.study), definition.task)
    protocols = () if own == (definition.protocol,) else (definition.protocol,)
    by_dataset: dict[tuple[str | None, str], list[Point]] = {}
    for point in points:
        by_dataset.setdefault((point.line.recipe, point.dataset), []).append(point)
    calls: dict[tuple[str | None, tuple[str, ...]], StudyCall] = {}
    for (recipe, dataset), those in by_dataset.items():
        methods = selection.methods
        if definition.many_methods:  # baselines come with the task's first method
            wanted = {point.line.method or DEFAULTS[definition.task] for point in those}
            methods = tuple(name for name in available_methods() if name in wanted)
        call = calls.setdefault((recipe, methods), StudyCall(definition.study, protocols, methods, recipe))
        call.datasets.append(dataset)
        call.points += those
    return list(calls.values())
