"""All runs that a study asks for, each with the key by which the ledger knows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch_geometric.data import Data

from sfa.data import fingerprint
from sfa.errors import InputError
from sfa.evaluate import Classification, Protocol
from sfa.evaluate.protocols import default_protocol
from sfa.evaluate.splits import RandomSplits
from sfa.ledger import recipe_hash, run_key
from sfa.levels import DATA, Level, level_of
from sfa.methods import DEFAULTS, available_methods
from sfa.registry import resolve
from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.studies.study import RUN_TIME, Study
from sfa.studies.variants import Base, Variant
from sfa.train import make_fabric


@dataclass(frozen=True)
class Dataset:
    """A graph, or a set of graphs, that a study runs on: what it is, where it came from and how to get it again."""

    name: str
    fingerprint: str
    source: Mapping[str, Any]
    load: Callable[[], Data]
    level: Level = "node"
    _digests: dict[str, str] = field(default_factory=lambda: {RUN_TIME: ""}, repr=False, compare=False)

    @classmethod
    def of(
        cls,
        load: Callable[[], Data],
        source: Mapping[str, Any],
        protocols: Callable[[Level], Sequence[str]] = lambda level: (),
    ) -> Dataset:
        """The data set that ``load`` reads; raises if it does not allow one of the protocols for its level."""
        graph = load()
        dataset = cls(str(graph.name), fingerprint(graph), source, load, level_of(graph))
        for name in protocols(dataset.level):
            if name != RUN_TIME:
                resolve("protocol", name).check(graph)
                dataset._digests[name] = resolve("protocol", name).digest(graph)
        return dataset

    def protocol(self, name: str) -> Protocol:
        """The protocol that goes by a name on these data."""
        protocol: Protocol = resolve("protocol", name)
        return protocol

    def digest(self, protocol: str) -> str:
        """Of a protocol's settings and splits of these data: a score in the ledger counts if it has the same."""
        if protocol not in self._digests:
            self._digests[protocol] = self.protocol(protocol).digest(self.load())
        return self._digests[protocol]


@dataclass(frozen=True)
class Cell:
    """One run of a study."""

    dataset: Dataset
    variant: Variant
    key: str
    identity: Mapping[str, Any]
    """What the key is made of, beside kind, data and seed."""

    @property
    def title(self) -> str:
        """For people."""
        return f"{self.dataset.name}, {self.variant.label}, seed {self.variant.seed}"

    @property
    def epochs(self) -> int:
        """To be trained."""
        return self.variant.recipe.training.epochs if self.variant.kind in ("trained", "timed") else 0


Job = tuple[Cell, ...]
"""Cells that are measured together: one, or those that are timed by turns."""


@dataclass(frozen=True)
class Plan:
    """A study with all its cells."""

    study: Study
    protocols: tuple[str, ...]
    jobs: tuple[Job, ...]

    @property
    def cells(self) -> list[Cell]:
        return [cell for job in self.jobs for cell in job]


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
    """The cells of a study, by data set, then seed, then variant.

    Args:
        study: Which.
        datasets: The graphs.
        seeds: Of training.
        methods: Those to compare, all of the data's level if there are none; for a study of one method that one, or
            else the recipe's.
        recipe: A recipe to start from, by name or path; each method's own for the data set if not given. A study of
            many methods then takes one.
        changes: Recipe keys to set in every recipe that the study starts from.
        protocols: To score under; the study's own if there are none.
        device: Where it is to run; times on one say nothing of another.
    """
    _check(study, datasets, seeds, methods, recipe)
    level = datasets[0].level
    protocols = protocols_of(study, level, protocols)
    jobs: list[Job] = []
    for dataset in datasets:
        for seed in dict.fromkeys(seeds):
            base = starting_point(
                study,
                dataset.name,
                level,
                methods=methods,
                recipe=recipe,
                changes={**(changes or {}), "training.seed": seed},
            )
            jobs += _jobs(
                [variant for variant in study.variants(base) if _applies(variant, protocols)],
                dataset,
                str(make_fabric(device).device),
            )
    distinct: dict[tuple[tuple[str, str], ...], Job] = {}  # what depends on no seed comes with each, and is done once
    for job in jobs:
        distinct.setdefault(tuple((cell.key, cell.variant.label) for cell in job), job)
    return Plan(study, protocols, tuple(distinct.values()))


def protocols_of(study: Study, level: Level, asked: Sequence[str] = ()) -> tuple[str, ...]:
    """The protocols that a study of such data is scored under: those asked for, else its own, else the level's."""
    if RUN_TIME in study.protocols and asked:
        raise InputError(f"The study {study.name} measures time, not embeddings: leave out --protocol.")
    for name in asked:
        if resolve("protocol", name).needs == "edges":
            raise InputError(f"{name} trains anew on every split, which no study does: use `sfa evaluate` for it.")
    return tuple(dict.fromkeys(asked)) or study.protocols or (default_protocol(level),)


def _applies(variant: Variant, protocols: Sequence[str]) -> bool:
    """Whether a variant can be scored under all protocols: a supervised one needs a validation part to choose on."""
    return not variant.kind.startswith("supervised") or all(
        isinstance(protocol, Classification)
        and not (isinstance(protocol.splits, RandomSplits) and protocol.splits.validation == 0)
        for protocol in (resolve("protocol", name) for name in protocols)
    )


def _check(
    study: Study,
    datasets: Sequence[Dataset],
    seeds: Sequence[int],
    methods: Sequence[str],
    recipe: str | None,
) -> None:
    if not datasets or not seeds:
        raise InputError("A study needs at least one data set and one seed.")
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise InputError(f"Two data sets of a study cannot have the same name: {', '.join(names)}.")
    levels = {dataset.level: dataset.name for dataset in datasets}
    if len(levels) > 1:
        kinds = " and ".join(f"{name} is {DATA[level]}" for level, name in levels.items())
        raise InputError(f"A study is of one kind of data, but {kinds}.")
    for method in methods:
        if resolve("method", method).level not in levels:
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
    level: Level,
    *,
    methods: Sequence[str] = (),
    recipe: str | None = None,
    changes: Mapping[str, Any] | None = None,
) -> Base:
    """Where a study starts from on the data set of this name, which need not be there; see :func:`make_plan`."""
    # Diagnostics change no result, and take time that is not the method's.
    own_epochs = {"training.epochs": study.epochs} if study.epochs else {}
    settings = {"training.diagnose_every": 0, **own_epochs, **(changes or {})}

    def recipe_of(method: str) -> Recipe:
        own = f"{method}/{dataset}".lower()
        found = load_recipe(own) if own in shipped_recipes() else Recipe.parse({"method": method, "spectral": "sfa"})
        return found.updated(settings)

    if recipe is not None:
        given = load_recipe(recipe, dataset, methods[0] if methods else None)
        if methods:
            given = given.updated({"method.name": methods[0]})
        given = given.updated(settings)
        return Base((given.method["name"],), lambda method: given)
    default = tuple(available_methods(level)) if study.many_methods else (DEFAULTS[level],)
    return Base(tuple(dict.fromkeys(methods)) or default, recipe_of)


def _jobs(variants: Sequence[Variant], dataset: Dataset, device: str) -> Iterator[Job]:
    timed = [variant for variant in variants if variant.kind == "timed"]
    if timed:
        # Times are compared with those measured by turns with them, on the same device and threads, and with no others.
        beside = sorted(recipe_hash(variant.decisive) for variant in timed)
        machine = {"device": device, "threads": torch.get_num_threads()}
        yield tuple(_cell(variant, dataset, beside=beside, **machine) for variant in timed)
    for variant in variants:
        if variant.kind != "timed":
            yield (_cell(variant, dataset),)


def _cell(variant: Variant, dataset: Dataset, **more: Any) -> Cell:
    identity = {**variant.decisive, **more}
    return Cell(dataset, variant, run_key(variant.kind, identity, dataset.fingerprint, variant.seed), identity)
