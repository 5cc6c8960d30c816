"""What is asked of a table beside its number: on which data, of which methods, with which settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sfa.data import names
from sfa.errors import InputError, unknown_name
from sfa.levels import DATA, Level
from sfa.methods import available_methods
from sfa.registry import resolve
from sfa.tables.budgets import is_budget


@dataclass(frozen=True)
class Ask:
    """How a table is asked for.

    Attributes:
        datasets: Those to show, by name; the paper's, and others that were measured, if there are none.
        methods: Those to show, where lines are methods; else the one that the study is of.
        seeds: Those that count; any, if there are none.
        changes: Recipe keys set in every recipe. Such of the budget, epochs and batches, ask for that budget alone.
    """

    datasets: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> dict[str, Any]:
        """The changes that are not of the budget."""
        return {path: value for path, value in self.changes.items() if not is_budget(path)}

    @property
    def sets_budget(self) -> bool:
        return self.settings.keys() != self.changes.keys()

    @property
    def words(self) -> list[str]:
        """Settings and seeds as the command line has them."""
        changes = dict(self.changes)
        words: list[str] = []
        if "training.epochs" in changes:
            words += ["--epochs", str(changes.pop("training.epochs"))]
        if changes:
            words += ["--set", *(f"{path}={_value(value)}" for path, value in changes.items())]
        if self.seeds:
            words += ["--seeds", *map(str, self.seeds)]
        return words

    def check(self, number: int, level: Level, *, many_methods: bool) -> None:
        """Raise unless a table of such data can be asked for so."""
        levels = {dataset.name: dataset.level for dataset in names()}
        for dataset in self.datasets:
            if dataset not in levels:
                raise unknown_name("data set of a table", dataset, levels)
            found = levels[dataset]
            if found is not None and found != level:
                raise InputError(f"Table {number} is of {DATA[level]}, and {dataset} is {DATA[found]}.")
        for method in self.methods:
            if resolve("method", method).level != level:
                fitting = ", ".join(available_methods(level))
                raise InputError(f"{method} is no method for table {number}: it has {fitting}.")
        if not many_methods and len(self.methods) > 1:
            raise InputError(f"Table {number} is of one method, not of {', '.join(self.methods)}.")


def _value(value: Any) -> str:
    """As YAML reads it."""
    return value if isinstance(value, str) else json.dumps(value)
