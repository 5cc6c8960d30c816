"""What a study compares: a recipe under a name, and what is measured of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sfa.errors import unknown_name
from sfa.evaluate.supervised import SETTINGS
from sfa.evaluate.untrained import UNTRAINED
from sfa.levels import Level
from sfa.registry import resolve
from sfa.run import Recipe
from sfa.run.run import describe

SEEDLESS = {name for of_level in UNTRAINED.values() for name in of_level}
"""Embeddings of the data alone."""
KINDS = {"trained", "timed", "untrained encoder", "supervised mlp", "supervised gcn", *SEEDLESS}
"""What is measured: the recipe's embeddings, seconds per epoch, or a yardstick's embeddings or classifier."""


@dataclass(frozen=True)
class Variant:
    """One line of a study's table."""

    label: str
    recipe: Recipe
    baseline: str | None = None
    """Label of the variant it is compared with."""
    kind: str = "trained"
    """One of :data:`KINDS`."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of variant", self.kind, KINDS)

    @property
    def name(self) -> str:
        """Of the embedding that is scored."""
        if self.kind == "untrained encoder":
            return f"untrained {self.recipe.method['name']}"
        return describe(self.recipe) if self.kind in ("trained", "timed") else self.kind

    @property
    def decisive(self) -> dict[str, Any]:
        """The part of the recipe that decides what is measured."""
        used = {key: value for key, value in self.recipe.as_dict().items() if key not in self._unused}
        return {**used, "supervised": SETTINGS} if self.kind.startswith("supervised") else used

    @property
    def _unused(self) -> tuple[str, ...]:
        """Keys of the recipe without which the same is measured."""
        if self.kind in ("trained", "timed"):
            return () if self.kind == "trained" else ("postprocess",)
        of_training = ("spectral", "sampler", "training")
        if self.kind == "untrained encoder":
            return of_training
        return (*of_training, "method", "encoder", "augmentation", "postprocess")

    @property
    def seed(self) -> int:
        """The seed it depends on; 0 if it depends on none."""
        seedless = self.kind in SEEDLESS and self.recipe.feature_noise == self.recipe.edge_noise == 0
        return 0 if seedless else self.recipe.training.seed


@dataclass(frozen=True)
class Base:
    """Where a study starts from on one data set, with one seed: the recipe of each method."""

    methods: tuple[str, ...]
    recipe_of: Callable[[str], Recipe]

    @property
    def recipe(self) -> Recipe:
        """Of the first method."""
        return self.recipe_of(self.methods[0])

    @property
    def level(self) -> Level:
        """What the methods embed."""
        level: Level = resolve("method", self.methods[0]).level
        return level
