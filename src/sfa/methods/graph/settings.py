"""What the authors of graph-level methods share on the sets of TU Dortmund: the settings of GraphCL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TU_SETTINGS: Mapping[str, Any] = {
    "training.epochs": 20,
    "training.lr": 0.01,
    "training.weight_decay": 0.0,
    "training.patience": None,
    "feature_norm": "none",
    "sampler.name": "graphs",
    "sampler.batch_size": 128,
}
