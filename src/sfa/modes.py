"""The mode of a module, training or not, for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Inside, every part of a module is in ``eval()``; afterwards each has the mode that it had before."""
    were_training = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in were_training:
            part.training = training
