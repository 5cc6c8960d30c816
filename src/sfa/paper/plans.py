"""Studies, their variants, and the runs that one asks for, each with the key under which the results hold it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from sfa import distributed
from sfa.data import fingerprint
from sfa.errors import InputError, unknown_name
from sfa.evaluate import Classification
from sfa.evaluate.baselines import BASELINES, SUPERVISED_SETTINGS
from sfa.evaluate.protocols import default_protocol
from sfa.evaluate.splits import RandomSplits
from sfa.methods import available_methods
from sfa.paper import METHODS
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.identity import recipe_hash, run_key
from sfa.run.run import describe
from sfa.run.source import Source
from sfa.sweep.settings import starting_recipe
from sfa.tasks import DATA, Task, task_of
from sfa.train import make_fabric

RUN_TIME = "run-time"  # the protocol under which the results hold seconds per epoch
SEEDLESS = {name for of_task in BASELINES.values() for name in of_task}  # kinds computed from the data alone
ProtocolsOf = Callable[[Task], Sequence[str]]
KINDS = {"trained", "timed", "untrained encoder", "supervised mlp", "supervised gcn", *SEEDLESS}


@dataclass(frozen=True)
class Variant:
    """One row of a study's table, compared with the variant whose label is ``baseline``."""

    label: str
    recipe: Recipe
    baseline: str | None = None
    kind: str = "trained"  # what is measured: the recipe's embeddings, its seconds per epoch, or a baseline

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of variant", self.kind, KINDS)

    @property
    def name(self) -> str:
        """Name of the embedding that is scored."""
        if self.kind == "untrained encoder":
            return f"untrained {self.recipe.method['name']}"
        return describe(self.recipe) if self.kind in ("trained", "timed") else self.kind

    @property
    def decisive(self) -> dict[str, Any]:
        """The part of the recipe that decides the result."""
        untrained = ("spectral", "sampler", "training")
        unused = {"trained": (), "timed": ("postprocess",), "untrained encoder": untrained}.get(
            self.kind, (*untrained, "method", "encoder", "augmentation", "postprocess")
        )
        used = {key: value for key, value in self.recipe.as_dict().items() if key not in unused}
        return {**used, "supervised": SUPERVISED_SETTINGS} if self.kind.startswith("supervised") else used

    @property
    def seed(self) -> int:
        """The seed that the result depends on; 0 if it depends on none."""
        seedless = self.kind in SEEDLESS and self.recipe.feature_noise == self.recipe.edge_noise == 0
        return 0 if seedless else self.recipe.training.seed


@dataclass(frozen=True)
class Dataset:
    """Data that runs are measured on, and how to load them again."""

    name: str
    fingerprint: str
    source: Mapping[str, Any]
    load: Callable[[], Data]
    task: Task = "node"
    _digests: dict[str, str] = field(default_factory=lambda: {RUN_TIME: ""}, repr=False, compare=False)

    @classmethod
    def of(
        cls, load: Callable[[], Data], source: Mapping[str, Any], protocols: ProtocolsOf = lambda task: ()
    ) -> Dataset:
        """Describe the data that ``load`` returns; raise if they do not allow one of the protocols for their task."""
        data = load()
        dataset = cls(str(data.name), fingerprint(data), source, load, task_of(data))
        for name in protocols(dataset.task):
            if name != RUN_TIME:
                resolve("protocol", name).check(data)
                dataset._digests[name] = resolve("protocol", name).digest(data)
        return dataset

    def digest(self, protocol: str) -> str:
        """Hash a protocol's settings and splits of these data: a stored score counts if it has the same hash."""
        if protocol not in self._digests:
            self._digests[protocol] = resolve("protocol", protocol).digest(self.load())
        return self._digests[protocol]


@dataclass(frozen=True)
class Cell:
    """One run: a variant on a data set. Its key is a hash of kind, identity, data and seed."""

    dataset: Dataset
    variant: Variant
    key: str
    identity: Mapping[str, Any]

    @classmethod
    def of(cls, dataset: Dataset, variant: Variant, **more: Any) -> Cell:
        """Make a run; ``more`` is what its key depends on beside the recipe."""
        identity = {**variant.decisive, **more}
        return cls(dataset, variant, run_key(variant.kind, identity, dataset.fingerprint, variant.seed), identity)

    @property
    def title(self) -> str:
        return f"{self.dataset.name}, {self.variant.label}, seed {self.variant.seed}"

    @property
    def epochs(self) -> int:
        return self.variant.recipe.training.epochs if self.variant.kind in ("trained", "timed") else 0


Job = tuple[Cell, ...]  # cells that are measured together: one, or all that are timed in turns


@dataclass(frozen=True)
class Plan:
    """All runs of a study, and the protocols that score them."""

    study: str
    protocols: tuple[str, ...]
    jobs: tuple[Job, ...]

    @property
    def cells(self) -> list[Cell]:
        return [cell for job in self.jobs for cell in job]


@dataclass(frozen=True)
class Base:
    """The recipes that a study starts from on one data set, with one seed; ``recipe`` is that of the first method."""

    methods: tuple[str, ...]
    recipe_of: Callable[[str], Recipe]

    @property
    def recipe(self) -> Recipe:
        return self.recipe_of(self.methods[0])

    @property
    def task(self) -> Task:
        task: Task = resolve("method", self.methods[0]).task
        return task


@dataclass(frozen=True)
class Study:
    """A named comparison of variants."""

    name: str
    variants: Callable[[Base], Iterator[Variant]]
    protocols: tuple[str, ...] = ()  # by default those of the task
    epochs: int | None = None  # by default those of the recipe
    many_methods: bool = False  # whether it compares methods, not settings of one

    @property
    def description(self) -> str:
        return (inspect.getdoc(self.variants) or "").splitlines()[0]


def load_datasets(
    study: Study, names: Sequence[str], protocols: Sequence[str], data_root: Path | None
) -> list[Dataset]:
    """Load data sets by name or file; raise unless they allow the protocols that score the study."""
    sources = [Source(name, data_root) for name in dict.fromkeys(names)]
    wanted = partial(protocols_of, study, asked=protocols)
    return [Dataset.of(source.load, source.as_dict(), wanted) for source in sources]


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
    """Return the runs of a study on data sets of one task, by data set, then seed, then variant.

    ``methods`` are by default all of the task, or its first in a study of one method, and ``recipe``, a name or path,
    the method's own for the data set. ``changes`` are made in every recipe. Times are measured anew on each device.
    """
    names, tasks = [dataset.name for dataset in datasets], {dataset.task: dataset.name for dataset in datasets}
    if not datasets or not seeds:
        raise InputError("A study needs at least one data set and one seed.")
    if len(set(names)) < len(names):
        raise InputError(f"Two data sets of a study cannot have the same name: {', '.join(names)}.")
    if len(tasks) > 1:
        kinds = " and ".join(f"{name} is {DATA[task]}" for task, name in tasks.items())
        raise InputError(f"A study is of one kind of data, but {kinds}.")
    if foreign := ", ".join(method for method in methods if resolve("method", method).task not in tasks):
        hint = "`sfa list methods` says what each one embeds."
        raise InputError(f"{foreign} is no method for {', '.join(names)}: {hint}")
    if not study.many_methods and len(methods) > 1:
        raise InputError(f"The study {study.name} is of one method, not of {', '.join(methods)}.")
    if study.many_methods and recipe is not None and len(methods) != 1:
        hint = "leave out --recipe, or name one --method."
        raise InputError(f"The study {study.name} takes each method's own recipe: {hint}")
    task = datasets[0].task
    protocols = protocols_of(study, task, protocols)
    distributed.train_alone()
    machine = {"device": str(make_fabric(device).device), "threads": torch.get_num_threads()}
    distinct: dict[tuple[tuple[str, str], ...], Job] = {}  # runs that depend on no seed come with each seed
    for dataset in datasets:
        for seed in dict.fromkeys(seeds):
            changed = {**(changes or {}), "training.seed": seed}
            base = starting_point(study, dataset.name, task, methods=methods, recipe=recipe, changes=changed)
            variants = [variant for variant in study.variants(base) if _applies(variant, protocols)]
            timed = [variant for variant in variants if variant.kind == "timed"]
            # Times are compared with those that were measured in turns with them, on the same device and threads.
            beside = sorted(recipe_hash(variant.decisive) for variant in timed)
            jobs = [tuple(Cell.of(dataset, variant, beside=beside, **machine) for variant in timed)] if timed else []
            for job in (*jobs, *((Cell.of(dataset, variant),) for variant in variants if variant not in timed)):
                distinct.setdefault(tuple((cell.key, cell.variant.label) for cell in job), job)
    return Plan(study.name, protocols, tuple(distinct.values()))


def protocols_of(study: Study, task: Task, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the protocols that score a study: those asked for, else its own, else the default of the task."""
    if RUN_TIME in study.protocols and asked:
        raise InputError(f"The study {study.name} measures time, not embeddings: leave out --protocol.")
    for name in asked:
        if resolve("protocol", name).needs == "edges":
            raise InputError(f"{name} trains anew on every split, which no study does: use `sfa evaluate` for it.")
    return tuple(dict.fromkeys(asked)) or study.protocols or (default_protocol(task),)


def _applies(variant: Variant, protocols: Sequence[str]) -> bool:
    """Tell whether all protocols can score a variant: a supervised model needs a validation part."""
    return not variant.kind.startswith("supervised") or all(
        isinstance(protocol, Classification)
        and not (isinstance(protocol.splits, RandomSplits) and protocol.splits.validation == 0)
        for protocol in (resolve("protocol", name) for name in protocols)
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
    """Return the recipes that a study starts from on the data set of this name; see :func:`make_plan`."""
    changes = {**({"training.epochs": study.epochs} if study.epochs else {}), **(changes or {})}
    if recipe is not None:
        given = starting_recipe(dataset, task, method=next(iter(methods), None), recipe=recipe, changes=changes)
        return Base((given.method["name"],), lambda method: given)
    published = [name for name, method in available_methods(task).items() if method.published]
    names = tuple(dict.fromkeys(methods or (published if study.many_methods else (METHODS[task],))))
    return Base(names, lambda method: starting_recipe(dataset, task, method=method, changes=changes))
