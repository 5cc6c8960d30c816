"""The loop, its checkpoints and its folder on disk."""

from sfa.training.checkpoint import load_checkpoint, load_tensors, save_tensors
from sfa.training.devices import make_fabric
from sfa.training.interrupt import Interrupted
from sfa.training.lars import LARS
from sfa.training.loop import train
from sfa.training.progress import Progress
from sfa.training.run_folder import RunFolder, versions
from sfa.training.steps import Steps

__all__ = [
    "LARS",
    "Interrupted",
    "Progress",
    "RunFolder",
    "Steps",
    "load_checkpoint",
    "load_tensors",
    "make_fabric",
    "save_tensors",
    "train",
    "versions",
]
