"""Spectral feature augmentation, and contrastive pre-training of graphs and images around it.

>>> import torch, sfa
>>> layer = sfa.SpectralFeatureAugmentation.gentle()
>>> h_tilde = layer(torch.randn(100, 16))
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sfa import deprecated
from sfa.errors import InputError, SfaError, TrainingError

if TYPE_CHECKING:
    from sfa.estimators import GraphEmbedder, ImageEmbedder, NodeEmbedder
    from sfa.registry import register
    from sfa.run import compare_runs, embed_run, evaluate_run, open_run, report_run, train_run
    from sfa.spectral import SpectralFeatureAugmentation

deprecated.install()
__version__ = version("sfa")
__all__ = [
    "GraphEmbedder",
    "ImageEmbedder",
    "InputError",
    "NodeEmbedder",
    "SfaError",
    "SpectralFeatureAugmentation",
    "TrainingError",
    "__version__",
    "compare_runs",
    "embed_run",
    "evaluate_run",
    "open_run",
    "register",
    "report_run",
    "train_run",
]

_HOMES = {
    "GraphEmbedder": "sfa.estimators",
    "ImageEmbedder": "sfa.estimators",
    "NodeEmbedder": "sfa.estimators",
    "SpectralFeatureAugmentation": "sfa.spectral",
    "register": "sfa.registry",
    **dict.fromkeys(("compare_runs", "embed_run", "evaluate_run", "open_run", "report_run", "train_run"), "sfa.run"),
}
_PARTS = (
    *("augment", "data", "evaluate", "export", "graph", "losses", "methods", "nn", "paper", "postprocess", "registry"),
    *("report", "run", "sampling", "spectral", "sweep", "tasks", "testing", "theory", "train"),
)


def __getattr__(name: str) -> Any:
    """Parts are loaded when asked for: the layer needs no graph library, and `sfa --help` not even PyTorch."""
    if name in _PARTS or f"sfa.{name}" in deprecated.MODULES:
        return import_module(f"sfa.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module 'sfa' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_PARTS})
