"""What image-level methods share where nothing else is said: settings for any set of images, on any machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

IMAGE_SETTINGS: Mapping[str, Any] = {
    "training.epochs": 100,
    "training.optimizer": "adamw",
    "training.lr": 1e-3,
    "training.weight_decay": 1e-4,
    "training.warmup": 10,
    "training.cosine": True,
    "training.patience": None,
    "feature_norm": "none",
    "sampler.name": "images",
    "sampler.batch_size": 256,
}
"""Moderate and nobody's: a rate that needs no tuning to a batch size, and epochs that a CPU can bear with the small
encoder and small images. The published settings, of 400 to 1000 epochs on GPUs, are in the shipped recipes."""
