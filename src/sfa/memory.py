"""Refuse what does not fit in the memory of this machine, before it is allocated."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from sfa.errors import InputError, SfaError, TrainingError, is_out_of_memory, shortened

CGROUP = Path("/sys/fs/cgroup")
LIMIT = "SFA_MEMORY"  # environment variable: the bytes that work on a stored graph holds at a time, as 2GB


@cache
def memory_bytes() -> int:
    """Return how many bytes of memory this machine has, or the container that this process runs in."""
    try:
        limit = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):  # no POSIX system
        return 1 << 40
    with suppress(OSError, ValueError):  # no container, or the word max
        limit = min(limit, int((CGROUP / "memory.max").read_text()))
    return limit


def free_bytes(device: object = "cpu") -> int:
    """Return how many bytes of memory are free here or on a GPU; all of the machine's where the system does not say.

    Files that the system holds in memory to be faster count as free.
    """
    if str(device).startswith("cuda"):
        from torch import cuda

        return int(cuda.mem_get_info(str(device))[0])
    free = memory_bytes()
    with suppress(OSError, ValueError, IndexError):  # no Linux
        free = min(free, 1024 * _number_after("MemAvailable:", Path("/proc/meminfo")))
    with suppress(OSError, ValueError, IndexError):  # no container
        cached = _number_after("inactive_file", CGROUP / "memory.stat")
        used = int((CGROUP / "memory.current").read_text()) - cached
        free = min(free, int((CGROUP / "memory.max").read_text()) - used)
    return max(0, free)


def set_memory(limit: str | None) -> None:
    """Let work on stored graphs hold so many bytes at a time, given as ``2GB``; keep what is set if ``None`` is."""
    if limit is not None:
        _parse_size(limit)
        os.environ[LIMIT] = limit


def working_bytes() -> int:
    """Return how many bytes work on a stored graph may hold at a time; by default a quarter of what is free."""
    limit = os.environ.get(LIMIT)
    return _parse_size(limit) if limit else max(1 << 26, free_bytes() // 4)


def _parse_size(text: str) -> int:
    """Return the bytes of a size such as ``2GB`` or ``500MB``."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([MG])i?B?", text.strip(), re.IGNORECASE)
    if found is None or float(found[1]) <= 0:
        raise InputError(f"The memory (--memory, {LIMIT}) is a size such as 2GB or 500MB, not {text!r}.")
    return int(float(found[1]) * {"M": 1 << 20, "G": 1 << 30}[found[2].upper()])


def _number_after(word: str, file: Path) -> int:
    words = file.read_text().split()
    return int(words[words.index(word) + 1])


@contextmanager
def translate_memory_errors(advice: str) -> Iterator[None]:
    """Turn an error of PyTorch about memory into a sentence with advice."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, SfaError) or not is_out_of_memory(error):
            raise
        raise TrainingError(f"Not enough memory: {advice} ({shortened(str(error))}).") from error


def require_memory(num_bytes: float, what: str) -> None:
    """Raise unless so many bytes fit in memory; an error says ``what`` ("The features of g.npz") takes them."""
    if num_bytes > memory_bytes():
        raise InputError(
            f"{what} would take at least {num_bytes / 1e9:.3g} GB of memory, and this machine has "
            f"{memory_bytes() / 1e9:.3g} GB."
        )
