"""Read an edge list: find its header and its columns, check its cells, and say what was read."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from torch_geometric.data import Data

from sfa.data.graph import distinct
from sfa.data.readers.tables import TextTable, is_number, parse_ids
from sfa.errors import InputError
from sfa.tasks import num_items, task_of

# Names of columns, the most telling first, as `_key` writes them: "User ID" is user, "source_node_id" is source.
OLD_SOURCE = ("source", "src", "from", "u", "node1", "sourcenodeid", "citing")
OLD_TARGET = ("target", "dst", "to", "v", "node2", "targetnodeid", "cited")
SOURCE = (*OLD_SOURCE, "head", "sender", "caller", "follower", "user", "customer", "reader", "author")
TARGET = (*OLD_TARGET, "tail", "receiver", "callee", "followee", "item", "movie", "product", "book", "song", "friend")
OLD_WEIGHT = ("weight", "w", "value")
WEIGHT = (*OLD_WEIGHT, "weights", "edgeweight", "rating", "count", "counts", "strength", "score", "similarity")
TIME = {"time", "timestamp", "datetime", "date", "day", "month", "year", "createdat", "updatedat"}
# Nodes of one kind may well be listed under two of these names; other pairs of names tell of two kinds.
SAME_KIND = {*OLD_SOURCE, *OLD_TARGET, "cites", "head", "tail", "sender", "receiver", "caller", "callee", "follower"}
SAME_KIND |= {"followee", "friend", "parent", "child", "row", "col", "column"}
NONE, OLD_RULES = "none", "as before version 0.2.0"  # weights to ask for that are no column


@dataclass(frozen=True)
class EdgeColumns:
    """What the columns of an edge list are, where that is said and not to be found by their names.

    `source`, `target` and `weight` are names in the header. The weight `none` makes all weights 1. With `bipartite`,
    the two ends are things of two kinds, which are called by the headers of their columns: `user:5` and `item:5`.
    """

    source: str | None = None
    target: str | None = None
    weight: str | None = None
    bipartite: bool = False

    @property
    def given(self) -> dict[str, Any]:
        """What is said, by its names; nothing by default."""
        return {key: value for key, value in vars(self).items() if value and value != OLD_RULES}


BY_NAME = EdgeColumns()


def read_edge_list(
    path: Path, ids: Sequence[Any] | None = None, others: Iterable[str] = (), asked: EdgeColumns = BY_NAME
) -> Data:
    """Return the edges as positions of the nodes `ids`, or else of those that the edges and `others` name.

    Those are in ascending order if all are integers, otherwise in the order in which they first occur. The attribute
    `edges_read` says which columns were read as what.
    """
    table = TextTable(path)
    frame = table.read_text()
    nodes = None if ids is None else pd.Index([str(one) for one in ids])
    names, rows = split_header(frame, nodes, asked, path)
    if rows.empty and ids is None:
        raise InputError(f"{path} has a header and no edges.")
    return read_edges(rows.set_axis(rows.index + table.skip + 1), names, ids, others, asked, path)


def split_header(frame: Any, nodes: Any, asked: EdgeColumns, path: Path) -> tuple[list[str], Any]:
    """Return the header of a table of texts, empty if there is none, and the other rows; `nodes` holds known ids."""
    has_header = bool({asked.source, asked.target, asked.weight} - {None, NONE, OLD_RULES})
    has_header = has_header or _has_header(frame, nodes, path)
    return frame.iloc[0].tolist() if has_header else [], frame.iloc[int(has_header) :]


def read_edge_frame(frame: Any, ids: Sequence[Any] | None = None, asked: EdgeColumns = BY_NAME) -> Data:
    """Return the edges of a data frame as `read_edge_list` does those of a file; its index counts if it has a name."""
    frame = (frame.reset_index() if any(frame.index.names) else frame.reset_index(drop=True)).rename(columns=str)
    names = [] if list(frame.columns) == [str(i) for i in range(frame.shape[1])] else list(frame.columns)
    texts = frame.astype(str).where(frame.notna(), "").set_axis(range(frame.shape[1]), axis=1)
    if texts.empty and ids is None:
        raise InputError("The table of edges has no rows.")
    raw = read_edges(texts.apply(lambda column: column.str.strip()), names, ids, (), asked, "The table of edges")
    if ids is None and not asked.bipartite and not all(map(pd.api.types.is_integer_dtype, frame.dtypes.iloc[raw.ends])):
        raw.node_ids = [str(one) for one in raw.node_ids]  # text stays text, which is how it is looked up
    return raw


def read_edges(
    rows: Any, names: list[str], ids: Sequence[Any] | None, others: Iterable[str], asked: EdgeColumns, path: Path | str
) -> Data:
    """Return the edges of a table of texts; errors name it by its `path` or what it is, and its rows by their index."""
    nodes = None if ids is None else pd.Index([str(one) for one in ids])
    is_old = asked.weight == OLD_RULES
    source, target, weight = _find_old(names, rows, path) if is_old else find_columns(names, rows, asked, path)
    ends = rows[[source, target]].set_axis(["source", "target"], axis=1)
    empty = (ends == "").any(axis=1)
    if empty.any() and not is_old:
        unit = "line" if isinstance(path, Path) else "row"
        lines = [f"{unit} {row} ({one!r} - {other!r})" for row, one, other in ends[empty].itertuples()]
        more = f" and {len(lines) - 3} more" if len(lines) > 3 else ""
        raise InputError(
            f"{path} has edges without a source or a target: {', '.join(lines[:3])}{more}; fill or remove these rows."
        )
    if asked.bipartite:
        kinds = (names[source], names[target]) if names else ends.columns
        ends = ends.assign(**{end: f"{kind}:" + ends[end] for end, kind in zip(ends, kinds, strict=True)})
    if nodes is None or ids is None:
        named = pd.concat([ends[end] for end in ends]).sort_index(kind="stable").unique()
        ids = parse_ids(dict.fromkeys([*named, *others]))
        ids = sorted(ids) if isinstance(ids[0], int) else ids
        nodes = pd.Index([str(one) for one in ids])
    edges = np.stack([nodes.get_indexer(ends[end]) for end in ends]).astype(np.int64)
    if (edges < 0).any():
        first = (edges < 0).any(axis=0).argmax()
        pair = ends.iloc[first].tolist()
        strange = pair[(edges[:, first] < 0).argmax()]
        is_file = isinstance(path, Path)
        hint = "if it is the header, call its columns source and target" if is_file else "a pair is (nodes, edges)"
        raise InputError(
            f"{path} has an edge {pair[0]!r} - {pair[1]!r}, but the features have no node {strange!r} (they have "
            f"{len(ids)}, from {ids[0]!r} to {ids[-1]!r}); {hint}."
        )
    raw = Data(edge_index=edges, node_ids=list(ids), num_nodes=len(ids), ends=[source, target])
    if weight is not None:
        wrong = next((text for text in rows[weight] if not is_number(text)), None)
        if wrong is not None:
            raise InputError(
                f"{path} has the edge weight {wrong!r}, which is no number; --weight (weight=) names another column, "
                "or none."
            )
        raw.edge_weight = np.array(rows[weight].tolist(), dtype=float)
    raw.edges_read = _summary(names, rows.shape[1], (source, target, weight), edges, raw.edge_weight)
    if names and not asked.bipartite and isinstance(ids[0], int):
        raw.edges_note = _note_on_kinds(names[source], names[target], ends)
    return raw


def _key(name: str) -> str:
    """Return a column's name without case, signs, and the words node and id at its end."""
    key = re.sub(r"[\W_]", "", name.lower())
    return re.sub(r"(node)?(id)?$", "", key) or key


def _is_unnamed(name: str) -> bool:
    return name == "" or name.lower().startswith("unnamed:")  # as pandas calls them


def _is_index(name: str, values: Any) -> bool:
    """Tell whether this is an index that pandas wrote: numbers of rows, of which some may have been left out."""
    is_its_name = _is_unnamed(name) or _key(name) in ("index", "edge")
    return is_its_name and bool(values.is_unique and values.str.fullmatch(r"\d+").all())


def _has_header(frame: Any, nodes: Any, path: Path) -> bool:
    """Tell whether the first row is a header: by its names, or because it alone is no number where all others are."""
    first, rest = frame.iloc[0].tolist(), frame.iloc[1:]
    ends = rest.iloc[:, :2]
    if nodes is not None and all(cell in nodes for cell in first[:2]):  # a node may well be called "u" or "source"
        return False
    names = {cell.lower() for cell in first}
    if names & {*OLD_SOURCE} and names & {*OLD_TARGET}:
        return True
    if len(first) > 2 and len(rest) and _is_index(first[0], rest[0]):
        return True
    integers = [re.fullmatch(r"-?\d+", cell) is not None for cell in first[:2]]
    if not any(integers) and len(ends) and all(ends[column].str.fullmatch(r"-?\d+").all() for column in ends):
        return True
    if any(is_number(cell or "0") for cell in first[2:]) or all(integers):
        return False
    if len(rest) and any(all(is_number(cell or "0") for cell in rest[i]) for i in range(2, len(first))):
        return True
    if nodes is not None or ends.isin(first).any(axis=None):
        return False
    if {*SOURCE} & {*map(_key, first)} and {*TARGET} & {*map(_key, first)}:
        return True
    raise InputError(
        f"{path} begins with {first[0]!r} and {first[-1]!r}, which may be a header or an edge between two nodes: "
        "add a first row source,target, or name the columns with --source and --target (source=, target=)."
    )


def find_columns(names: list[str], rows: Any, asked: EdgeColumns, path: Path | str) -> tuple[int, int, int | None]:
    """Return the columns of sources, targets and weights: as asked, else by usual names, else the first that are left.

    A weight is never guessed: it has a usual name, or is the third column of a table without a header.
    """
    width, keys, lower = rows.shape[1], [_key(name) for name in names], [name.lower() for name in names]
    if not names or width == 1:
        if width not in (2, 3):
            raise InputError(
                f"{path} has {width} column{'' if width == 1 else 's'}; an edge list has source, target and perhaps "
                "weight, or a header that says which columns these are."
            )
        return 0, 1, 2 if width == 3 and asked.weight != NONE else None

    def find(name: str | None, usual: Sequence[str]) -> int | None:
        if name is None:
            places = (row.index(key) for row in (lower, keys) for key in usual if key in row)
            return next((place for place in places if names[place] not in asked.given.values()), None)
        if name not in names:
            raise InputError(f"{path} has no column {name!r}; its columns are {', '.join(map(repr, names))}.")
        return names.index(name)

    source, target = find(asked.source, SOURCE), find(asked.target, TARGET)
    is_said = bool(asked.source or asked.target or ({*lower} & {*OLD_SOURCE} and {*lower} & {*OLD_TARGET}))
    none = (width == 2 and asked.weight is None) or (asked.weight == NONE and NONE not in names)
    weight = None if none else find(asked.weight, WEIGHT)
    begin = int(_is_index(names[0], rows[0]))
    left = [i for i in range(begin, width) if i not in (source, target, weight) and keys[i] not in TIME]
    chosen = [end if end is not None else left.pop(0) for end in (source, target) if end is not None or left]
    if len(chosen) < 2 or any(_is_unnamed(names[end]) for end in chosen):
        raise InputError(
            f"{path} has the header {', '.join(map(repr, names))}, which does not say between which columns the edges "
            "are: name them with --source and --target (source=, target=)."
        )
    first, second = chosen if is_said else sorted(chosen)  # nodes are numbered in the order of the columns
    return first, second, weight


def _find_old(names: list[str], rows: Any, path: Path | str) -> tuple[int, int, int | None]:
    """Return the columns as versions before 0.2.0 found them, which took any third column of numbers as the weight."""
    width, keys = rows.shape[1], [name.lower() for name in names]
    usual = (OLD_SOURCE, OLD_TARGET, OLD_WEIGHT)
    source, target, weight = (next((i for i, key in enumerate(keys) if key in known), None) for known in usual)
    if source is None or target is None:
        return find_columns([], rows, BY_NAME, path)
    if weight is None and width == 3 and all(map(is_number, rows[3 - source - target])):
        weight = 3 - source - target
    return source, target, weight


def _summary(names: list[str], width: int, columns: tuple[int, int, int | None], edges: Any, weight: Any) -> str:
    """Say which columns were read as what, and how many edges were not kept."""
    called = [name or "a column without name" for name in names] or [f"column {i + 1}" for i in range(width)]
    source, target, place = columns
    weights = ""
    if place is not None and len(weight):
        weights = f", weights from {called[place]!r} {weight.min():.10g} to {weight.max():.10g}"
    ignored = ", ".join(name for i, name in enumerate(called) if i not in columns)
    loops = edges[0] == edges[1]
    zero = np.zeros_like(loops) if weight is None else ~loops & (weight == 0)
    low, high = np.sort(edges[:, ~loops & ~zero], axis=0)
    merged = len(low) - len(distinct(low * (edges.max(initial=0) + 1) + high))
    counts = say_lost(merged, loops.sum(), zero.sum())
    ends = f"{edges.shape[1]} edges {called[source]} -> {called[target]}"
    return f"{ends}{weights}{ignored and ', ignored: '}{ignored}; undirected{counts}"


def say_lost(merged: int, loops: int, zero: int) -> str:
    """Say how many edges were merged and dropped, where there are any."""
    lost = {"repeated pair{} merged": merged, "self-loop{} dropped": loops, "of weight 0 dropped": zero}
    return "".join(f", {count} {what.format('' if count == 1 else 's')}" for what, count in lost.items() if count)


def _note_on_kinds(source: str, target: str, ends: Any) -> str | None:
    """Say so if things of two kinds, as the columns' names tell, are one node because they have the same number."""
    one, other = (_key(name).rstrip("0123456789") for name in (source, target))
    if SAME_KIND & {one, other} or one[:4] == other[:4] or one[-4:] == other[-4:] or min(len(one), len(other)) < 3:
        return None
    shared = ends["source"][ends["source"].isin(ends["target"])].unique()
    if not len(shared):
        return None
    return (
        f"{source} {shared[0]} and {target} {shared[0]} are one node, and so are all {len(shared)} numbers that are in "
        "both columns; if they are two things, say --bipartite (bipartite=True)."
    )


def describe(data: Data) -> str:
    """Say in one line what was read: the edges, columns and weights of a table; components and isolated nodes."""
    if task_of(data) == "image":
        return f"{num_items(data)} images of {data.x.shape[1]} x {data.x.shape[2]} pixels"
    if "store" in data:  # whose edges are not read for a line
        return data.get("edges_read") or f"{data.num_edges // 2} edges; undirected"
    rows, columns = data.edge_index.numpy()
    adjacency = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=(data.num_nodes, data.num_nodes))
    components, _ = connected_components(adjacency, directed=False)
    read = data.get("edges_read") or f"{len(rows) // 2} edges; undirected"
    graphs = f"{num_items(data)} graphs, " if task_of(data) == "graph" else ""
    found = f"{components} component{'s' * (components != 1)}, {data.num_nodes - len(np.unique(rows))} isolated"
    return ". ".join([f"{graphs}{read}, {found}", *filter(None, [data.get("edges_note")])])
