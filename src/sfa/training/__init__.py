"""The training loop, its callbacks, and the run folder on disk."""

from sfa.training.batch_plan import BatchPlan
from sfa.training.callbacks.base import Callback, LambdaCallback, TrainingState
from sfa.training.callbacks.checkpoint import CheckpointCallback
from sfa.training.callbacks.metrics import DiagnosticsCallback, LoggerCallback, OnlineProbeCallback
from sfa.training.callbacks.stopping import EarlyStopping, RestoreBest
from sfa.training.checkpoint import load_checkpoint, load_tensors, save_tensors
from sfa.training.devices import make_fabric
from sfa.training.interrupt import Interrupted
from sfa.training.lars import LARS
from sfa.training.loop import train
from sfa.training.progress import Progress
from sfa.training.run_folder import RunFolder, versions

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
