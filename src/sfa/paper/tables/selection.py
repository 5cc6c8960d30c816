"""What is selected of a table: data sets, methods, seeds, settings and budget."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfa.data import names
from sfa.errors import InputError, unknown_name
from sfa.methods import available_methods
from sfa.registry import resolve
from sfa.run.identity import recipe_hash
from sfa.run.parsing import stretched_warmup
from sfa.tasks import DATA, Task

LENGTHS = ("epochs", "warmup", "lr")  # keys of training that a shorter run changes
MACHINE = ("beside", "device", "threads")  # keys of a timed run: where, and in turns with which, it was measured


@dataclass(frozen=True)
class Budget:
    """Planned epochs, batches, learning rate and, of a timed run, machine. Runs are pooled if theirs are equal."""

    epochs: int | None
    sampler: str  # name and options as JSON, which is hashable
    lr: float | None = None
    turns: str = "{}"  # the machine, as JSON

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> Budget:
        """Return the budget of a complete recipe."""
        training, machine = recipe.get("training", {}), {key: recipe[key] for key in MACHINE if key in recipe}
        sampler, turns = (json.dumps(section, sort_keys=True) for section in (recipe.get("sampler"), machine))
        return cls(training.get("epochs"), sampler, training.get("lr"), turns)

    @property
    def batches(self) -> dict[str, Any]:
        return json.loads(self.sampler) or {}

    @property
    def machine(self) -> str:
        """Device and threads of a timed run, in words."""
        noted = json.loads(self.turns)
        return f"{noted['device']}, {noted['threads']} thread{'' if noted['threads'] == 1 else 's'}" if noted else ""

    def size(self, own: Budget) -> tuple[int, bool, bool, int, bool]:
        """Return a sort key: epochs, the batches of the recipe (``own``), full batch, batch size, the recipe's rate."""
        is_whole, batch = self.batches.get("name") == "whole", int(self.batches.get("batch_size") or 0)
        return self.epochs or 0, self.sampler == own.sampler, is_whole, batch, self.lr == own.lr

    def words(self, own: Budget) -> str | None:
        """Describe the differences from the recipe's own budget; ``None`` if there are none."""
        parts = []
        if self.epochs != own.epochs:
            longer = (self.epochs or 0) > (own.epochs or 0)
            text = "{} epochs in place of {}" if longer else "{} of {} epochs"
            parts.append(text.format(self.epochs, own.epochs))
        if self.sampler != own.sampler:
            size, name = self.batches.get("batch_size"), self.batches.get("name")
            parts.append("full batch" if name == "whole" else f"batches of {size} ({name})" if size else f"by {name}")
        if self.lr != own.lr:
            parts.append(f"learning rate {self.lr:g} in place of {own.lr:g}")
        return ", ".join(parts) or None

    def changes(self, own: Budget) -> dict[str, Any]:
        """Return the recipe keys that turn the recipe's own budget into this one."""
        changed: dict[str, Any] = {} if self.epochs == own.epochs else {"training.epochs": self.epochs}
        if self.sampler != own.sampler:
            changed |= {f"sampler.{key}": value for key, value in self.batches.items() if value is not None}
        return changed if self.lr == own.lr else {**changed, "training.lr": self.lr}


def essence(recipe: Mapping[str, Any]) -> str:
    """Hash all that decides a run but for its budget and its seed."""
    kept = {key: value for key, value in recipe.items() if key not in ("sampler", *MACHINE)}
    if "training" in kept:
        kept["training"] = {key: value for key, value in kept["training"].items() if key not in LENGTHS}
    return recipe_hash(kept)


def has_fitting_warmup(recipe: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Tell whether the warm-up of a run is the same fraction of its epochs as in the method's own recipe."""
    if "training" not in own:
        return True
    (epochs, warmup), (own_epochs, own_warmup) = (
        (one["training"]["epochs"], one["training"].get("warmup", 0)) for one in (recipe, own)
    )
    return bool(warmup == (own_warmup and stretched_warmup(own_warmup, own_epochs, epochs)))


def is_budget(path: str) -> bool:
    """Tell whether a recipe key, given by its path, belongs to the budget."""
    return path.split(".")[0] == "sampler" or path in [f"training.{key}" for key in LENGTHS]


@dataclass(frozen=True)
class Selection:
    """What is selected of a table."""

    datasets: tuple[str, ...] = ()  # to show, by default the paper's and others that were measured
    methods: tuple[str, ...] = ()  # to show, where methods are compared; else the one that the study is run with
    seeds: tuple[int, ...] = ()  # that count, by default any
    changes: Mapping[str, Any] = field(default_factory=dict)  # of every recipe; those of the budget select runs
    more_words: tuple[str, ...] = ()  # at the end of every command that fills a cell, such as ``--ledger FILE``

    @property
    def settings(self) -> dict[str, Any]:
        """The changes that do not belong to the budget."""
        return {path: value for path, value in self.changes.items() if not is_budget(path)}

    @property
    def words(self) -> list[str]:
        """Settings and seeds as words of the command line."""
        values = {path: one if isinstance(one, str) else json.dumps(one) for path, one in self.changes.items()}
        epochs = values.pop("training.epochs", None)  # the others are as YAML reads them
        return _options(epochs=epochs, set=[f"{path}={value}" for path, value in values.items()], seeds=self.seeds)

    def table_command(self, number: int, *more: str) -> str:
        """Return the command that shows a table with this selection."""
        shown = _options(datasets=self.datasets, method=self.methods)
        return shlex.join(["sfa", "table", str(number), *shown, *self.words, *more])

    def study_command(self, study: str, *more: str, **options: Sequence[str] | str | None) -> str:
        """Return the command that runs a study with these options, and this selection's seeds and settings."""
        return shlex.join(["sfa", "study", study, *_options(**options), *self.words, *more, *self.more_words])

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


def _options(**given: str | Iterable[object] | None) -> list[str]:
    """Return options that have values as words of the command line."""
    words = []
    for name, values in given.items():
        if values:
            words += [f"--{name}", *([values] if isinstance(values, str) else map(str, values))]
    return words
