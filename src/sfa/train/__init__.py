"""The training loop, its callbacks, and the run folder on disk."""

from sfa.train.batch_plan import BatchPlan
from sfa.train.callbacks.base import Callback, LambdaCallback, TrainingState
from sfa.train.callbacks.checkpoint import CheckpointCallback
from sfa.train.callbacks.metrics import DiagnosticsCallback, LoggerCallback, OnlineProbeCallback
from sfa.train.callbacks.stopping import EarlyStopping, RestoreBest
from sfa.train.checkpoint import load_checkpoint, load_tensors, save_tensors
from sfa.train.devices import make_fabric
from sfa.train.interrupt import Interrupted
from sfa.train.lars import LARS
from sfa.train.loop import train
from sfa.train.progress import Progress
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
