"""Training budgets: epochs, batches and learning rate of a run, apart from the rest of its recipe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sfa.run.identity import recipe_hash
from sfa.run.parsing import stretched_warmup

LENGTHS = ("epochs", "warmup", "lr")  # keys of training that a shorter run changes
MACHINE = ("beside", "device", "threads")
"""Keys that a timed run has beside its recipe: where, and in turns with which runs, it was measured."""


@dataclass(frozen=True)
class Budget:
    """Planned epochs, batches, learning rate and, of a timed run, machine. Runs are pooled if theirs are equal.

    ``sampler`` and ``turns``, the machine, are JSON, so that a budget is hashable.
    """

    epochs: int | None
    sampler: str
    lr: float | None = None
    turns: str = "{}"

    @classmethod
    def of(cls, recipe: Mapping[str, Any]) -> Budget:
        """Return the budget of a complete recipe."""
        training, machine = recipe.get("training", {}), {key: recipe[key] for key in MACHINE if key in recipe}
        sampler, turns = (json.dumps(section, sort_keys=True) for section in (recipe.get("sampler"), machine))
        return cls(training.get("epochs"), sampler, training.get("lr"), turns)

    @property
    def batches(self) -> dict[str, Any]:
        """The sampler's name and options."""
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
            more = (self.epochs or 0) > (own.epochs or 0)
            parts.append(f"{self.epochs} epochs in place of" if more else f"{self.epochs} of")
            parts[0] += f" {own.epochs}" if more else f" {own.epochs} epochs"
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
