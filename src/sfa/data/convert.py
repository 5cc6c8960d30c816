"""Convert graphs in memory (PyG, NetworkX, pandas, pairs (X, A), lists and loaders) to the project's containers."""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from torch.utils.data import DataLoader
from torch_geometric.data import Data, HeteroData
from torch_geometric.data.data import BaseData

from sfa.data.arrays import is_sparse, to_numpy, with_shape
from sfa.data.encode import Encode, encode_frame
from sfa.data.graph import adjacency_edges, check_edges
from sfa.data.labels import MASKS
from sfa.data.raw import LABEL_KEYS, build, from_networkx, is_networkx, join_graphs, own_name
from sfa.data.readers.edge_list import EdgeColumns, read_edge_frame
from sfa.data.readers.tables import ID_NAMES, parse_frame
from sfa.data.store import StoredGraph
from sfa.errors import InputError
from sfa.tasks import DATA, Task, task_of

ONE_GRAPH = (
    "a torch_geometric Data, or HeteroData with edges, a NetworkX graph, a table or a list of edges, a pair (nodes, "
    "edges) of tables, a pair (X, A) of features and adjacency (or edge index), an adjacency alone, a data set's name, "
    "or a path"
)
MANY_GRAPHS = (
    "a list of torch_geometric Data or of NetworkX graphs, a torch_geometric data set, DataLoader or Batch of such, "
    "or a graph set"
)
EMBEDDERS: dict[Task, str] = {
    "node": "NodeEmbedder (sfa.data.as_graph)",
    "graph": "GraphEmbedder (sfa.data.as_graphs)",
    "image": "ImageEmbedder (sfa.data.as_images)",
}


def as_graph(
    obj: Any,
    *,
    name: str | None = None,
    labels: bool = True,
    node_features: str | None = None,
    encode: Encode = None,
    **columns: Any,
) -> Data:
    """Return the graph in `obj`, checked and undirected.

    - A data set's name or a path: see `load`.
    - A DataFrame of edges, or a pair `(nodes, edges)` of DataFrames: see `from_pandas`.
    - A list of pairs `(u, v)`, or of tuples `(u, v, weight)`: edges between nodes of these names, text or numbers.
    - `(X, A)`: X an array, sparse matrix, map of a file (`numpy.load(file, mmap_mode="r")`) or DataFrame [n, d], whose
      index names the nodes; A edges as above, an adjacency [n, n], SciPy sparse, dense or a DataFrame, or an edge
      index of positions, [2, m] or [m, 2]. An array [2, 2] with two nodes is an adjacency.
    - A alone, if it is an adjacency or an edge index; X is then None, as it may be in a pair.
    - PyG `Data`: `x`, `edge_index`, and if there `edge_weight`, `y`, `class_names`, `node_ids`, `name`, and the masks
      of public splits.
    - PyG `HeteroData`, as one graph: its node types become one-hot features, beside each type's own.
    - NetworkX: node attributes `x` (or `features`) and `y` (or `label`), edge attribute `weight`, or another that is
      named by `weight`. Without `x`, other attributes are the features.

    Other attributes are left behind, and so are labels and masks that are not asked for, whatever they are. A graph
    without features (X is then None) gets some by `node_features` (see `build_graph`), which come before attributes.
    Attributes and the columns of tables become numbers as `encode` says (see `encode_frame`).
    `columns`, which are `source`, `target`, `weight` and `bipartite`, say how a table is read (see `EdgeColumns`).
    """
    asked = EdgeColumns(**columns)
    if isinstance(obj, (str, os.PathLike)):
        from sfa.data.load import find, load  # which reads files by this module

        encode = None if find(obj) is not None or encode == "auto" else encode  # a named set has numbers only
        loaded = load(obj, node_features=node_features, encode=encode, **columns)
        check_task(loaded, "node", os.fspath(obj))
        loaded.name = name or loaded.name
        return _copy(loaded, labels)
    check_task(obj, "node")
    if isinstance(obj, StoredGraph):
        if node_features is not None or asked.given:
            raise InputError("A graph store has features and edges: leave out node_features= and columns of edges.")
        return _copy(obj, labels)
    is_pair = isinstance(obj, (tuple, list)) and len(obj) == 2 and not _is_rows(obj)
    table = _edge_table(obj[1] if is_pair else obj)
    if asked.given and table is None and not (is_networkx(obj) and asked.given.keys() == {"weight"}):
        options = " and ".join(f"{key}=" for key in asked.given)
        raise InputError(f"A {type(obj).__name__} has no columns of edges to choose from: leave out {options}.")
    if isinstance(obj, Data):
        raw = _copy(obj, labels)
        raw.edges_read = raw.edges_note = None  # since when edges may have changed
    elif isinstance(obj, HeteroData) and obj.edge_types:
        raw = _from_hetero(obj, labels)
    elif is_networkx(obj):
        raw = from_networkx(obj, labels=labels, weight=asked.weight)
    elif is_pair or table is not None or holds_edges(obj):
        x, a = obj if is_pair else (None, obj)
        raw = _from_pair(x, a, table, asked, labels, encode)
    else:
        given = f"{type(obj).__name__} of {len(obj)} things" if isinstance(obj, (tuple, list)) else type(obj).__name__
        raise InputError(f"This {given} is no graph; allowed is {ONE_GRAPH}.")
    raw.name = name or own_name(raw)
    return build(raw, name="graph", node_features=node_features, encode=encode)


def from_pandas(edges: Any, nodes: Any = None, **options: Any) -> Data:
    """Return the graph of a DataFrame of edges, and perhaps one of nodes; `options` are those of `as_graph`.

    Columns of `edges` are found by their names, as in a file (see `EdgeColumns`), or named by `source`, `target` and
    `weight`; node ids keep their names. The ids of `nodes` are its index, or if that only counts its rows, a column
    `id`, `node_id`, `node` or `name`, or else a first column of text. A column `label` holds labels, and all others are
    features (see `encode_frame`).
    """
    return as_graph(edges if nodes is None else (nodes, edges), **options)


def as_graphs(
    obj: Any,
    *,
    name: str | None = None,
    labels: bool = True,
    node_features: str | None = None,
    weight: str | None = None,
    encode: Encode = None,
) -> Data:
    """Return the graph set in `obj`, checked, each of its graphs undirected; see `build_graphs` for its form.

    - A list (or anything to go through) of PyG `Data`: `x`, `edge_index`, and if there `edge_weight`, `num_nodes`, and
      `y` with one label, the graph's.
    - A list of NetworkX graphs: node attributes `x` (or `features`, or any others, see `as_graph`), edge attribute
      `weight` or another that is named by `weight`, and the graph's label in `graph.graph["y"]` (or `["label"]`).
    - A PyG data set of many graphs, such as `TUDataset`; a `DataLoader`: all of the data set behind it, in its order.
    - A PyG `Batch`, or a graph set, which comes back as it is.

    Graphs that all have a name (`data.name`, `graph.name`), each its own, keep it as `graph_ids`. Other attributes are
    left behind, and so are labels that are not asked for, whatever they are. If no graph has features, they are made of
    the number of neighbors, in as many columns as `node_features` says (`degree:50`).
    """
    if isinstance(obj, DataLoader):
        obj = obj.dataset
    check_task(obj, "graph")
    if isinstance(obj, Data) and task_of(obj) == "graph":
        raw = _copy(obj, labels)
        raw.x = None if raw.x is None or raw.x.shape[1:] == (0,) else raw.x
        raw.name = name or own_name(raw)
        graphs = build(raw, name="graphs", node_features=node_features)
        return graphs.update({"scaffold": obj.scaffold} if "scaffold" in obj else {})
    is_iterable = isinstance(obj, Iterable) or hasattr(obj, "__getitem__")
    if not is_iterable or isinstance(obj, (str, bytes, Mapping, BaseData)):
        raise InputError(f"A {type(obj).__name__} is no set of graphs; allowed is {MANY_GRAPHS}.")
    many = list(obj)
    strange = next((i for i, graph in enumerate(many) if not is_one_graph(graph)), None)
    if strange is not None:
        raise InputError(
            f"Item {strange} of the {type(obj).__name__} is a {type(many[strange]).__name__}, which is not one graph; "
            f"allowed is {MANY_GRAPHS}."
        )
    names = [own_name(graph) for graph in many]
    ids: Sequence[Any] = names if all(names) and len(set(names)) == len(names) else range(len(many))
    raw = join_graphs(many, ids, weight)
    raw.y = _graph_labels(many, ids) if labels else None
    return build(raw, name=name or own_name(obj) or "graphs", node_features=node_features, encode=encode)


def check_task(data: Any, needed: Task, given: str = "This") -> None:
    """Raise if data are of another kind than is needed; what is no data at all passes."""
    found: Task | None = task_of(data) if isinstance(data, Data) else "node" if is_networkx(data) else None
    if isinstance(data, (list, tuple)) and len(data) > 0 and all(is_one_graph(one) for one in data):
        found = "graph"
    if found not in (None, needed):
        raise InputError(f"{given} is {DATA[found]}, and {DATA[needed]} is needed: {EMBEDDERS[found]} embeds it.")


def is_one_graph(obj: Any) -> bool:
    """Tell whether this is a PyG `Data` of one graph, or a NetworkX graph."""
    return (isinstance(obj, Data) and task_of(obj) == "node") or is_networkx(obj)


def _copy(data: Data, labels: bool) -> Data:
    """Return a shallow copy, without labels and masks unless they are wanted."""
    kept = {key: value for key, value in data.to_dict().items() if labels or key not in ("y", "class_names", *MASKS)}
    return type(data).from_dict(kept) if isinstance(data, StoredGraph) else Data.from_dict(kept)


def holds_edges(obj: Any) -> bool:
    """Tell whether this is a table or a list of edges, an adjacency or an edge index."""
    return len(getattr(obj, "shape", ())) == 2 or _is_rows(obj) or _edge_table(obj) is not None


def _is_rows(obj: Any) -> bool:
    """Tell whether this is a list of rows of equal length, each of numbers or text."""
    if not isinstance(obj, (list, tuple)) or not obj or not all(isinstance(row, (list, tuple)) for row in obj):
        return False
    return len({len(row) for row in obj}) == 1 and all(pd.api.types.is_scalar(one) for row in obj for one in row)


def _edge_table(obj: Any) -> Any:
    """Return a table of edges between named nodes, of a DataFrame, a list of tuples or rows with text; else None."""
    if isinstance(obj, pd.DataFrame):  # an adjacency has the same names in both directions; 3 without may be edges
        is_adjacency = list(obj.index) == list(obj.columns)
        return None if is_adjacency and (len(obj) > 3 or not isinstance(obj.index, pd.RangeIndex)) else obj
    rows = obj.tolist() if isinstance(obj, np.ndarray) and obj.ndim == 2 and obj.dtype.kind in "USO" else obj
    if not isinstance(rows, list) or not all(isinstance(row, (list, tuple)) and len(row) in (2, 3) for row in rows):
        return None
    are_tuples = len({len(row) for row in rows}) == 1 and all(isinstance(row, tuple) for row in rows)
    has_text = _is_rows(rows) and any(isinstance(one, str) for row in rows for one in row)
    are_pairs = len(rows) > 2 and len(rows[0]) == 2 and _is_rows(rows)  # fewer may be an index, wider an adjacency
    if not (has_text or are_pairs) and not (are_tuples and (len(rows) != 2 or _is_rows(rows))):  # two: a pair (X, A)
        return None
    return pd.DataFrame({i: list(column) for i, column in enumerate(zip(*rows, strict=True))})


def _from_pair(x: Any, a: Any, table: Any, columns: EdgeColumns, labels: bool, encode: Encode) -> Data:
    """Return the raw graph of a pair (X, A), in which X may be None; `table` is A if that is a table of edges."""
    if a is None:
        raise InputError("The pair (X, A) has None for the adjacency A (or edge index [2, edges]), which is required.")
    ids, encoding, note = None, None, ""
    if isinstance(x, pd.DataFrame):
        if table is not None:
            nodes = _read_nodes(x, labels, encode)
            return read_edge_frame(table, nodes.node_ids, columns).update(nodes)
        ids = x.index.tolist()  # the untouched index 0..n-1 says nothing that the default does not
        # Sparse if all of its columns are sparse ones, of which most entries are 0.
        mostly_zero = len(x.columns) and all(getattr(dtype, "fill_value", None) == 0 for dtype in x.dtypes)
        x, encoding, note = (x.sparse.to_coo(), None, "") if mostly_zero else encode_frame(x, encode)
    elif isinstance(a, pd.DataFrame) and x is None:
        ids = a.index.tolist()
    x, a = with_shape(x), with_shape(a)
    if table is not None:
        raw = read_edge_frame(table, None if x is None else range(x.shape[0]), columns)
        raw.x = x
        return raw
    is_square = len(a.shape) == 2 and a.shape[0] == a.shape[1]
    counted = a if x is None and (is_sparse(a) or is_square) else x
    num_nodes = counted.shape[0] if counted is not None and len(counted.shape) else 0
    if tuple(a.shape) == (2, 2) and not is_sparse(a) and (x is None or num_nodes != 2):
        given = to_numpy(a)
        if given.dtype.kind in "iu" and ((given != given.T).any() or (x is None and given.diagonal().any())):
            raise InputError(
                f"A is {given.tolist()}, which may be an edge index [2, edges], or have one edge a row [edges, 2]: "
                "give a list of tuples (source, target), or a sparse adjacency."
            )
    raw = Data(x=x, node_ids=ids, encoding=encoding, features_note=note)
    if is_sparse(a) or tuple(a.shape) == (num_nodes, num_nodes):
        raw.edge_index, raw.edge_weight = adjacency_edges(a, num_nodes)
        raw.num_nodes = num_nodes
        return raw
    if len(a.shape) == 2 and 2 in a.shape:
        raw.edge_index = a if a.shape[0] == 2 else a.T
        return raw
    rows, n = ("", "n") if x is None else (f"with {num_nodes} rows of features ", num_nodes)
    raise InputError(
        f"A has shape {list(a.shape)}, but {rows}it must be an adjacency [{n}, {n}] or an edge index, [2, edges] or "
        "[edges, 2]."
    )


def _read_nodes(frame: Any, labels: bool, encode: Encode) -> Data:
    """Return the features, the ids and, if they are wanted, the labels of a table of nodes; see `from_pandas`."""
    if isinstance(frame.index, pd.RangeIndex) and frame.index.name is None:
        is_text = len(frame.columns) > 0 and not pd.api.types.is_numeric_dtype(frame.dtypes.iloc[0])
        named = (column for column in frame if str(column).lower() in ID_NAMES)
        own = next(named, frame.columns[0] if is_text else None)
        frame = frame if own is None else frame.set_index(own)
    frame = frame.rename(columns=str)
    label = frame.pop("label") if "label" in frame else None
    table = pd.concat([frame.index.to_frame(index=False, name="id"), frame.reset_index(drop=True)], axis=1)
    nodes = parse_frame(table, "The table of nodes", encode) if len(frame.columns) else Data()
    nodes.node_ids = frame.index.tolist()
    if labels and label is not None:
        nodes.y = label.to_numpy(dtype=object)
    return nodes


def _from_hetero(data: HeteroData, labels: bool) -> Data:
    """Return a graph of several types of nodes as a raw graph of one, whose features begin with one-hot types."""
    kept = [key for key in ("y", *MASKS) if labels and len(data.collect(key, True)) == 1]  # the labels of one type
    is_weighted = all("edge_weight" in store for store in data.edge_stores)
    raw = data.to_homogeneous(kept, ["edge_weight"] if is_weighted else [])
    kinds, sizes = data.node_types, raw.node_type.bincount(minlength=len(data.node_types)).tolist()
    for (source, _, target), index in data.edge_index_dict.items():
        for end, kind in zip(check_edges(index, None, raw.num_nodes)[0], (source, target), strict=True):
            if end.max(initial=0) >= max(1, sizes[kinds.index(kind)]):
                raise InputError(f"An edge ends at the {kind} {end.max()}, but there are {sizes[kinds.index(kind)]}.")
    own = [
        to_numpy(x) if (x := store.get("x")) is not None else np.empty((size, 0))
        for store, size in zip(data.node_stores, sizes, strict=True)
    ]
    raw.x = sparse.hstack([np.eye(len(kinds))[raw.node_type], sparse.block_diag(own)], "csr")
    raw.node_ids = [f"{kind}:{i}" for kind, size in zip(kinds, sizes, strict=True) for i in range(size)]
    raw.features_note = (
        f"Nodes of {len(kinds)} types ({', '.join(kinds)}) are nodes of one graph: their types are one-hot features, "
        "beside each type's own, and the types of edges do not count"
    )
    return raw


def _graph_labels(graphs: Sequence[Any], ids: Sequence[int | str]) -> NDArray[Any]:
    """Return the label of each graph, None where it has none."""
    labels = np.empty(len(graphs), dtype=object)
    for i, (graph, one) in enumerate(zip(graphs, ids, strict=True)):
        holder = graph.graph if is_networkx(graph) else {"y": graph.y}
        label = next((holder[key] for key in LABEL_KEYS if key in holder), None)
        values = np.array([None]) if label is None else to_numpy(label)
        if values.size != 1:
            raise InputError(
                f"The graph {one!r} has labels of shape {list(values.shape)}, but one a graph is needed, or none; "
                "of several choose one, graph.y = graph.y[:, 0]."
            )
        labels[i] = values.reshape(-1)[0]
    return labels
