"""Everything about reproducing the paper: published values, studies, results, tables, figures."""

import os
from pathlib import Path

OLD_DEFAULT = Path("runs/ledger.sqlite")
"""Where results were kept before, as a SQLite file."""


def default_path() -> Path:
    """Return the file that SFA_LEDGER names, else ``runs/results.json``; the old SQLite file if there is only that."""
    if named := os.environ.get("SFA_LEDGER"):
        return Path(named)
    default = OLD_DEFAULT.with_name("results.json")
    return OLD_DEFAULT if OLD_DEFAULT.exists() and not default.exists() else default
