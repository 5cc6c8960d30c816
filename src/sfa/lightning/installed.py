"""PyTorch Lightning by the name that it is used by: ``lightning`` or, as it was called once, ``pytorch_lightning``."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING

from sfa.errors import InputError

NAMES = ("lightning.pytorch", "pytorch_lightning")


def name_in_use() -> str:
    """The one that has been imported already, or else the one that is installed.

    The two have classes of their own: a ``Trainer`` of one takes no module of the other.
    """
    loaded = [name for name in NAMES if sys.modules.get(name) is not None]
    for name in (*loaded, *NAMES):
        try:
            import_module(name)
        except ImportError:
            continue
        return name
    raise InputError("sfa.lightning needs the extra `lightning`: pip install 'sfa[lightning]'.")


if TYPE_CHECKING:
    from lightning.pytorch import Callback, LightningModule, Trainer
    from lightning.pytorch.loggers import Logger, TensorBoardLogger, WandbLogger
    from lightning.pytorch.utilities.types import STEP_OUTPUT
else:
    _package = import_module(name_in_use())
    _loggers = import_module(f"{_package.__name__}.loggers")
    Callback, LightningModule, Trainer = _package.Callback, _package.LightningModule, _package.Trainer
    Logger, TensorBoardLogger, WandbLogger = _loggers.Logger, _loggers.TensorBoardLogger, _loggers.WandbLogger
    STEP_OUTPUT = import_module(f"{_package.__name__}.utilities.types").STEP_OUTPUT

__all__ = ["STEP_OUTPUT", "Callback", "LightningModule", "Logger", "TensorBoardLogger", "Trainer", "WandbLogger"]
