"""The training loop, its callbacks, and the run folder on disk."""

from typing import TYPE_CHECKING

from sfa.lazy import lazy_names

if TYPE_CHECKING:  # isort: off
    from sfa.train.batch_plan import BatchPlan as BatchPlan
    from sfa.train.callbacks import Callback as Callback, DiagnosticsCallback as DiagnosticsCallback
    from sfa.train.callbacks import EarlyStopping as EarlyStopping, LambdaCallback as LambdaCallback
    from sfa.train.callbacks import LoggerCallback as LoggerCallback, OnlineProbeCallback as OnlineProbeCallback
    from sfa.train.callbacks import Progress as Progress, RestoreBest as RestoreBest, TrainingState as TrainingState
    from sfa.train.checkpoint import CheckpointCallback as CheckpointCallback, Interrupted as Interrupted
    from sfa.train.checkpoint import load_checkpoint as load_checkpoint, load_tensors as load_tensors
    from sfa.train.checkpoint import save_tensors as save_tensors
    from sfa.train.loop import make_fabric as make_fabric, train as train
    from sfa.train.optim import LARS as LARS
    from sfa.train.run_folder import RunFolder as RunFolder, versions as versions

_MODULES = {
    "batch_plan": "BatchPlan",
    "callbacks": "Callback DiagnosticsCallback EarlyStopping LambdaCallback LoggerCallback OnlineProbeCallback Progress"
    " RestoreBest TrainingState",
    "checkpoint": "CheckpointCallback Interrupted load_checkpoint load_tensors save_tensors",
    "loop": "make_fabric train",
    "optim": "LARS",
    "run_folder": "RunFolder versions",
}
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
