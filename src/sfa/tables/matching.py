"""Runs of a ledger that a cell of a table asks for: of its recipe, whatever the seed and the budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sfa.evaluate import Score
from sfa.ledger import Entry
from sfa.run.legacy import uncorrected
from sfa.studies import Summary, summary_of
from sfa.studies.variants import SEEDLESS, Variant
from sfa.tables.budgets import Budget, essence


@dataclass(frozen=True)
class Wanted:
    """What a cell asks for."""

    dataset: str
    variant: Variant
    """By the method's own recipe: its budget is the one that goes without saying."""
    protocol: str
    metric: str
    study: str = ""
    """Whose runs are preferred where nothing else decides: what was timed by turns with what."""
    twin: Variant | None = None
    """What it is compared with."""
    budget: Budget | None = None
    """The only one that counts; any, if ``None``."""
    seeds: tuple[int, ...] = ()
    """The only ones that count; any, if there are none."""

    @property
    def before_correction(self) -> Wanted | None:
        """The same of the method as it was before it was corrected (:data:`sfa.run.legacy.CORRECTED`)."""
        variants = [
            None if one is None else replace(one, recipe=uncorrected(one.recipe)) for one in (self.variant, self.twin)
        ]
        return None if variants[0] in (None, self.variant) else replace(self, variant=variants[0], twin=variants[1])

    @property
    def own_budget(self) -> Budget:
        return Budget.of(self.variant.decisive)

    @property
    def own_seeds(self) -> set[int]:
        """Those that count: what depends on none has 0."""
        return {0} if self.seeds and self.variant.kind in SEEDLESS else set(self.seeds)


@dataclass
class Pool:
    """Runs that may be pooled: of one recipe, budget, data and splits, by their seeds."""

    budget: Budget
    fingerprint: str
    splits: str
    entries: dict[int, Entry] = field(default_factory=dict)
    scores: dict[int, Score] = field(default_factory=dict)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(sorted(self.scores))

    def is_like(self, other: Pool) -> bool:
        """Whether the runs of both can be compared one by one."""
        return (self.budget, self.fingerprint, self.splits) == (other.budget, other.fingerprint, other.splits)


@dataclass(frozen=True)
class Found:
    """What there is for a cell."""

    pool: Pool
    summary: Summary
    mine: bool
    budget: str | None
    """In words, where it is not the recipe's own."""


class Shelf:
    """Entries where they are found at once by what they are of."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries: dict[tuple[str, str, str], list[Entry]] = {}
        for entry in entries:
            if not _is_of_a_search(entry):
                self._entries.setdefault((entry.dataset.lower(), entry.kind, essence(entry.recipe)), []).append(entry)

    @property
    def datasets(self) -> set[str]:
        """Those of which there is something."""
        return {dataset for dataset, _, _ in self._entries}

    def runs(self, dataset: str, variant: Variant) -> list[Entry]:
        """Runs of a variant on a data set, failed ones too, with any seed and budget."""
        found = self._entries.get((dataset.lower(), variant.kind, essence(variant.decisive)), [])
        return [entry for entry in found if _has_fitting_warmup(entry.recipe, variant)]

    def pools(self, wanted: Wanted, variant: Variant) -> list[Pool]:
        """Runs of a variant with a score under the protocol wanted, those together that may be pooled."""
        pools: dict[tuple[Budget, str, str], Pool] = {}
        for entry in self.runs(wanted.dataset, variant):
            budget = Budget.of(entry.recipe)
            if entry.failure is not None or not _counts(entry, budget, wanted):
                continue
            for score in entry.scores:
                if score.protocol == wanted.protocol and wanted.metric in score.values:
                    place = budget, entry.fingerprint, score.splits
                    pool = pools.setdefault(place, Pool(*place))
                    pool.entries.setdefault(entry.seed, entry)
                    pool.scores.setdefault(entry.seed, score)
        return list(pools.values())

    def failure(self, wanted: Wanted) -> str | None:
        """Why a run that is wanted failed, if one did."""
        failed = (
            entry.failure
            for entry in self.runs(wanted.dataset, wanted.variant)
            if entry.failure is not None and _counts(entry, Budget.of(entry.recipe), wanted)
        )
        return next(failed, None)


@dataclass(frozen=True)
class Measurements:
    """All that was measured: the user's own runs, and those that came with sfa where the user has none as long."""

    mine: Shelf
    shipped: Shelf

    @classmethod
    def of(cls, mine: Iterable[Entry] = (), shipped: Iterable[Entry] = ()) -> Measurements:
        return cls(Shelf(mine), Shelf(shipped))

    @property
    def shelves(self) -> tuple[Shelf, Shelf]:
        return self.mine, self.shipped

    @property
    def datasets(self) -> set[str]:
        """Those of which there is something."""
        return self.mine.datasets | self.shipped.datasets

    def find(self, wanted: Wanted) -> Found | None:
        """Find what fills a cell; of a method that was corrected and not measured since, how it was before."""
        found = self.find_exactly(wanted)
        earlier = wanted.before_correction
        if found is None and earlier is not None:
            found = self.find_exactly(earlier)
            if found is not None:
                words = "before its correction" if found.budget is None else f"before its correction, {found.budget}"
                return replace(found, budget=words)
        return found

    def find_exactly(self, wanted: Wanted) -> Found | None:
        """Find the runs of the largest budget, never of several."""
        best = [
            (max(pools, key=lambda pool: _preference(pool, wanted)), shelf is self.mine)
            for shelf in self.shelves
            if (pools := shelf.pools(wanted, wanted.variant))
        ]
        if not best:
            return None
        # A short run of one's own must not hide a long one; of the same budget, one's own goes first.
        pool, mine = max(best, key=lambda found: (found[0].budget.size(wanted.own_budget), found[1]))
        summary = summary_of(list(pool.entries.values()), pool.scores, self._twin(pool, wanted), wanted.metric)
        return Found(pool, summary, mine, pool.budget.words(wanted.own_budget))

    def failure(self, wanted: Wanted) -> str | None:
        """Why a run that is wanted failed, if one did."""
        return next((why for shelf in self.shelves if (why := shelf.failure(wanted)) is not None), None)

    def is_complete(self, wanted: Wanted) -> bool:
        """Whether every run that is asked for is there; of no seeds in particular, one is enough."""
        found = self.find_exactly(wanted)
        return found is not None and wanted.own_seeds <= set(found.pool.seeds)

    def _twin(self, pool: Pool, wanted: Wanted) -> Mapping[int, Score]:
        """The scores of the twin's runs that a pool can be compared with."""
        if wanted.twin is not None:
            for shelf in self.shelves:
                for other in shelf.pools(wanted, wanted.twin):
                    if other.is_like(pool):
                        return other.scores
        return {}


def _is_of_a_search(entry: Entry) -> bool:
    """Whether it was run for a search alone: its rate and epochs were chosen, and are no budget of the recipe's."""
    return bool(entry.labels) and all(study == "sweep" for study, _ in entry.labels)


def _counts(entry: Entry, budget: Budget, wanted: Wanted) -> bool:
    asked = wanted.budget
    if asked is not None and (budget.epochs, budget.sampler, budget.lr) != (asked.epochs, asked.sampler, asked.lr):
        return False
    return not wanted.seeds or entry.seed in wanted.own_seeds


def _preference(pool: Pool, wanted: Wanted) -> tuple[Any, ...]:
    """The larger the better: budget, then seeds, then what the study itself entered, then what is newest."""
    newest = max(entry.created for entry in pool.entries.values())
    labelled = any(study == wanted.study for entry in pool.entries.values() for study, _ in entry.labels)
    return pool.budget.size(wanted.own_budget), len(pool.seeds), labelled, newest


def _has_fitting_warmup(recipe: Mapping[str, Any], variant: Variant) -> bool:
    """Whether a run warmed up for the share of its epochs that the variant has."""
    if "training" not in variant.decisive:
        return True
    own, training = variant.recipe.training, recipe["training"]
    epochs, warmup = training["epochs"], training.get("warmup", 0)
    if epochs == own.epochs or own.warmup == 0:
        return bool(warmup == own.warmup)
    return bool(warmup == variant.recipe.updated({"training.epochs": epochs}).training.warmup)
