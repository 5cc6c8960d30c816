"""Where a run's metrics can be watched, beside its own folder: a service or a program a file."""

from sfa.train.loggers.base import Logger, Row
from sfa.train.loggers.tensorboard import TensorBoard
from sfa.train.loggers.together import Loggers
from sfa.train.loggers.weights_and_biases import WeightsAndBiases

__all__ = ["Logger", "Loggers", "Row", "TensorBoard", "WeightsAndBiases"]
