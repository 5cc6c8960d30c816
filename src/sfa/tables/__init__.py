"""The paper's tables: what it prints and what we measured, side by side."""

from sfa.tables.ask import Ask
from sfa.tables.model import Cell, Measured, Row, Table
from sfa.tables.paper_tables import make_table, titles

__all__ = ["Ask", "Cell", "Measured", "Row", "Table", "make_table", "titles"]
