"""Budgets: how long, in what batches and at what rate a run was trained, apart from what it is a run of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfa.recipes.identity import recipe_hash
from sfa.recipes.parsing import stretched_warmup

LENGTHS = ("epochs", "warmup", "lr")
"""Keys of training that a shorter run changes: the warm-up shrinks with the epochs, and a rate meant for thousands of
them may diverge in a few."""
MACHINE = ("beside", "device", "threads")
"""What a timed run notes of where it was measured, and by turns with what."""


@dataclass(frozen=True)
class Budget:
    """Epochs that were planned, batches and learning rate; of a timed run also where and with what it was timed.

    Runs are pooled, and compared, if theirs is the same.
    """

    epochs: int | None
    """``None`` of what is not trained."""
    sampler: str
    """As JSON, which can be compared and hashed."""
    lr: float | None = None
    turns: str = ""

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> Budget:
        """The budget of a run with this complete recipe."""
        machine = {key: recipe[key] for key in MACHINE if key in recipe}
        return cls(
            epochs=recipe.get("training", {}).get("epochs"),
            sampler=_canonical(recipe.get("sampler")),
            lr=recipe.get("training", {}).get("lr"),
            turns=_canonical(machine) if machine else "",
        )

    def size(self, own: Budget) -> tuple[int, bool, bool, int, bool]:
        """By which budgets are ordered: more epochs first; then the recipe's own batches, the whole graph, the largest.

        All else equal, the recipe's own learning rate goes first.

        Args:
            own: That of the method's own recipe.
        """
        sampler = self._sampler
        is_whole = sampler.get("name") == "whole"
        size = int(sampler.get("batch_size") or 0)
        return self.epochs or 0, self.sampler == own.sampler, is_whole, size, self.lr == own.lr

    def words(self, own: Budget) -> str | None:
        """What differs from the method's own recipe, ``None`` if nothing does."""
        parts = []
        if self.epochs != own.epochs:
            more = (self.epochs or 0) > (own.epochs or 0)
            parts.append(
                f"{self.epochs} {'epochs in place of' if more else 'of'} {own.epochs}{'' if more else ' epochs'}"
            )
        if self.sampler != own.sampler:
            size, name = self._sampler.get("batch_size"), self._sampler.get("name")
            parts.append("full batch" if name == "whole" else f"batches of {size} ({name})" if size else f"by {name}")
        if self.lr != own.lr:
            parts.append(f"learning rate {self.lr:g} in place of {own.lr:g}")
        return ", ".join(parts) or None

    def changes(self, own: Budget) -> dict[str, Any]:
        """The recipe keys that make it of the method's own budget."""
        changed: dict[str, Any] = {}
        if self.epochs != own.epochs:
            changed["training.epochs"] = self.epochs
        if self.sampler != own.sampler:
            changed |= {f"sampler.{key}": value for key, value in self._sampler.items() if value is not None}
        if self.lr != own.lr:
            changed["training.lr"] = self.lr
        return changed

    @property
    def machine(self) -> str:
        """Where a timed run was measured, in words."""
        noted = json.loads(self.turns or "{}")
        threads = noted.get("threads")
        return f"{noted.get('device')}, {threads} thread{'' if threads == 1 else 's'}" if noted else ""

    @property
    def _sampler(self) -> dict[str, Any]:
        return json.loads(self.sampler) or {}


def essence(recipe: Mapping[str, Any]) -> str:
    """A hash of all that decides a run but for its budget and its seed."""
    kept = {key: value for key, value in recipe.items() if key not in ("sampler", *MACHINE)}
    if "training" in kept:
        kept["training"] = {key: value for key, value in kept["training"].items() if key not in LENGTHS}
    return recipe_hash(kept)


def has_fitting_warmup(recipe: Mapping[str, Any], own: Mapping[str, Any]) -> bool:
    """Tell whether a run warmed up for the share of its epochs that its method's own recipe has."""
    if "training" not in own:
        return True
    (epochs, warmup), (own_epochs, own_warmup) = (
        (one["training"]["epochs"], one["training"].get("warmup", 0)) for one in (recipe, own)
    )
    if epochs == own_epochs or own_warmup == 0:
        return bool(warmup == own_warmup)
    return bool(warmup == stretched_warmup(own_warmup, own_epochs, epochs))


def is_budget(path: str) -> bool:
    """Whether a recipe key, given by its path, is of the budget."""
    return path.split(".")[0] == "sampler" or path in [f"training.{key}" for key in LENGTHS]


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True)
