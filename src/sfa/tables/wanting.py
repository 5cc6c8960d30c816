"""From a cell of a table to what it asks the measurements for."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from sfa.levels import Level
from sfa.methods import available_methods
from sfa.registry import resolve
from sfa.studies import starting_point
from sfa.studies.variants import Variant
from sfa.tables.ask import Ask
from sfa.tables.budgets import Budget
from sfa.tables.definition import Definition, Point
from sfa.tables.matching import Wanted

Variants = Mapping[str, Variant]
"""Of a study on one data set, by their labels."""


class Wants:
    """What the cells of a table ask for. No data are read.

    Args:
        definition: The table.
        ask: How it is asked for.
    """

    def __init__(self, definition: Definition, ask: Ask) -> None:
        self.definition, self.ask = definition, ask

    def refusal(self, point: Point) -> str | None:
        """Why a cell cannot be measured; ``None`` if it can."""
        if point.line.missing is not None:
            return point.line.missing
        if not point.metric:
            return self.definition.unmeasured
        if point.line.only and point.dataset not in point.line.only:
            return "the paper gives none for this data set"
        return None

    def wanted(self, point: Point) -> Wanted:
        """What a cell asks for that can be measured."""
        variants = self._variants(point, self.ask.settings)
        variant = variants[point.line.variant]
        return Wanted(
            point.dataset,
            variant,
            self.definition.protocol,
            point.metric,
            study=self.definition.study,
            twin=variants.get(variant.baseline or ""),
            budget=self._budget(point),
            seeds=self.ask.seeds,
        )

    def _budget(self, point: Point) -> Budget | None:
        """The only one that counts, if one is asked for."""
        if not self.ask.sets_budget:
            return None
        return Budget.of(self._variants(point, self.ask.changes)[point.line.variant].decisive)

    def _variants(self, point: Point, changes: Mapping[str, Any]) -> Variants:
        line = point.line
        return _variants_of(
            self.definition.study,
            point.dataset,
            self.definition.level,
            (line.method,) if line.recipe and line.method else self._methods,
            line.recipe,
            json.dumps(changes, default=str),  # a date, as YAML reads it
        )

    @property
    def _methods(self) -> tuple[str, ...]:
        """In our order, by which the level's first, beside which yardsticks stand, is the first."""
        return tuple(name for name in available_methods() if name in self.ask.methods)


@cache
def _variants_of(
    study: str, dataset: str, level: Level, methods: tuple[str, ...], recipe: str | None, changes: str
) -> Variants:
    """All variants of a study on one data set; made once, as the cells of a table, and tables, have them in common."""
    found = resolve("study", study)
    base = starting_point(found, dataset, level, methods=methods, recipe=recipe, changes=json.loads(changes))
    return {variant.label: variant for variant in found.variants(base)}
