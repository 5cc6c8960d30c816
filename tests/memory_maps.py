"""Which file a tensor lies in, as Linux tells it."""

from __future__ import annotations

from pathlib import Path

from torch import Tensor


def file_of(tensor: Tensor) -> str | None:
    """The file that a tensor's memory is a map of; None for ordinary memory."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        addresses, _, _, _, _, *path = line.split(maxsplit=5)
        start, stop = (int(address, 16) for address in addresses.split("-"))
        if start <= tensor.data_ptr() < stop:
            return path[0] if path and path[0].startswith("/") else None
    return None
