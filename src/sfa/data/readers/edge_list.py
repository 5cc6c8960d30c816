"""Read an edge list (`.csv`, `.tsv`, `.txt`): source, target, perhaps weight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from torch_geometric.data import Data

from sfa.data.readers.tables import TextTable, is_integer, is_number, parse_ids
from sfa.errors import InputError

SOURCE = {"source", "src", "from", "u", "node1", "sourcenodeid", "citing"}
TARGET = {"target", "dst", "to", "v", "node2", "targetnodeid", "cited"}
WEIGHT = {"weight", "w", "value"}


def read_edge_list(path: Path, ids: Sequence[Any] | None = None, others: Iterable[str] = ()) -> Data:
    """Return the edges as positions of the nodes.

    Args:
        path: The file.
        ids: The nodes, which the features name. If not given, the nodes are those that the edges name, and `others`:
            in ascending order if all are integers, otherwise in the order in which they first occur.
        others: Further nodes, those that are labeled.
    """
    import pandas as pd

    frame = TextTable(path).read_text()
    nodes = None if ids is None else pd.Index([str(one) for one in ids])
    has_header = _has_header(frame, nodes, path)
    source, target, weight = _find_columns(frame, has_header, path)
    rows = frame.iloc[int(has_header) :]
    if rows.empty and ids is None:
        raise InputError(f"{path} has a header and no edges.")
    if ids is None or nodes is None:
        named = pd.concat([rows[source], rows[target]]).sort_index(kind="stable").unique()
        ids = parse_ids(dict.fromkeys([*named, *others]))
        ids = sorted(ids) if isinstance(ids[0], int) else ids
        nodes = pd.Index([str(one) for one in ids])
    edges = np.stack([nodes.get_indexer(rows[end]) for end in (source, target)]).astype(np.int64)
    if (edges < 0).any():
        first = (edges < 0).any(axis=0).argmax()
        pair = rows[[source, target]].iloc[first].tolist()
        strange = pair[(edges[:, first] < 0).argmax()]
        raise InputError(
            f"{path} has an edge {pair[0]!r} - {pair[1]!r}, but the features have no node {strange!r} (they have "
            f"{len(ids)}, from {ids[0]!r} to {ids[-1]!r}); if it is the header, call its columns source and target."
        )
    texts = [] if weight is None else rows[weight].tolist()
    wrong = next((text for text in texts if not is_number(text)), None)
    if wrong is not None:
        raise InputError(f"{path} has the edge weight {wrong!r}, which is no number.")
    edge_weight = None if weight is None else np.array(texts, dtype=float)
    return Data(edge_index=edges, edge_weight=edge_weight, node_ids=list(ids), num_nodes=len(ids))


def _has_header(frame: Any, nodes: Any, path: Path) -> bool:
    """Tell whether the first row is a header.

    It is one if it says source and target (or the like), or if all other rows are integers. A node may well be called
    "u" or "source", so a first row of two known nodes is none. Where nothing says what the nodes are called, a
    third column with a name tells it, or the first row has a node of another row in it.
    """
    first, ends = frame.iloc[0].tolist(), frame.iloc[1:, :2]
    if nodes is not None and all(cell in nodes for cell in first[:2]):
        return False
    names = {cell.lower() for cell in first}
    if names & SOURCE and names & TARGET:
        return True
    integers = [is_integer(cell) for cell in first[:2]]
    if not any(integers) and len(ends) and all(ends[column].str.fullmatch(r"-?\d+").all() for column in ends):
        return True
    if nodes is not None:
        return False
    if len(first) > 2 or all(integers):
        return len(first) == 3 and not is_number(first[2])
    if not ends.isin(first).any(axis=None):
        raise InputError(
            f"{path} begins with {first[0]!r} and {first[-1]!r}, which may be a header or an edge between two nodes: "
            "add a first row source,target."
        )
    return False


def _find_columns(frame: Any, has_header: bool, path: Path) -> tuple[int, int, int | None]:
    """Return the columns of sources, targets and weights: as a header says, else in this order."""
    width = frame.shape[1]
    names = [cell.lower() for cell in frame.iloc[0]] if has_header else []
    source, target, weight = (
        next((i for i, name in enumerate(names) if name in known), None) for known in (SOURCE, TARGET, WEIGHT)
    )
    if source is not None and target is not None:
        if weight is None and width == 3:  # whatever it is called, a third column of numbers is the weight
            third = 3 - source - target
            weight = third if all(map(is_number, frame[third].iloc[1:])) else None
        return source, target, weight
    if width not in (2, 3):
        raise InputError(
            f"{path} has {width} column{'' if width == 1 else 's'}; an edge list has source, target and perhaps "
            "weight, or a header that says which columns these are."
        )
    return 0, 1, 2 if width == 3 else None
