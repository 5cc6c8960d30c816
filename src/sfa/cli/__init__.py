"""The command ``sfa``."""

import errno
import io
import os
import sys
from collections.abc import Sequence

from sfa.errors import SfaError, sentence_of


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every foreseen failure is one sentence and a non-zero exit code."""
    # PyTorch reads these on import: huge pages save page faults on large temporaries, and threads that sleep while they
    # wait leave a busy machine's cores to those that have work.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    from sfa.cli.app import app

    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in words
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a sign shows another; it loses no result
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app([word for word in words if word != "--debug"], prog_name="sfa", obj={"debug": debug})
    except Exception as error:
        if debug:
            raise
        rank = os.environ.get("RANK", "0") if os.environ.get("WORLD_SIZE", "1") != "1" else "0"
        process = "" if rank == "0" else f" (process {rank})"
        print(f"sfa{process}: {sentence_of(error)}", file=sys.stderr)
        is_name = isinstance(error, OSError) and error.errno in (errno.ENAMETOOLONG, errno.ELOOP)  # of some option
        raise SystemExit(error.exit_code if isinstance(error, SfaError) else 2 if is_name else 1) from error
