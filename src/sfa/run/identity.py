"""Hash everything that decides the result of a run, and nothing else."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from sfa.registry import source_of
from sfa.run.legacy import flatten

INDIFFERENT = ("seed", "checkpoint_every", "diagnose_every", "online_probe")
"""Keys of training that the hash leaves out: the seed is compared separately, and the others change no bit."""
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
"""Keys by path that old ledgers do not have, with the values of runs before: these are left out of the hash."""


def recipe_hash(recipe: Mapping[str, Any]) -> str:
    """Hash the complete values of a recipe (:meth:`sfa.run.Recipe.as_dict`) in the old layout, without the seed.

    Of parts of your own, ``module:Class``, the source file counts and not its name: edited code is another recipe.

    >>> recipe_hash({"a": 1, "training": {"lr": 0.1, "seed": 3}}) == recipe_hash({"training": {"lr": 1e-1}, "a": 1})
    True
    """
    return digest(_hashed(flatten(recipe)))


def _hashed(content: Any, key: str = "", prefix: str = "") -> Any:
    """Return the values that count, with the source of a user's parts in place of their names."""
    if isinstance(content, Mapping):
        counting = {name: value for name, value in content.items() if counts(f"{prefix}{name}", value)}
        return {name: _hashed(value, name, f"{prefix}{name}.") for name, value in counting.items()}
    if isinstance(content, list):
        return [_hashed(one, prefix="[]") for one in content]
    if prefix == "method.precision." and content == "auto":
        return "full"  # their results agree within the noise between seeds: docs/performance.md
    return source_of(content) or content if key == "name" and isinstance(content, str) else content


def counts(path: str, value: Any) -> bool:
    """Tell whether the hash of a recipe depends on this value of the key at this path.

    >>> counts("training.lr", 0.1), counts("training.seed", 3), counts("smoothing", 0), counts("smoothing", 2)
    (True, False, False, True)
    """
    section, _, key = path.rpartition(".")
    return not (section == "training" and key in INDIFFERENT) and not (path in LATER and value == LATER[path])


def run_key(kind: str, recipe: Mapping[str, Any], fingerprint: str, seed: int) -> str:
    """Return the key of a run in the ledger, made of the kind of measurement, its recipe, its data and its seed."""
    return digest([kind, recipe_hash(recipe), fingerprint, seed])


def digest(content: Any) -> str:
    """Return the first 64 bits of the SHA-256 of plain values, in one canonical spelling."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
