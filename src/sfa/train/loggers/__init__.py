"""Where a run's metrics can be watched, beside its own folder."""

from sfa.train.loggers.backends import TensorBoard, WeightsAndBiases
from sfa.train.loggers.base import Logger, Loggers, Row

__all__ = ["Logger", "Loggers", "Row", "TensorBoard", "WeightsAndBiases"]
