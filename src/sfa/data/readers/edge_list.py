"""An edge list (`.csv`, `.tsv`, `.txt`): source, target, perhaps weight; its nodes are the features' or its own."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sfa.data.readers.features import FeatureTable
from sfa.data.readers.tables import Grid, Parts, is_integer, is_number, parse_ids, read_grid
from sfa.errors import InputError

SOURCE = ("source", "src", "from", "u", "node1", "sourcenodeid", "citing")
TARGET = ("target", "dst", "to", "v", "node2", "targetnodeid", "cited")
WEIGHT = ("weight", "w", "value")


def read_edge_list(path: Path, features: FeatureTable) -> Parts:
    """The edges as positions of the nodes that the features name.

    A first row of no known nodes is a header if it says source and target (or the like), or if all other rows are
    integers.
    """
    ids: list[int] | list[str] = features.ids if features.ids is not None else list(range(len(features.x)))
    position = {str(one): i for i, one in enumerate(ids)}
    grid = read_grid(path)
    return _parts(grid, _has_header(grid, position), ids, path)


def read_bare_edge_list(path: Path, others: Iterable[str] = ()) -> Parts:
    """The edges of a graph without features: its nodes are those that the edges name, and `others` (labelled ones).

    Nodes whose ids are all integers come in ascending order, others in the order in which they first occur.
    """
    grid = read_grid(path)
    has_header = _has_header_alone(grid, path)
    if len(grid) == has_header:
        raise InputError(f"{path} has a header and no edges.")
    source, target, _ = _columns(grid, has_header, path)
    named = (row[column] for row in grid[has_header:] for column in (source, target))
    ids = parse_ids(dict.fromkeys([*named, *others]))
    return _parts(grid, has_header, sorted(ids) if isinstance(ids[0], int) else ids, path)


def _parts(grid: Grid, has_header: bool, ids: list[Any], path: Path) -> Parts:
    position = {str(one): i for i, one in enumerate(ids)}
    source, target, weight = _columns(grid, has_header, path)
    rows = grid[has_header:]
    ends = np.empty((2, len(rows)), dtype=np.int64)
    for i, row in enumerate(rows):
        for end, column in enumerate((source, target)):
            if row[column] not in position:
                raise InputError(
                    f"{path} has an edge {row[source]!r} - {row[target]!r}, but the features have no node "
                    f"{row[column]!r} (they have {len(ids)}, from {ids[0]!r} to {ids[-1]!r}); if that row is the "
                    "header, call its columns source and target."
                )
            ends[end, i] = position[row[column]]
    return Parts(ends, edge_weight=_weights(rows, weight, path), node_ids=list(ids), num_nodes=len(ids))


def _has_header(grid: Grid, nodes: Container[str]) -> bool:
    if all(cell in nodes for cell in grid[0][:2]):  # a node may well be called "u" or "source"
        return False
    return _says_source_and_target(grid[0]) or _is_text_over_integers(grid)


def _has_header_alone(grid: Grid, path: Path) -> bool:
    """Whether the first row is a header, where nothing else says what the nodes are called."""
    first, others = grid[0], grid[1:]
    if _says_source_and_target(first) or _is_text_over_integers(grid):
        return True
    if len(first) > 2 or all(is_integer(cell) for cell in first[:2]):
        return len(first) == 3 and not is_number(first[2])
    elsewhere = {cell for row in others for cell in row[:2]}
    if elsewhere.isdisjoint(first):
        raise InputError(
            f"{path} begins with {first[0]!r} and {first[-1]!r}, which may be a header or an edge between two nodes: "
            "add a first row source,target."
        )
    return False


def _says_source_and_target(row: list[str]) -> bool:
    names = {cell.lower() for cell in row}
    return bool(names & set(SOURCE) and names & set(TARGET))


def _is_text_over_integers(grid: Grid) -> bool:
    others_are_integers = len(grid) > 1 and all(is_integer(cell) for row in grid[1:] for cell in row[:2])
    return others_are_integers and not any(is_integer(cell) for cell in grid[0][:2])


def _columns(grid: Grid, has_header: bool, path: Path) -> tuple[int, int, int | None]:
    """Where sources, targets and weights stand: as a header says, else in this order."""
    first = grid[0]
    names = [cell.lower() for cell in first] if has_header else []
    source = next((i for i, name in enumerate(names) if name in SOURCE), None)
    target = next((i for i, name in enumerate(names) if name in TARGET), None)
    if source is not None and target is not None:
        weight = next((i for i, name in enumerate(names) if name in WEIGHT), None)
        if weight is None and len(names) == 3:  # whatever it is called, a third column of numbers is the weight
            third = 3 - source - target
            weight = third if all(is_number(row[third]) for row in grid[1:]) else None
        return source, target, weight
    if len(first) not in (2, 3):
        raise InputError(
            f"{path} has {len(first)} column{'' if len(first) == 1 else 's'}; an edge list has source, target and "
            "perhaps weight, or a header that says which columns these are."
        )
    return 0, 1, 2 if len(first) == 3 else None


def _weights(rows: Grid, column: int | None, path: Path) -> list[float] | None:
    if column is None:
        return None
    strange = next((row[column] for row in rows if not is_number(row[column])), None)
    if strange is not None:
        raise InputError(f"{path} has the edge weight {strange!r}, which is no number.")
    return [float(row[column]) for row in rows]
