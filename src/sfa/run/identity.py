"""What makes two runs the same: hashes of everything that decides a result, and of nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sfa.registry import source_of
from sfa.run.legacy import flatten

INDIFFERENT = ("seed", "checkpoint_every", "diagnose_every", "online_probe")
"""Keys of a recipe's training that its hash leaves out: the seed is told apart from it, the others change no bit."""
LATER: dict[str, Any] = {
    "training.momentum": 0.9,
    "training.warmup_from": None,
    "training.precision": "32",
    "training.accumulate": 1,
    "training.restore_best": False,
    "spectral.passes": 1,
    "without_leading": 0,
    "smoothing": 0,
    "own_features": 0.0,
    "edge_noise": 0.0,
}
"""Keys by path that ledgers are older than, with the values that runs had before: left out where they have them."""

LENGTH = 16
"""Hexadecimal digits of a hash or key: 64 bits, for ledgers of far fewer than billions of runs."""


def recipe_hash(recipe: Mapping[str, Any]) -> str:
    """Hash a recipe's content, whatever the order of its keys; the seed is left out.

    Give it the complete values of :meth:`sfa.run.Recipe.as_dict`: there a default is the same as one written out.
    The hash is that of the old layout of recipes, where it can be said so (:func:`sfa.run.legacy.flatten`). Of
    parts of one's own, ``module:Class``, the source file counts and not its name: edited code is another recipe.

    >>> recipe_hash({"a": 1, "training": {"lr": 0.1, "seed": 3}}) == recipe_hash({"training": {"lr": 1e-1}, "a": 1})
    True
    """
    return digest(_with_sources(_that_count(flatten(recipe))))


def _with_sources(content: Any) -> Any:
    """Replace the names of parts of one's own, ``module:Class``, by what identifies their code as it is now."""
    if isinstance(content, Mapping):
        return {
            key: source_of(value) or value if key == "name" and isinstance(value, str) else _with_sources(value)
            for key, value in content.items()
        }
    return [_with_sources(one) for one in content] if isinstance(content, list) else content


def counts(path: str, value: Any) -> bool:
    """Whether the hash of a recipe depends on this value of the key at this path.

    >>> counts("training.lr", 0.1), counts("training.seed", 3), counts("smoothing", 0), counts("smoothing", 2)
    (True, False, False, True)
    """
    section, _, key = path.rpartition(".")
    return not (section == "training" and key in INDIFFERENT) and not (path in LATER and value == LATER[path])


def _that_count(section: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    return {
        key: _that_count(value, f"{prefix}{key}.") if isinstance(value, Mapping) else value
        for key, value in section.items()
        if counts(f"{prefix}{key}", value)
    }


def run_key(kind: str, recipe: Mapping[str, Any], fingerprint: str, seed: int) -> str:
    """The key of a run in the ledger: what is measured, its recipe, its data and its seed."""
    return digest([kind, recipe_hash(recipe), fingerprint, seed])


def digest(content: Any) -> str:
    """The beginning of the SHA-256 of plain values, in one canonical spelling."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:LENGTH]
