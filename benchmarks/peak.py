"""Peak memory and time of a piece of work, measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

PRELUDE = """
import json, os, resource, sys, time
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
sys.path.insert(0, {here!r})

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # the highest so far, in bytes

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
