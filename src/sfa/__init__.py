"""Spectral feature augmentation, and contrastive pre-training of graphs around it.

>>> import torch, sfa
>>> layer = sfa.SpectralFeatureAugmentation(iterations=1)
>>> h_tilde = layer(torch.randn(100, 16))
"""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from sfa.errors import InputError, SfaError, TrainingError
from sfa.spectral import SpectralFeatureAugmentation

if TYPE_CHECKING:
    from sfa.estimators import NodeEmbedder

__version__ = version("sfa")
__all__ = ["InputError", "NodeEmbedder", "SfaError", "SpectralFeatureAugmentation", "TrainingError", "__version__"]


def __getattr__(name: str) -> Any:
    """The estimator is loaded when asked for: the layer alone needs neither graphs nor scikit-learn."""
    if name == "NodeEmbedder":
        from sfa.estimators import NodeEmbedder

        return NodeEmbedder
    raise AttributeError(f"module 'sfa' has no attribute {name!r}")
