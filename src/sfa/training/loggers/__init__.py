"""Where a run's metrics can be watched, beside its own folder: a service or a program a file."""

from sfa.training.loggers.base import Logger, Row
from sfa.training.loggers.tensorboard import TensorBoard
from sfa.training.loggers.together import Loggers
from sfa.training.loggers.weights_and_biases import WeightsAndBiases

__all__ = ["Logger", "Loggers", "Row", "TensorBoard", "WeightsAndBiases"]
