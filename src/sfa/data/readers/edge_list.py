"""Read an edge list (`.csv`, `.tsv`, `.txt`): source, target, perhaps weight; nodes are the features' or its own."""

from __future__ import annotations

from collections.abc import Container, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sfa.data.parts import GraphParts
from sfa.data.readers.tables import Grid, is_integer, is_number, parse_ids, read_grid
from sfa.errors import InputError

SOURCE = ("source", "src", "from", "u", "node1", "sourcenodeid", "citing")
TARGET = ("target", "dst", "to", "v", "node2", "targetnodeid", "cited")
WEIGHT = ("weight", "w", "value")


def read_edge_list(path: Path, features: GraphParts) -> GraphParts:
    """Return the edges as positions of the nodes that the features name.

    A first row of no known nodes is a header if it says source and target (or the like), or if all other rows are
    integers.
    """
    ids: list[Any] = list(range(len(features.x))) if features.ids is None else list(features.ids)
    grid = read_grid(path)
    return _to_parts(grid, _has_header(grid, {str(one) for one in ids}), ids, path)


def read_bare_edge_list(path: Path, others: Iterable[str] = ()) -> GraphParts:
    """Return the edges of a graph without features: its nodes are those that the edges name, and `others` (labeled).

    Nodes whose ids are all integers come in ascending order, others in the order in which they first occur.
    """
    grid = read_grid(path)
    has_header = _has_header_alone(grid, path)
    if len(grid) == has_header:
        raise InputError(f"{path} has a header and no edges.")
    source, target, _ = _columns(grid, has_header, path)
    named = (row[column] for row in grid[has_header:] for column in (source, target))
    ids = parse_ids(dict.fromkeys([*named, *others]))
    return _to_parts(grid, has_header, sorted(ids) if isinstance(ids[0], int) else list(ids), path)


def _to_parts(grid: Grid, has_header: bool, ids: list[Any], path: Path) -> GraphParts:
    position = {str(one): i for i, one in enumerate(ids)}
    source, target, weight = _columns(grid, has_header, path)
    rows = grid[has_header:]
    for row in rows:
        strange = next((row[column] for column in (source, target) if row[column] not in position), None)
        if strange is not None:
            raise InputError(
                f"{path} has an edge {row[source]!r} - {row[target]!r}, but the features have no node {strange!r} "
                f"(they have {len(ids)}, from {ids[0]!r} to {ids[-1]!r}); if that row is the header, call its columns "
                "source and target."
            )
        if weight is not None and not is_number(row[weight]):
            raise InputError(f"{path} has the edge weight {row[weight]!r}, which is no number.")
    ends = [[position[row[column]] for row in rows] for column in (source, target)]
    return GraphParts(
        np.array(ends, dtype=np.int64),
        None if weight is None else [float(row[weight]) for row in rows],
        ids=ids,
        num_nodes=len(ids),
    )


def _has_header(grid: Grid, nodes: Container[str]) -> bool:
    if all(cell in nodes for cell in grid[0][:2]):  # a node may well be called "u" or "source"
        return False
    return _says_source_and_target(grid[0]) or _is_text_over_integers(grid)


def _has_header_alone(grid: Grid, path: Path) -> bool:
    """Tell whether the first row is a header, where nothing else says what the nodes are called."""
    first, others = grid[0], grid[1:]
    if _says_source_and_target(first) or _is_text_over_integers(grid):
        return True
    if len(first) > 2 or all(is_integer(cell) for cell in first[:2]):
        return len(first) == 3 and not is_number(first[2])
    if {cell for row in others for cell in row[:2]}.isdisjoint(first):
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
    """Return where sources, targets and weights stand: as a header says, else in this order."""
    width = len(grid[0])
    names = [cell.lower() for cell in grid[0]] if has_header else []
    source, target, weight = (
        next((i for i, name in enumerate(names) if name in known), None) for known in (SOURCE, TARGET, WEIGHT)
    )
    if source is not None and target is not None:
        if weight is None and width == 3:  # whatever it is called, a third column of numbers is the weight
            third = 3 - source - target
            weight = third if all(is_number(row[third]) for row in grid[1:]) else None
        return source, target, weight
    if width not in (2, 3):
        raise InputError(
            f"{path} has {width} column{'' if width == 1 else 's'}; an edge list has source, target and perhaps "
            "weight, or a header that says which columns these are."
        )
    return 0, 1, 2 if width == 3 else None
