"""The layer, and every method around it, with PyTorch Lightning.

The layer is an ``nn.Module`` and needs nothing of this in a ``LightningModule`` of one's own;
:class:`SpectralDiagnostics` shows what it does there. :class:`LightningMethod` trains a method of :mod:`sfa.methods`
with a ``Trainer``.
"""

from sfa.lightning.diagnostics import SpectralDiagnostics
from sfa.lightning.method import LightningMethod

__all__ = ["LightningMethod", "SpectralDiagnostics"]
