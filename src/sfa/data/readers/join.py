"""Features and labels from files of their own, joined to a graph by node id."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfa.data.readers.features import ID_NAMES, LABEL, FeatureTable, parse_labels
from sfa.data.readers.image_file import SUFFIXES
from sfa.data.readers.tables import Grid, Parts, read_grid
from sfa.errors import InputError
from sfa.levels import Level

HOLDERS: dict[Level, str] = {"node": "the graph", "graph": "the set", "image": "the set"}
LABEL_NAMES = (LABEL, "labels", "y", "class", "subject")


def join_features(parts: Parts, table: FeatureTable) -> None:
    """Puts the table's rows into the order of the graph's nodes.

    Where the graph file names no nodes: a table whose ids are 0..n-1 in some order is sorted by them, and any other is
    taken row by row, its ids becoming the nodes'. A `.npy` table has no ids, so what is mapped is never put in order.
    """
    if parts.x is not None:
        raise InputError("Features are given twice: the graph file has its own, so leave out features= (--features).")
    if parts.y is not None and table.y is not None:
        raise InputError(f"Labels are given twice: in the graph file and in the feature file's column {LABEL!r}.")
    parts.x = table.x
    if table.y is not None:
        parts.y = table.y
    if table.ids is None:
        return
    row_of = {str(one): row for row, one in enumerate(table.ids)}
    if len(row_of) != len(table.ids):
        repeated = next(one for row, one in enumerate(table.ids) if row_of[str(one)] != row)
        raise InputError(f"The feature file has the node id {repeated!r} more than once; ids must be unique.")
    if parts.node_ids is None:
        if sorted(row_of) != sorted(str(i) for i in range(len(row_of))):
            parts.node_ids = list(table.ids)
            return
        parts.node_ids = list(range(len(row_of)))
    order = []
    for one in parts.node_ids:
        if str(one) not in row_of:
            raise InputError(
                f"The feature file has no row for the node {one!r} of the graph; every node needs features."
            )
        order.append(row_of[str(one)])
    if len(order) != len(table.ids):
        strange = set(row_of) - {str(one) for one in parts.node_ids}
        raise InputError(f"The feature file has a row for the node {min(strange)!r}, which the graph does not have.")
    parts.x = table.x[order]
    if table.y is not None:
        parts.y = table.y[order]


def labelled_nodes(path: Path) -> list[str]:
    """The nodes that a table (id, label) names, as text."""
    grid = _label_grid(path)
    is_header = grid[0][0].lower() in ID_NAMES or grid[0][1].lower() in LABEL_NAMES
    return [one for one, _ in grid[is_header:]]


def join_labels(parts: Parts, path: Path) -> None:
    """Labels of nodes, or of a set's graphs, from a table (id, label); see `read_labels`."""
    if parts.y is not None:
        raise InputError(
            "Labels are given twice: the graph or feature file has its own, so leave out labels= (--labels)."
        )
    if parts.ptr is not None:
        graphs = range(len(parts.ptr) - 1)
        parts.y = read_labels(path, graphs if parts.graph_ids is None else parts.graph_ids, "graph")
        return
    nodes = range(parts.num_nodes or 0)
    parts.y = read_labels(path, nodes if parts.node_ids is None else parts.node_ids)


def read_labels(path: Path, ids: Sequence[Any], item: Level = "node") -> NDArray[Any]:
    """The label of each node (or other item) from a table (id, label), header optional; None if it does not list it.

    An image may be listed without the suffix of its file, if there is no other of that name.
    """
    grid = _label_grid(path, item)
    position = {str(one): i for i, one in enumerate(ids)}
    if grid[0][0] not in position and (grid[0][0].lower() in ID_NAMES or grid[0][1].lower() in LABEL_NAMES):
        grid = grid[1:]
    stems = _stems(ids) if item == "image" else {}
    labels = np.full(len(ids), None, dtype=object)
    seen: set[int] = set()
    for (one, _), label in zip(grid, parse_labels([label for _, label in grid]), strict=True):
        place = position.get(one, stems.get(one))
        if place is None:
            hint = f"; ids are names of files such as {ids[0]}" if stems else ""
            raise InputError(f"{path} labels the {item} {one!r}, which {HOLDERS[item]} does not have{hint}.")
        if place in seen:
            raise InputError(f"{path} labels the {item} {str(ids[place])!r} more than once.")
        seen.add(place)
        labels[place] = label
    return labels


def _stems(ids: Sequence[Any]) -> dict[str, int | None]:
    """The places of the ids that are names of image files, by what comes before the suffix; None for several."""
    names = [(*os.path.splitext(str(one)), place) for place, one in enumerate(ids)]
    files = [(stem, place) for stem, suffix, place in names if suffix.lower() in SUFFIXES]
    counts = Counter(stem for stem, _ in files)
    return {stem: place if counts[stem] == 1 else None for stem, place in files}


def _label_grid(path: Path, item: Level = "node") -> Grid:
    grid = read_grid(path)
    if len(grid[0]) != 2:
        raise InputError(f"{path} has {len(grid[0])} columns; a label file has two, the {item} id and its label.")
    return grid
