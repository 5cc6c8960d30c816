"""What was measured of a method: lines for its page, from entries of the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sfa.errors import InputError
from sfa.evaluate import Score
from sfa.paper.plans import RUN_TIME
from sfa.paper.results_files import Entry
from sfa.paper.tables.model import mean_and_std
from sfa.paper.tables.selection import MACHINE, Budget
from sfa.run import Recipe, load_recipe
from sfa.run.identity import counts, digest
from sfa.run.legacy import CORRECTED, modernize, uncorrected
from sfa.sweep.report import Summary, summarize_seeds

PLAIN, SFA = "none", "sfa"


@dataclass(frozen=True)
class Group:
    """Runs that differ in their seed alone, and their scores under one protocol on the same splits."""

    dataset: str
    recipe: Mapping[str, Any]
    """Complete, in today's layout."""
    spectral: str
    """The map's name, with those of its options that are not the defaults: ``sfa, iterations=2``."""
    protocol: str
    scores: Mapping[int, Score]
    """By seed."""
    entries: tuple[Entry, ...]

    @property
    def metrics(self) -> list[str]:
        return list(next(iter(self.scores.values())).values)

    @property
    def seeds(self) -> str:
        return ", ".join(str(seed) for seed in sorted(self.scores))

    def summary(self, metric: str, baseline: Group | None = None) -> Summary:
        """What the seeds come to, and how that differs from a baseline."""
        beside = {} if baseline is None else baseline.scores
        return summarize_seeds(self.scores, beside, metric, in_per_cent=self.protocol == RUN_TIME)

    def text(self, metric: str) -> str:
        """``82.10 ± 0.45``: the deviation is over seeds, with one seed over its splits."""
        summary = self.summary(metric)
        return mean_and_std(summary.mean, summary.std)

    @property
    def splits(self) -> str:
        """The digest of the splits and of the protocol's settings."""
        return next(iter(self.scores.values())).splits

    @property
    def correction(self) -> dict[str, Any]:
        """Settings by path that it has and that were corrected since, in its method and the shipped recipe."""
        own = _flat(self.recipe)
        shipped = _flat(shipped_recipe(self.recipe["method"]["name"], self.dataset).as_dict())
        corrected = CORRECTED.get(self.recipe["method"]["name"], {})
        before = {path: value for path, value in corrected.items() if own.get(path, value) == value}
        return before if before == corrected and any(shipped.get(path) != before[path] for path in before) else {}

    @property
    def budget(self) -> str:
        """Epochs and batches, told from the shipped recipe's where they differ; epochs done where patience ended it."""
        shipped = Budget.of(shipped_recipe(self.recipe["method"]["name"], self.dataset).as_dict())
        epochs = self.recipe["training"]["epochs"]
        words = Budget.of(self.recipe).words(shipped) or f"{epochs} epochs"
        words = f"before its correction, {words}" if self.correction else words
        done = [entry.epochs for entry in self.entries if entry.epochs is not None]
        return f"{words}, {min(done)} to {max(done)} done (patience)" if done and min(done) < epochs else words


def groups(entries: Iterable[Entry], *, method: str | None, kind: str = "trained") -> list[Group]:
    """The entries of a method that did not fail, seeds together."""
    found: dict[tuple[str, ...], dict[int, tuple[Entry, Score]]] = {}
    for entry in entries:
        if entry.kind == kind and entry.method == method and entry.failure is None:
            for score in entry.scores:
                place = entry.dataset, entry.fingerprint, entry.recipe_hash, score.protocol, score.splits
                found.setdefault(place, {})[entry.seed] = entry, score
    return [_group(of_seeds) for of_seeds in found.values()]


def _group(of_seeds: Mapping[int, tuple[Entry, Score]]) -> Group:
    entry, score = next(iter(of_seeds.values()))
    return Group(
        dataset=entry.dataset,
        recipe=_complete(entry.recipe),
        spectral=_map(entry.recipe),
        protocol=score.protocol,
        scores={seed: score for seed, (_, score) in of_seeds.items()},
        entries=tuple(entry for entry, _ in of_seeds.values()),
    )


def _complete(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """A recipe of a ledger, perhaps of the old layout, in today's; what was not trained has only a part of one."""
    modern = modernize({key: value for key, value in recipe.items() if key not in MACHINE})
    return Recipe.parse(modern).as_dict() if "training" in modern else modern


def _map(recipe: Mapping[str, Any]) -> str:
    section = dict(recipe.get("spectral") or {"name": PLAIN})
    default = Recipe.parse({"spectral": section["name"]}).spectral
    changed = [f"{key}={value}" for key, value in section.items() if key != "name" and value != default.get(key)]
    return ", ".join([section["name"], *changed])


def without_map(group: Group) -> str:
    """A digest of all that decides a group's result but the spectral map and the seed: what is paired has the same."""
    recipe = {path: value for path, value in _flat(group.recipe).items() if not path.startswith("spectral")}
    return digest([group.dataset, group.protocol, group.splits, sorted(recipe.items())])


def changes(group: Group) -> dict[str, tuple[Any, Any]]:
    """Keys in which a group's recipe, but for its map, differs from the shipped one: both values.

    What was corrected since is no difference (:attr:`Group.correction`).
    """
    recipe = shipped_recipe(group.recipe["method"]["name"], group.dataset)
    own, shipped = _flat(group.recipe), _flat((uncorrected(recipe) if group.correction else recipe).as_dict())
    differing = {path: (own.get(path), shipped.get(path)) for path in {**own, **shipped}}
    return {path: pair for path, pair in differing.items() if pair[0] != pair[1] and not path.startswith("spectral")}


def shipped_recipe(method: str, dataset: str) -> Recipe:
    """The method's own recipe for a data set; where none is shipped, its authors' defaults."""
    try:
        return load_recipe(f"{method}/{dataset}")
    except InputError:
        return Recipe.parse({"method": method, "spectral": PLAIN})


def _flat(recipe: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by path, without those that decide nothing; those that a ledger may be older than, where they changed."""
    flat: dict[str, Any] = {}
    for key, value in recipe.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif counts(f"{prefix}{key}", value):
            flat[f"{prefix}{key}"] = list(value) if isinstance(value, tuple) else value
    return flat


@dataclass(frozen=True)
class Pair:
    """A method without a map and with one, on the same data, settings and splits; either may be missing."""

    plain: Group | None
    other: Group | None

    @property
    def any(self) -> Group:
        group = self.other or self.plain
        assert group is not None
        return group


def pairs(found: Sequence[Group]) -> Iterator[Pair]:
    """Every group with a map beside that without, and groups that stand alone."""
    plain = {without_map(group): group for group in found if group.spectral == PLAIN}
    others = [group for group in found if group.spectral != PLAIN]
    for group in others:
        yield Pair(plain.get(without_map(group)), group)
    paired = {without_map(group) for group in others}
    yield from (Pair(group, None) for place, group in plain.items() if place not in paired)
