"""The most memory that this process has held."""

from __future__ import annotations

import re
import sys
from pathlib import Path

CLEAR, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


class PeakMemory:
    """The peak from here on, where Linux lets a process forget the one before; else that since the process began."""

    def __init__(self) -> None:
        self.by = "ru_maxrss"
        try:
            CLEAR.write_text("5")
            if _high_water_mark() is not None:
                self.by = "VmHWM"
        except OSError:
            pass

    def bytes(self) -> int | None:
        """Bytes held at most; ``None`` where the system does not tell."""
        mark = _high_water_mark() if self.by == "VmHWM" else None
        return _since_the_beginning() if mark is None else mark


def _high_water_mark() -> int | None:
    found = re.search(r"^VmHWM:\s*(\d+) kB$", STATUS.read_text(), re.MULTILINE)
    return None if found is None else 1024 * int(found[1])


def _since_the_beginning() -> int | None:
    if sys.platform == "win32":
        return None
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
