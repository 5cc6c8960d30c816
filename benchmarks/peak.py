"""Peak memory and time of a piece of work, measured in a process of its own (on Linux, by /proc)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PRELUDE = """
import json, os, sys, time
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
sys.path.insert(0, {here!r})

def status(key):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(key))

def peak():
    return status("VmHWM")  # the most memory held since the start or the last reset, in bytes

def reset():
    "Forget the peak so far; what is held now, in bytes."
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
    return status("VmRSS")

def report(**values):
    print(json.dumps({{**values, "peak": peak()}}))
"""


def measured(code: str, **values: object) -> dict[str, Any]:
    """What a script passes to ``report``, with its ``peak`` memory in bytes; ``values`` are its variables."""
    names = "\n".join(f"{name} = {value!r}" for name, value in values.items())
    script = PRELUDE.format(here=os.fspath(Path(__file__).parent)) + names + code
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"A measurement failed:\n{result.stderr}")
    answer: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return answer
