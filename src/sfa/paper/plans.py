"""What a study is, and all runs that one asks for."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfa.errors import InputError
from sfa.evaluate import Classification
from sfa.evaluate.protocols import default_protocol
from sfa.evaluate.splits import RandomSplits
from sfa.methods import DEFAULTS, available_methods
from sfa.paper.cells import RUN_TIME, Dataset, Job, Plan, Variant, make_jobs
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.tasks import DATA, Task
from sfa.train import make_fabric


@dataclass(frozen=True)
class Base:
    """Where a study starts from on one data set, with one seed: the recipe of each method."""

    methods: tuple[str, ...]
    recipe_of: Callable[[str], Recipe]

    @property
    def recipe(self) -> Recipe:
        """Recipe of the first method."""
        return self.recipe_of(self.methods[0])

    @property
    def task(self) -> Task:
        """What the methods embed."""
        task: Task = resolve("method", self.methods[0]).task
        return task


@dataclass(frozen=True)
class Study:
    """A named study."""

    name: str
    variants: Callable[[Base], Iterator[Variant]]
    protocols: tuple[str, ...] = ()
    """Those it is scored under if no others are asked for; if there are none, that of the data's task."""
    epochs: int | None = None
    """Epochs where none are asked for; as many as the recipe has, if ``None``."""
    many_methods: bool = False
    """Whether it compares methods, rather than settings of one."""

    @property
    def description(self) -> str:
        """What it compares, in a line."""
        return (inspect.getdoc(self.variants) or "").splitlines()[0]


def make_plan(
    study: Study,
    datasets: Sequence[Dataset],
    seeds: Sequence[int],
    *,
    methods: Sequence[str] = (),
    recipe: str | None = None,
    changes: Mapping[str, Any] | None = None,
    protocols: Sequence[str] = (),
    device: str = "auto",
) -> Plan:
    """Return the cells of a study, by data set, then seed, then variant.

    Args:
        study: Which.
        datasets: The graphs.
        seeds: Of training.
        methods: Those to compare, all of the data's task if there are none; for a study of one method that one, or
            else the recipe's.
        recipe: A recipe to start from, by name or path; each method's own for the data set if not given. A study of
            many methods then takes one.
        changes: Recipe keys to set in every recipe that the study starts from.
        protocols: To score under; the study's own if there are none.
        device: Where it is to run; times on one say nothing of another.
    """
    _check(study, datasets, seeds, methods, recipe)
    task = datasets[0].task
    protocols = protocols_of(study, task, protocols)
    where = str(make_fabric(device).device)
    distinct: dict[tuple[tuple[str, str], ...], Job] = {}  # what depends on no seed comes with each, and is done once
    for dataset in datasets:
        for seed in dict.fromkeys(seeds):
            changed = {**(changes or {}), "training.seed": seed}
            base = starting_point(study, dataset.name, task, methods=methods, recipe=recipe, changes=changed)
            variants = [variant for variant in study.variants(base) if _applies(variant, protocols)]
            for job in make_jobs(variants, dataset, device=where):
                distinct.setdefault(tuple((cell.key, cell.variant.label) for cell in job), job)
    return Plan(study.name, protocols, tuple(distinct.values()))


def protocols_of(study: Study, task: Task, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the protocols that a study is scored under: those asked for, else its own, else the task's."""
    if RUN_TIME in study.protocols and asked:
        raise InputError(f"The study {study.name} measures time, not embeddings: leave out --protocol.")
    for name in asked:
        if resolve("protocol", name).needs == "edges":
            raise InputError(f"{name} trains anew on every split, which no study does: use `sfa evaluate` for it.")
    return tuple(dict.fromkeys(asked)) or study.protocols or (default_protocol(task),)


def _applies(variant: Variant, protocols: Sequence[str]) -> bool:
    """Tell whether all protocols can score a variant: a supervised one needs a validation part to choose on."""
    return not variant.kind.startswith("supervised") or all(
        isinstance(protocol, Classification)
        and not (isinstance(protocol.splits, RandomSplits) and protocol.splits.validation == 0)
        for protocol in (resolve("protocol", name) for name in protocols)
    )


def _check(
    study: Study, datasets: Sequence[Dataset], seeds: Sequence[int], methods: Sequence[str], recipe: str | None
) -> None:
    """Raise unless a study can be made of these."""
    if not datasets or not seeds:
        raise InputError("A study needs at least one data set and one seed.")
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise InputError(f"Two data sets of a study cannot have the same name: {', '.join(names)}.")
    tasks = {dataset.task: dataset.name for dataset in datasets}
    if len(tasks) > 1:
        kinds = " and ".join(f"{name} is {DATA[task]}" for task, name in tasks.items())
        raise InputError(f"A study is of one kind of data, but {kinds}.")
    for method in methods:
        if resolve("method", method).task not in tasks:
            raise InputError(f"{method} is no method for {names[0]}: `sfa list methods` says what each one embeds.")
    if not study.many_methods and len(methods) > 1:
        raise InputError(f"The study {study.name} is of one method, not of {', '.join(methods)}.")
    if study.many_methods and recipe is not None and len(methods) != 1:
        raise InputError(
            f"The study {study.name} takes each method's own recipe: leave out --recipe, or name one --method."
        )


def starting_point(
    study: Study,
    dataset: str,
    task: Task,
    *,
    methods: Sequence[str] = (),
    recipe: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Base:
    """Return where a study starts from on the data set of this name, which need not be there; see :func:`make_plan`."""
    # Diagnostics change no result, and take time that is not the method's.
    own_epochs = {"training.epochs": study.epochs} if study.epochs else {}
    settings = {"training.diagnose_every": 0, **own_epochs, **(changes or {})}

    def recipe_of(method: str) -> Recipe:
        own = f"{method}/{dataset}".lower()
        found = load_recipe(own) if own in shipped_recipes() else Recipe.parse({"method": method, "spectral": "sfa"})
        return found.updated(settings)

    if recipe is not None:
        given = load_recipe(recipe, dataset, methods[0] if methods else None)
        given = (given.updated({"method.name": methods[0]}) if methods else given).updated(settings)
        return Base((given.method["name"],), lambda method: given)
    default = tuple(available_methods(task)) if study.many_methods else (DEFAULTS[task],)
    return Base(tuple(dict.fromkeys(methods)) or default, recipe_of)
