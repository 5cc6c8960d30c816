"""Names to loggers."""

from __future__ import annotations

from sfa.errors import unknown_name
from sfa.training.loggers.base import Logger
from sfa.training.loggers.tensorboard import TensorBoard
from sfa.training.loggers.weights_and_biases import WeightsAndBiases

LOGGERS: dict[str, type[Logger]] = {"tensorboard": TensorBoard, "wandb": WeightsAndBiases}


def resolve(name: str) -> type[Logger]:
    """The class of the logger called ``name``."""
    if name not in LOGGERS:
        raise unknown_name("logger", name, LOGGERS)
    return LOGGERS[name]
