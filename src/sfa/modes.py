"""The mode of a module, in ``eval()`` or on copies of its buffers, and the precision of a block of code."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Put every part of a module into ``eval()`` inside, and restore the mode of each afterwards."""
    were_training = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, training in were_training:
            part.training = training


@contextmanager
def kept_buffers(module: nn.Module) -> Iterator[None]:
    """Let a module work on copies of its buffers inside, so that batch normalization keeps its running statistics."""
    kept = [(part, name, buffer) for part in module.modules() for name, buffer in part.named_buffers(recurse=False)]
    try:
        # Old values are not copied back: an earlier forward pass may hold these very tensors for its backward pass.
        for part, name, buffer in kept:
            setattr(part, name, buffer.clone())
        yield
    finally:
        for part, name, buffer in kept:
            setattr(part, name, buffer)


@contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Cast the tensors of an autocast region to float32, and turn autocast off inside; elsewhere change nothing."""
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        yield tensors
        return
    with torch.autocast(kind, enabled=False):
        yield tuple(tensor.float() for tensor in tensors)


def has_fast_bfloat16(device: torch.device) -> bool:
    """Tell whether a device multiplies matrices in bfloat16 faster than in float32."""
    if device.type == "cpu":
        checks = (getattr(torch.cpu, f"_is_{name}_supported", bool) for name in ("avx512_bf16", "amx_tile"))
        return any(check() for check in checks)
    return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
