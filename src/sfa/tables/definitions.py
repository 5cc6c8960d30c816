"""The paper's tables of measurements by number."""

from __future__ import annotations

from sfa.tables.definition import Definition
from sfa.tables.map_tables import MAP_TABLES
from sfa.tables.method_tables import METHOD_TABLES
from sfa.tables.time_tables import TIME_TABLES

DEFINITIONS: dict[int, Definition] = {
    definition.number: definition
    for definition in sorted((*METHOD_TABLES, *MAP_TABLES, *TIME_TABLES), key=lambda definition: definition.number)
}
