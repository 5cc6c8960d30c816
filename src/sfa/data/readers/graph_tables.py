"""Read the tables of a graph: an edge list (source, target, perhaps weight), and the features of the nodes."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch_geometric.data import Data

from sfa.data.downloads import explain_damage
from sfa.data.readers.tables import ID_NAMES, TextTable, is_number, parse_ids, parse_labels
from sfa.errors import InputError

SOURCE = {"source", "src", "from", "u", "node1", "sourcenodeid", "citing"}
TARGET = {"target", "dst", "to", "v", "node2", "targetnodeid", "cited"}
INTEGER = r"-?\d+"
WEIGHT = {"weight", "w", "value"}
SUFFIXES = (".csv", ".tsv", ".txt", ".parquet", ".npy")
LABEL = "label"
MISSING = ["", "NA", "N/A", "nan", "NaN", "NULL", "null"]


def read_edge_list(path: Path, ids: Sequence[Any] | None = None, others: Iterable[str] = ()) -> Data:
    """Return the edges as positions of the nodes.

    Args:
        path: The file.
        ids: The nodes, which the features name. If not given, the nodes are those that the edges name, and `others`:
            in ascending order if all are integers, otherwise in the order in which they first occur.
        others: Further nodes, those that are labeled.
    """
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
    """Tell whether the first row is a header: it says source and target, or all other rows are integers."""
    first, ends = frame.iloc[0].tolist(), frame.iloc[1:, :2]
    if nodes is not None and all(cell in nodes for cell in first[:2]):  # a node may well be called "u" or "source"
        return False
    names = {cell.lower() for cell in first}
    if names & SOURCE and names & TARGET:
        return True
    integers = [re.fullmatch(INTEGER, cell) is not None for cell in first[:2]]
    if not any(integers) and len(ends) and all(ends[column].str.fullmatch(INTEGER).all() for column in ends):
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


def read_features(path: Path) -> Data:
    """Read `x`, `ids` and `y`: the first column is the node's id, one may be called `label`, all others are numbers.

    A `.npy` is numbers only, row i for node i. It is mapped, and stays so if it is large (see `sfa.data.arrays`): it
    must not change while in use. Objects in it are refused: nothing is ever unpickled.
    """
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"Features cannot be read from {path}: its suffix must be one of {', '.join(SUFFIXES)}.")
    with explain_damage(path):
        if suffix == ".npy":
            table = Data(x=np.lib.format.open_memmap(path, mode="r"))
        else:
            table = _from_frame(_read_frame(path, suffix), path)
    if table.x.ndim != 2 or len(table.x) == 0:
        raise InputError(f"{path} holds features of shape {list(table.x.shape)}, but [nodes, features] is needed.")
    return table


def join_features(raw: Data, table: Data) -> None:
    """Put the table's rows into the order of the graph's nodes.

    Where the graph file names no nodes: a table whose ids are 0..n-1 in some order is sorted by them, and any other is
    taken row by row, its ids becoming the nodes'. A `.npy` table has no ids, so what is mapped is never put in order.
    """
    if raw.x is not None:
        raise InputError("Features are given twice: the graph file has its own, so leave out features= (--features).")
    if raw.y is not None and table.y is not None:
        raise InputError(f"Labels are given twice: in the graph file and in the feature file's column {LABEL!r}.")
    raw.x, raw.y = table.x, raw.y if table.y is None else table.y
    if table.get("node_ids") is None:
        return
    row_of = {str(one): row for row, one in enumerate(table.node_ids)}
    if raw.get("node_ids") is None:
        is_counted = row_of.keys() == {str(i) for i in range(len(row_of))}
        raw.node_ids = list(range(len(row_of))) if is_counted else list(table.node_ids)
    nodes = [str(one) for one in raw.node_ids]
    if row_of.keys() != set(nodes):
        missing, strange = sorted(set(nodes) - row_of.keys()), sorted(row_of.keys() - set(nodes))
        what = f"no row for the node {missing[0]!r} of" if missing else f"a row for the node {strange[0]!r}, not in"
        raise InputError(f"The feature file has {what} the graph; each node needs one row.")
    order = [row_of[one] for one in nodes]
    raw.x = table.x[order]
    if table.y is not None:
        raw.y = table.y[order]


def _read_frame(path: Path, suffix: str) -> Any:
    """Return the table with its ids and labels as text, so that "007" and "NA" stay what they are."""
    if suffix == ".parquet":
        frame = pd.read_parquet(path)
        is_plain = isinstance(frame.index, pd.RangeIndex) and frame.index.name is None
        return frame if is_plain else frame.reset_index()  # an index that was set is the node id
    table = TextTable(path)
    names = table.first_row
    counted = [str(i) for i in range(len(names) - 1)]  # how pandas heads columns that have no names
    has_header = (
        names[0].lower() in ID_NAMES
        or (not is_number(names[0]) and names[1:] == counted)
        or not all(is_number(cell or "nan") for cell in names[1:])
    )
    texts: set[Any] = {0, _label_column(names) if has_header else None} - {None}
    frame = table.read(
        header=0 if has_header else None,
        dtype=dict.fromkeys(texts, str),
        na_values={column: MISSING for column in range(len(names)) if column not in texts},
    )
    frame[0] = frame[0].str.strip()
    frame.columns = pd.Index(names if has_header else frame.columns.map(str))
    return frame


def _from_frame(frame: Any, path: Path) -> Data:
    names = [str(name) for name in frame.columns]
    if frame.empty:
        raise InputError(f"{path} has no rows; it needs one a node, first the node id, then numbers.")
    label = _label_column(names)
    columns = [i for i in range(1, len(names)) if i != label]
    for i in columns:
        if not pd.api.types.is_numeric_dtype(frame.dtypes.iloc[i]):
            example = next((one for one in frame.iloc[:, i] if isinstance(one, str) and not is_number(one)), "text")
            raise InputError(
                f"{path} has {example!r} in its column {names[i]!r}, but every column after the first (the "
                f"node id) must be numbers, but for one called {LABEL!r}."
            )
    ids = frame.iloc[:, 0]
    if ids.isna().any() or pd.api.types.is_float_dtype(ids.dtype):
        raise InputError(f"{path} has node ids in its first column {names[0]!r} that are missing or not whole numbers.")
    repeated = ids[ids.astype(str).duplicated()].tolist()
    if repeated:
        raise InputError(f"{path} has the node id {str(repeated[0])!r} more than once; ids must be unique.")
    x = frame.iloc[:, columns].to_numpy(dtype=np.float64, na_value=np.nan)
    table = Data(x=x, node_ids=parse_ids(ids))
    if label is not None:
        labels = frame.iloc[:, label]
        is_numeric = pd.api.types.is_numeric_dtype(labels.dtype)
        texts = [] if is_numeric else ["" if pd.isna(one) else str(one).strip() for one in labels]
        table.y = labels.to_numpy(dtype=object) if is_numeric else np.array(parse_labels(texts), dtype=object)
    return table


def _label_column(names: list[str]) -> int | None:
    return next((i for i, name in enumerate(names) if i > 0 and name.strip().lower() == LABEL), None)
