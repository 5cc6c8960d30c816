"""Settings of a method where a recipe says nothing: its level's, and on top of them its authors'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfa.levels import Level

LEVELS: dict[Level, dict[str, Any]] = {
    "node": {"encoder": {"name": "gcn"}, "augmentation": {"name": "uniform"}},
    "graph": {
        "encoder": {"name": "gin"},
        "augmentation": {"name": "random-choice"},
        "training": {"epochs": 20, "lr": 0.01, "weight_decay": 0.0, "patience": None},
        "feature_norm": "none",
        "sampler": {"name": "graphs", "batch_size": 128},
    },
    "image": {
        "encoder": {"name": "small"},
        "augmentation": {"name": "image"},
        "training": {
            "epochs": 100,
            "optimizer": "adamw",
            "lr": 1e-3,
            "weight_decay": 1e-4,
            "warmup": 10,
            "cosine": True,
            "patience": None,
        },
        "feature_norm": "none",
        "sampler": {"name": "images", "batch_size": 256},
    },
}
"""By recipe section. Those of graphs are GraphCL's on the sets of TU Dortmund, which the authors of the others share.
Those of images are moderate and nobody's: the rate needs no tuning to a batch size, and a CPU can bear the epochs with
the small encoder and small images. The published ones, of 400 to 1000 epochs on GPUs, are in the shipped recipes."""


def settings_of(method: Any) -> dict[str, Any]:
    """Return the settings of a method, or of its class, by recipe section: its own ``defaults`` over its level's."""
    return merge(LEVELS[method.level], method.defaults)


def merge(settings: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with some changed; a section keeps what is not changed unless another name is given to it."""
    merged = dict(settings)
    for key, value in changes.items():
        old = merged.get(key)
        same = isinstance(old, Mapping) and isinstance(value, Mapping) and value.get("name") in (None, old.get("name"))
        merged[key] = {**old, **value} if same else value  # type: ignore[dict-item]
    return merged
