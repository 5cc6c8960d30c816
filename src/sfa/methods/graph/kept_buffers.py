"""Passes through a network that leave no trace in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn


@contextmanager
def kept_buffers(module: nn.Module) -> Iterator[None]:
    """Inside, the module works on copies of its buffers, which are forgotten in the end.

    Batch normalisation in training mode, above all, normalises with the batch at hand there, and its running statistics
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
