"""A lock that one process holds at a time and that no crash leaves behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, *, wait: bool) -> Iterator[bool]:
    """Inside, whether this process holds the lock ``path``; without ``wait`` it may be another's.

    The kernel lets go of it when its holder ends, however that happens. Where there are no such locks (Windows) it is
    everybody's.
    """
    if sys.platform == "win32":
        yield True
        return
    descriptor = _acquire(path, wait)
    if descriptor is None:
        yield False
        return
    try:
        yield True
    finally:
        path.unlink(missing_ok=True)  # while it is held: who waits for it finds out and makes a new one
        os.close(descriptor)


def _acquire(path: Path, wait: bool) -> int | None:
    import fcntl

    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if _is_still(path, descriptor):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_still(path: Path, descriptor: int) -> bool:
    """Whether the file that was locked is the one at ``path``: its last holder may have removed it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
