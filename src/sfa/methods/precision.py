"""Mixed precision ends where feature maps begin: spectral maps and losses compute in full."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor


@contextmanager
def full_precision(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """The tensors of an autocast region in float32, and arithmetic inside without autocast; elsewhere nothing changes.

    Sums over a batch and singular values would lose in half precision what an encoder can spare.
    """
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        yield tensors
        return
    with torch.autocast(kind, enabled=False):
        yield tuple(tensor.float() for tensor in tensors)
