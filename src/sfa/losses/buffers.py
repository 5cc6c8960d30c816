"""Memory that is used again: a fresh large buffer costs a page fault for every few kilobytes that are first written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import torch
from torch import Tensor

_SPARE: list[Tensor] = []
"""Buffers on the CPU that nobody uses; an accelerator's own allocator keeps such memory itself."""
SPARES = 4
LARGEST_SPARE = 1 << 27
"""Bytes beyond which a buffer is not worth holding."""
_LOCK = Lock()


def borrow(size: int, like: Tensor) -> Tensor:
    """``(size,)`` numbers of any value, with the dtype and device of ``like``."""
    if like.device.type == "cpu":
        with _LOCK:
            for i, spare in enumerate(_SPARE):  # the smallest that is large enough
                if spare.dtype == like.dtype and spare.numel() >= size:
                    return _SPARE.pop(i)
    with torch.inference_mode(False):  # a buffer outlives the mode that it is made in
        return torch.empty(size, dtype=like.dtype, device=like.device)


def give_back(buffer: Tensor) -> None:
    """Let a borrowed buffer be used again; of more than a few the largest stay."""
    if buffer.device.type == "cpu" and buffer.nbytes <= LARGEST_SPARE:
        with _LOCK:
            _SPARE.append(buffer)
            _SPARE.sort(key=Tensor.numel)
            del _SPARE[:-SPARES]


@contextmanager
def borrowed(size: int, like: Tensor) -> Iterator[Tensor]:
    """A buffer for the time being."""
    buffer = borrow(size, like)
    try:
        yield buffer
    finally:
        give_back(buffer)
