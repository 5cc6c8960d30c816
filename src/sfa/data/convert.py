"""Convert graphs in memory (PyG, NetworkX, pairs (X, A), lists and loaders of graphs) to the project's containers."""

import contextlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.data.data import BaseData

from sfa.data.arrays import is_sparse, require_numbers, to_numpy, with_shape
from sfa.data.encode import Encode, encode_frame
from sfa.data.graph import NO_GRAPH, adjacency_edges, build_graph, build_graphs, check_edges, count_nodes
from sfa.data.labels import MASKS, check_ids
from sfa.errors import InputError
from sfa.tasks import DATA, Task, task_of

LABEL_KEYS = ("y", "label")
ONE_GRAPH = "a torch_geometric Data, a pair (X, A) of features and adjacency (or edge index), or a NetworkX graph"
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
    encode: Encode | None = None,
) -> Data:
    """Return the graph in `obj`, checked and undirected.

    - PyG `Data`: `x`, `edge_index`, and if there `edge_weight`, `y`, `class_names`, `node_ids`, `name`, and the masks
      of public splits.
    - `(X, A)`: X an array, sparse matrix, map of a file (`numpy.load(file, mmap_mode="r")`) or DataFrame [n, d], whose
      index names the nodes, and whose columns become numbers as `encode` says (see `encode_frame`); A a SciPy sparse
      or dense adjacency [n, n], or an edge index [2, m]. An array [2, 2] with two nodes is an adjacency.
    - NetworkX: node attributes `x` (or `features`) and `y` (or `label`), edge attribute `weight`.

    Other attributes are left behind, and so are labels and masks that are not asked for, whatever they are. A graph
    without features (X is then None) gets some by `node_features` (see `build_graph`).
    """
    check_task(obj, "node")
    is_list = isinstance(obj, (tuple, list))
    if is_list and len(obj) == 2:
        raw = _from_pair(obj[0], obj[1], encode or "auto")
    elif isinstance(obj, Data):
        raw = _copy(obj, labels)
    elif is_networkx(obj):
        raw = from_networkx(obj, labels=labels)
    else:
        given = f"{type(obj).__name__} of {len(obj)} things" if is_list else type(obj).__name__
        raise InputError(f"A {given} is no graph; allowed is {ONE_GRAPH}.")
    raw.name = name or own_name(raw)
    return build(raw, name="graph", node_features=node_features)


def as_graphs(obj: Any, *, name: str | None = None, labels: bool = True, node_features: str | None = None) -> Data:
    """Return the graph set in `obj`, checked, each of its graphs undirected; see `build_graphs` for its form.

    - A list (or anything to go through) of PyG `Data`: `x`, `edge_index`, and if there `edge_weight`, `num_nodes`, and
      `y` with one label, the graph's.
    - A list of NetworkX graphs: node attributes `x` (or `features`), edge attribute `weight`, and the graph's label in
      `graph.graph["y"]` (or `["label"]`).
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
        return graphs.update({key: obj[key] for key in ("features_of", "scaffold") if key in obj})
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
    raw = join_graphs(many, ids)
    raw.y = _graph_labels(many, ids) if labels else None
    return build(raw, name=name or own_name(obj) or "graphs", node_features=node_features)


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
    return Data.from_dict(kept)


def _from_pair(x: Any, a: Any, encode: Encode) -> Data:
    """Return the raw graph of a pair (X, A), in which X may be None."""
    if a is None:
        raise InputError("The pair (X, A) has None for the adjacency A (or edge index [2, edges]), which is required.")
    ids, encoding, note = None, None, ""
    if hasattr(x, "columns"):  # a DataFrame; the untouched index 0..n-1 says nothing that the default does not
        ids = x.index.tolist()
        # Sparse if all of its columns are sparse ones, of which most entries are 0.
        mostly_zero = len(x.columns) and all(getattr(dtype, "fill_value", None) == 0 for dtype in x.dtypes)
        x, encoding, note = (x.sparse.to_coo(), None, "") if mostly_zero else encode_frame(x, encode)
    x, a = with_shape(x), with_shape(a)
    is_square = len(a.shape) == 2 and a.shape[0] == a.shape[1]
    counted = a if x is None and (is_sparse(a) or is_square) else x
    num_nodes = counted.shape[0] if counted is not None and len(counted.shape) else 0
    if is_sparse(a) or tuple(a.shape) == (num_nodes, num_nodes):
        edges, weight = adjacency_edges(a, num_nodes)
        raw = Data(x=x, edge_index=edges, edge_weight=weight, node_ids=ids, num_nodes=num_nodes)
        return raw.update({"encoding": encoding, "encoding_note": note})
    if len(a.shape) == 2 and a.shape[0] == 2:
        return Data(x=x, edge_index=a, node_ids=ids, encoding=encoding, encoding_note=note)
    rows, n = ("", "n") if x is None else (f"with {num_nodes} rows of features ", num_nodes)
    raise InputError(
        f"A has shape {list(a.shape)}, but {rows}it must be an adjacency [{n}, {n}] or an edge index [2, edges]."
    )


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


def build(raw: Data, *, name: str, node_features: str | None = None) -> Data:
    """Build the graph, or with `ptr` the graph set, of raw data; `name` counts if they have none of their own."""
    _check_tensors(raw)
    is_set = raw.get("ptr") is not None
    keys = ("edge_weight", "y", "class_names", *(("ptr", "graph_ids") if is_set else ("node_ids", "num_nodes")))
    parts: dict[str, Any] = {key: raw.get(key) for key in keys}  # the attribute num_nodes guesses where nothing is said
    parts |= {"name": own_name(raw) or name, "node_features": node_features}
    if is_set:
        return build_graphs(raw.x, raw.edge_index, **parts)
    masks = {mask: raw.get(mask) for mask in MASKS}
    data = build_graph(raw.x, raw.edge_index, masks=masks, mapped=raw.get("mapped_features") is True, **parts)
    return data.update({key: raw[key] for key in ("encoding", "encoding_note") if raw.get(key)})


def _check_tensors(raw: Data) -> None:
    for value in raw.to_dict().values():
        if isinstance(value, Tensor):
            require_numbers(value)


def join_graphs(graphs: Sequence[Any], graph_ids: Sequence[Any] | None = None) -> Data:
    """Return the raw set of raw (or NetworkX) graphs; all have equally many features, or none has any or a column."""
    if not graphs:
        raise InputError(NO_GRAPH)
    ids = check_ids(graph_ids, len(graphs), "graph")
    tables, edges, weights, has_weights = [], [], [], False
    for one, given in zip(ids, graphs, strict=True):
        with in_graph(one):
            graph = from_networkx(given, labels=False) if is_networkx(given) else given
            _check_tensors(graph)
            table = None if graph.x is None else to_numpy(graph.x)
            if table is not None and table.ndim != 2:
                raise InputError(f"The features have shape {list(table.shape)}, but [nodes, features] is needed.")
            size = count_nodes(table, graph.get("num_nodes"), graph.edge_index)
            if size < 1:
                raise InputError("There are no nodes; leave it out.")
            index, weight = check_edges(graph.edge_index, graph.edge_weight, size)
        tables.append(np.empty((size, 0)) if table is None else table)
        edges.append(index)
        weights.append(np.ones(index.shape[1], np.float32) if weight is None else weight)
        has_weights |= weight is not None
    widths = [table.shape[1] for table in tables]
    other = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if other is not None:
        first, second = (f"{width} features a node" if width else "none" for width in (widths[0], widths[other]))
        raise InputError(
            f"The graph {ids[0]!r} has {first}, but the graph {ids[other]!r} has {second}; "
            "all graphs need equally many, or none."
        )
    ptr = np.cumsum([0, *map(len, tables)])
    shifts = np.repeat(ptr[:-1], [index.shape[1] for index in edges])
    return Data(
        x=np.concatenate(tables) if widths[0] else None,
        edge_index=np.concatenate(edges, axis=1) + shifts,
        edge_weight=np.concatenate(weights) if has_weights else None,
        graph_ids=ids,
        ptr=ptr,
    )


def from_networkx(graph: Any, *, labels: bool = True) -> Data:
    """Read node attribute `x` or `features` (numbers), `y` or `label`; edge attribute `weight`, 1 where missing."""
    position = {node: i for i, node in enumerate(graph.nodes)}
    ends, weights = [], []
    for source, target, weight in graph.edges(data="weight", default=1.0):
        try:
            weights.append(float(weight))
        except (TypeError, ValueError):
            raise InputError(
                f"The edge {source!r} - {target!r} has the weight {weight!r}, which is no number."
            ) from None
        ends.append((position[source], position[target]))
    raw = Data(edge_index=np.array(ends, dtype=np.int64).reshape(-1, 2).T, edge_weight=weights, num_nodes=len(position))
    raw.node_ids, raw.name = list(position), own_name(graph)
    # The first of some attributes that any node has; its value is None at nodes that do not have it.
    here = {key for _, attributes in graph.nodes(data=True) for key in attributes}
    features, label = (next((key for key in keys if key in here), None) for keys in (("x", "features"), LABEL_KEYS))
    raw.x = None if features is None else _stack_features(features, dict(graph.nodes(data=features)))
    if labels and label is not None:
        raw.y = np.empty(len(position), dtype=object)
        raw.y[:] = [value.item() if hasattr(value, "item") else value for _, value in graph.nodes(data=label)]
    return raw


def is_networkx(obj: Any) -> bool:
    """Tell whether this is a NetworkX graph; that can only exist once networkx is imported, so it is not imported."""
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(obj, networkx.Graph)


def own_name(obj: Any) -> str | None:
    """Return what a graph or a data set calls itself."""
    name = getattr(obj, "name", None)
    return name if isinstance(name, str) and name else None


@contextlib.contextmanager
def in_graph(one: int | str) -> Iterator[None]:
    """Name, in an error's sentence, the graph of a set that it is about."""
    try:
        yield
    except InputError as error:
        sentence = str(error)
        raise InputError(f"In the graph {one!r}: {sentence[0].lower()}{sentence[1:]}") from error


def _stack_features(key: str, values: dict[Any, Any]) -> NDArray[np.float64]:
    """Return the table of features; a node has a number, a list or (GraphML has no lists) a text such as "[0.5, 1]"."""
    without = [node for node, value in values.items() if value is None]
    if without:
        raise InputError(
            f"{len(without)} of {len(values)} nodes have no attribute {key!r} (the first: {without[0]!r}); "
            "every node needs features."
        )
    rows: list[NDArray[np.float64]] = []
    for node, value in values.items():
        numbers = value.strip().strip("[]()").replace(",", " ").split() if isinstance(value, str) else value
        try:
            rows.append(np.atleast_1d(np.asarray(numbers, dtype=np.float64)).ravel())
        except (TypeError, ValueError):
            raise InputError(f"Node {node!r} has features {value!r} in {key!r}, but they must be numbers.") from None
        if rows[-1].size != rows[0].size:
            raise InputError(
                f"Node {node!r} has {rows[-1].size} features in {key!r}, but node {next(iter(values))!r} has "
                f"{rows[0].size}; all nodes need equally many."
            )
    return np.stack(rows)
