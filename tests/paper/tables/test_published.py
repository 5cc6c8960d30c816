"""The paper's printed values."""

from __future__ import annotations

import re

import pytest

from sfa.data import names
from sfa.errors import InputError
from sfa.methods import available_methods
from sfa.paper.tables.definition import NUMBERS, column_keys, load
from sfa.paper.tables.model import Cell, Table

TABLES = [load(number) for number in NUMBERS]
SUMS = {
    1: (78, 509037.96, 6),
    2: (6, 16421.0, 0),
    3: (3, 27.85, 0),
    4: (20, 28197.1, 2),
    5: (24, 23225.33, 12),
    6: (15, 17363.7, 3),
    7: (18, 13960.54, 3),
    8: (15, 9863.44, 3),
    9: (16, 8405.42, 0),
    10: (30, 36553.19, 3),
    11: (25, 3349766.0, 0),
    12: (35, 196398.5293, 0),
    13: (24, 0, 0),
    14: (42, 77701.47, 6),
    15: (39, 52542.7, 15),
    16: (12, 11575.07, 3),
    17: (10, 4475.9, 1),
}
"""From the paper's source: cells, the sum of all numbers printed, each times its place, and cells in bold."""
OF_METHODS = (1, 4, 5, 6, 14, 15)
YARDSTICKS = {"raw-features", "k-means", "mlp"}


def numbers_of(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in re.findall(r"\d[\d,]*(?:\.\d+)?", text)]


def cell_of(number: int, row: str, column: str) -> Cell:
    (found,) = (one for one in load(number).rows if one.key == row)
    return found.cells[column_keys(number).index(column)]


def texts_of(table: Table) -> list[str]:
    return [cell.published for row in table.rows for cell in row.cells if cell.published is not None]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.number}")
def test_every_number_is_as_printed_and_where_it_is_printed(table: Table) -> None:
    found = [number for text in texts_of(table) for number in numbers_of(text)]
    bold = sum(cell.best for row in table.rows for cell in row.cells)
    weighted = sum(place * number for place, number in enumerate(found, 1))
    cells, expected, in_bold = SUMS[table.number]
    assert (len(texts_of(table)), bold) == (cells, in_bold)
    assert weighted == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize(
    ("number", "row", "column", "text"),
    [
        (1, "grace", "cora", "83.51 ± 0.25"),
        (1, "sfa-infonce", "citeseer", "75.31 ± 0.03"),
        (2, "wikics", "with-sfa", "1343"),
        (3, "ogbn-arxiv", "random-svd", "1.2 hours"),
        (4, "sfa-infonce", "test", "71.6 ± 0.4"),
        (5, "barlow-twins", "cifar100", "69.7"),
        (6, "graphcl", "proteins", "74.3 ± 0.4"),
        (7, "graph-spectral", "cora", "85.90"),
        (8, "k2", "citeseer", "75.3"),
        (9, "citeseer-sfa", "0.001", "70.36"),
        (10, "grassmann-random-svd", "computers", "85.33"),
        (11, "wikics", "attributes", "3,703"),
        (12, "computers", "activation", "ReELU"),
        (13, "sfa-bt", "spectral", "✓"),
        (14, "g-bt", "cora/ari", "55.20 ± 1.6"),
        (15, "sfa-mvgrl", "computers", "66.0"),
        (16, "pca", "pubmed", "81.5 ± 0.3"),
        (17, "cora", "15", "81.1"),
    ],
)
def test_a_cell_is_found_by_its_keys(number: int, row: str, column: str, text: str) -> None:
    assert cell_of(number, row, column).published == text


@pytest.mark.parametrize("number", [1, 4, 6, 7, 8, 10, 14, 16])
def test_the_cell_in_bold_is_the_largest_of_its_column(number: int) -> None:
    table = load(number)
    for place in range(len(table.columns)):
        column = [cell for row in table.rows if (cell := row.cells[place]).published is not None]
        top = max(numbers_of(cell.published or "")[0] for cell in column)
        assert [numbers_of(cell.published or "")[0] for cell in column if cell.best] == [top]


@pytest.mark.parametrize("number", [5, 15])
def test_in_pairs_the_line_in_bold_is_that_with_sfa(number: int) -> None:
    rows = [row for row in load(number).rows if row.key not in ("k-means", "gae", "vgae")]
    for plain, with_sfa in zip(rows[::2], rows[1::2], strict=True):
        assert with_sfa.key.startswith("sfa-")
        for before, after in zip(plain.cells, with_sfa.cells, strict=True):
            assert numbers_of(after.published or "")[0] > numbers_of(before.published or "")[0]
            assert (before.best, after.best) == (False, True)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.number}")
def test_keys_are_of_one_row_and_one_column(table: Table) -> None:
    assert len({row.key for row in table.rows}) == len(table.rows)
    assert len(set(column_keys(table.number))) == len(table.columns) == len(column_keys(table.number))
    assert {len(row.cells) for row in table.rows} == {len(table.columns)}


@pytest.mark.parametrize("number", [1, 5, 6, 7, 8, 10, 14, 15, 16])
def test_columns_of_data_sets_have_the_names_by_which_they_are_loaded(number: int) -> None:
    known = {info.name for info in names()}
    assert {key.split("/")[0] for key in column_keys(number)} <= known


@pytest.mark.parametrize("number", [2, 3, 9, 11, 12, 17])
def test_lines_of_data_sets_have_the_names_by_which_they_are_loaded(number: int) -> None:
    known = {info.name for info in names()}
    assert {row.key.removesuffix("-sfa") for row in load(number).rows} <= known


@pytest.mark.parametrize("number", OF_METHODS)
def test_lines_of_methods_have_the_names_by_which_they_are_trained(number: int) -> None:
    plain = {row.key for row in load(number).rows if not row.key.startswith("sfa-")}
    assert plain - YARDSTICKS <= available_methods().keys()


def test_slips_of_typing_are_corrected_and_told() -> None:
    arxiv = load(4)
    assert "MVGRL" in [row.label for row in arxiv.rows]
    assert any("'MVGLR'" in note for note in arxiv.notes)
    assert load(6).columns[1] == "PROTEINS"
    assert any("'PROTEIN'" in note for note in load(6).notes)
    assert not any("spells" in note for note in load(7).notes), "ticks are no slip"


def test_values_that_are_wrong_have_a_note() -> None:
    statistics = load(11)
    wrong = {(row.key, column) for row in statistics.rows for column in column_keys(11) if _note(row.key, column)}
    counts = ("edges", "nodes", "attributes", "classes")
    assert wrong == {("wikics", "attributes"), *((name, count) for name in ("cora", "citeseer") for count in counts)}


def _note(row: str, column: str) -> str | None:
    return cell_of(11, row, column).note


@pytest.mark.parametrize("table", TABLES, ids=lambda table: f"{table.number}")
def test_notes_are_sentences(table: Table) -> None:
    notes = [*table.notes, *(cell.note for row in table.rows for cell in row.cells if cell.note)]
    assert notes
    for note in notes:
        assert note.endswith(".")
        assert note == " ".join(note.split())


@pytest.mark.parametrize("number", [0, 18, -1])
def test_other_numbers_are_refused(number: int) -> None:
    with pytest.raises(InputError, match=f"no table {number}: they are numbered 1 to 17"):
        load(number)
