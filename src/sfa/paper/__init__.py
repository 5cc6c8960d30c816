"""Everything about reproducing the paper: published values, studies, results, tables, figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfa.paper.results_files import Entry
    from sfa.tasks import Task

METHODS: dict[Task, str] = {"node": "grace", "graph": "graphcl", "image": "simclr"}  # of a line that names none
OLD_DEFAULT = Path("runs/ledger.sqlite")  # the default file of results before they were JSON


def default_path() -> Path:
    """Return the file that SFA_LEDGER names, else ``runs/results.json``; the old SQLite file if there is only that."""
    if named := os.environ.get("SFA_LEDGER"):
        return Path(named)
    default = OLD_DEFAULT.with_name("results.json")
    return OLD_DEFAULT if OLD_DEFAULT.exists() and not default.exists() else default


def own_entries(path: Path, *, asked: bool) -> list[Entry]:
    """Return the user's runs; none if there is no ledger, which is an error if it was asked for."""
    from sfa.paper.results import Ledger

    return Ledger(path).select() if asked or path.exists() else []
