"""Refuse what does not fit in the memory of this machine, before it is allocated."""

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from sfa.errors import InputError


@cache
def memory_bytes() -> int:
    """Return how many bytes of memory this machine has, or the container that this process runs in."""
    try:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # no POSIX system
        return 1 << 40
    with suppress(OSError, ValueError):  # no container, or the word max
        limit = min(limit, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return limit


def require_memory(num_bytes: float, what: str) -> None:
    """Raise unless so many bytes fit in memory; an error says ``what`` ("The features of g.npz") takes them."""
    if num_bytes > memory_bytes():
        raise InputError(
            f"{what} would take at least {num_bytes / 1e9:.3g} GB of memory, and this machine has "
            f"{memory_bytes() / 1e9:.3g} GB."
        )
