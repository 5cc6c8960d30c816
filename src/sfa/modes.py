"""The mode that a module works in for a while: in ``eval()``, on copies of its buffers, or in full precision."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put every part of a module into ``eval()`` inside; afterwards each has the mode that it had before."""
    were_training = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in were_training:
            part.training = training


@contextmanager
def kept_buffers(module: nn.Module) -> Iterator[None]:
    """Let a module work on copies of its buffers inside, which are forgotten in the end.

    Batch normalization in training mode, above all, normalizes with the batch at hand there, and its running statistics
    stay those of the batches that were trained on.
    """
    kept = [(part, name, buffer) for part in module.modules() for name, buffer in part.named_buffers(recurse=False)]
    try:
        # Putting old values back would not do: an earlier pass may hold these very tensors for its way back.
        for part, name, buffer in kept:
            setattr(part, name, buffer.clone())
        yield
    finally:
        for part, name, buffer in kept:
            setattr(part, name, buffer)


@contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Turn the tensors of an autocast region to float32, and autocast off inside; elsewhere nothing changes.

    Sums over a batch and singular values would lose in half precision what an encoder can spare.
    """
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        yield tensors
        return
    with torch.autocast(kind, enabled=False):
        yield tuple(tensor.float() for tensor in tensors)
