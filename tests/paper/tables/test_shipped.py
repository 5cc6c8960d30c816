"""The runs that came with sfa are found again by what this version makes of their recipes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from sfa.paper.plans import Variant
from sfa.paper.results_files import Entry
from sfa.paper.tables.definition import shipped_tables
from sfa.paper.tables.formats import render
from sfa.paper.tables.make import make_tables, shipped_entries
from sfa.paper.tables.selection import MACHINE
from sfa.run import Recipe
from sfa.run.identity import recipe_hash, run_key


@pytest.mark.slow
def test_tables_made_beforehand_are_those_made_now() -> None:
    """Else ``python -m sfa.paper.tables.make`` makes them anew."""
    for number, table in make_tables().items():
        assert render(shipped_tables()[number], "csv") == render(table, "csv")
        assert render(shipped_tables()[number], "md") == render(table, "md")


def test_showing_them_takes_none_of_the_libraries_that_measured_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose import takes seconds."""
    monkeypatch.delenv("SFA_LEDGER", raising=False)
    heavy = "{'torch', 'torch_geometric', 'scipy', 'sklearn', 'pandas', 'matplotlib', 'sqlite3'}"
    tell = f"atexit.register(lambda: print(sorted({heavy} & set(sys.modules))))"
    script = f"import atexit, sys; from sfa.cli import main; {tell}; main(['table', '1'])"
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert shown.stdout.splitlines()[0] == "Table 1: Node classification"
    assert shown.stdout.splitlines()[-1] == "[]"


@pytest.fixture(scope="module")
def entries() -> tuple[Entry, ...]:
    return shipped_entries()


def test_a_key_is_that_of_its_recipe(entries: tuple[Entry, ...]) -> None:
    assert entries
    for entry in entries:
        assert recipe_hash(entry.recipe) == entry.recipe_hash
        assert run_key(entry.kind, entry.recipe, entry.fingerprint, entry.seed) == entry.key


def test_a_recipe_that_is_completed_anew_has_the_same_key(entries: tuple[Entry, ...]) -> None:
    """Keys that came later are there now, with the values that all runs had before."""
    for entry in entries:
        given = {key: value for key, value in entry.recipe.items() if key not in ("supervised", *MACHINE)}
        variant = Variant("again", Recipe.parse(given), kind=entry.kind)
        identity = variant.decisive | {key: entry.recipe[key] for key in MACHINE if key in entry.recipe}
        assert run_key(variant.kind, identity, entry.fingerprint, entry.seed) == entry.key, entry.labels
