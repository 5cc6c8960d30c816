"""The command ``sfa``."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every foreseen failure is one sentence and a non-zero exit code."""
    # Huge pages save page faults on large temporaries (a sixth of a GRACE step on Cora); PyTorch reads this on import.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    from sfa.cli.app import app
    from sfa.errors import SfaError

    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a sign shows another; it loses no result
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app([word for word in words if word != "--debug"], prog_name="sfa")
    except SfaError as error:
        if debug:
            raise
        _fail(str(error), error.exit_code)
    except (OSError, MemoryError) as error:
        if debug:
            raise
        _fail(f"{type(error).__name__}: {error} (--debug shows where)", 1)
    except KeyboardInterrupt:
        _fail("Interrupted.", 130)
    except Exception as error:
        if debug:
            raise
        reason = " ".join(str(error).split())[:300]
        if "allocate" in reason or "out of memory" in reason.lower():
            _fail(f"Not enough memory: use a smaller graph, --hidden or --method g-bt ({reason}).", 1)
        _fail(f"Unforeseen {type(error).__name__}: {reason} (please report it, with what --debug shows)", 1)


def _fail(sentence: str, exit_code: int) -> None:
    print(f"sfa: {sentence}", file=sys.stderr)
    raise SystemExit(exit_code)
