"""docs/paper_map.md names every numbered item of the paper, and nothing that is not there."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest
from typer.main import get_command

from sfa.cli.app import app

PAGE = (Path(__file__).parents[1] / "docs" / "paper_map.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.split("|")[1:-1]] for line in re.findall(r"^\| [A-Z]\w+ \d.*$", PAGE, re.M)]
ITEMS = {"Algorithm": 2, "Proposition": 4, "Theorem": 1, "Equation": 31, "Table": 17, "Figure": 10}
"""How many numbered items of each kind the paper has; Lemma 2 and Definition 1 beside them."""


def test_every_item_of_the_paper_has_one_row() -> None:
    found = []
    for item, *_ in ROWS:
        kind, first, last = re.fullmatch(r"([A-Z][a-z]+?)s? (\d+)(?:-(\d+))?", item).groups()  # type: ignore[union-attr]
        found += [f"{kind} {number}" for number in range(int(first), int(last or first) + 1)]
    wanted = [f"{kind} {number}" for kind, count in ITEMS.items() for number in range(1, count + 1)]
    assert sorted(found) == sorted([*wanted, "Lemma 2", "Definition 1"])


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_a_row_names_is_there(row: list[str]) -> None:
    _, _, symbols, commands, _ = row
    names = re.findall(r"`(sfa[\w.]*)`", symbols)
    assert names, "a row names what implements it"
    for name in names:
        module, _, attribute = name.rpartition(".")
        if not hasattr(import_module(module), attribute):
            import_module(name)
    known = get_command(app).commands  # type: ignore[attr-defined]
    for command in re.findall(r"`sfa (\w+)", commands):
        assert command in known
