"""The training loop, its callbacks, and the run folder on disk."""

from sfa.train.batch_plan import BatchPlan
from sfa.train.callbacks import (
    Callback,
    DiagnosticsCallback,
    EarlyStopping,
    LambdaCallback,
    LoggerCallback,
    OnlineProbeCallback,
    Progress,
    RestoreBest,
    TrainingState,
)
from sfa.train.checkpoint import CheckpointCallback, Interrupted, load_checkpoint, load_tensors, save_tensors
from sfa.train.fabric import make_fabric
from sfa.train.loop import train
from sfa.train.optim import LARS
from sfa.train.run_folder import RunFolder, versions

__all__ = [
    "LARS",
    "BatchPlan",
    "Callback",
    "CheckpointCallback",
    "DiagnosticsCallback",
    "EarlyStopping",
    "Interrupted",
    "LambdaCallback",
    "LoggerCallback",
    "OnlineProbeCallback",
    "Progress",
    "RestoreBest",
    "RunFolder",
    "TrainingState",
    "load_checkpoint",
    "load_tensors",
    "make_fabric",
    "save_tensors",
    "train",
    "versions",
]
