"""Convert graphs in memory (PyG, NetworkX, pairs (X, A), lists and loaders of graphs) to the project's containers."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.data.data import BaseData

from sfa.data.arrays import is_sparse, to_numpy, with_shape
from sfa.data.edges import adjacency_edges
from sfa.data.labels import MASKS
from sfa.data.raw import LABEL_KEYS, build, from_networkx, in_graph, is_networkx, join_graphs, own_name
from sfa.errors import InputError
from sfa.tasks import DATA, Task, task_of

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


def as_graph(obj: Any, *, name: str | None = None, labels: bool = True, node_features: str | None = None) -> Data:
    """Return the graph in `obj`, checked and undirected.

    - PyG `Data`: `x`, `edge_index`, and if there `edge_weight`, `y`, `class_names`, `node_ids`, `name`, and the masks
      of public splits.
    - `(X, A)`: X an array, sparse matrix, map of a file (`numpy.load(file, mmap_mode="r")`) or DataFrame (its index
      names the nodes) [n, d]; A a SciPy sparse or dense adjacency [n, n], or an edge index [2, m]. An array [2, 2] with
      two nodes is an adjacency.
    - NetworkX: node attributes `x` (or `features`) and `y` (or `label`), edge attribute `weight`.

    Other attributes (edge features, say) are left behind, and so are labels and masks that are not asked for: these may
    then be anything. A graph without features (X is then None) gets some if `node_features` says of what: `degree`,
    `random` or `spectral`, with a width if wanted (`spectral:64`); see `sfa.data.structural`.
    """
    check_task(obj, "node")
    is_list = isinstance(obj, (tuple, list))
    if is_list and len(obj) == 2:
        raw = _from_pair(*obj)
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
    left behind, and so are labels that are not asked for: these may then be anything. If no graph has features, they
    are made of the number of neighbors, in as many columns as `node_features` says (`degree:50`).
    """
    if isinstance(obj, DataLoader):
        obj = obj.dataset
    check_task(obj, "graph")
    if isinstance(obj, Data) and task_of(obj) == "graph":
        raw = _copy(obj, labels)
        raw.x = None if raw.x is None or raw.x.shape[1:] == (0,) else raw.x
        raw.name = name or own_name(raw)
        graphs = build(raw, name="graphs", node_features=node_features)
        if "features_of" in obj:
            graphs.features_of = obj.features_of
        return graphs
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
    each = []
    for graph, one in zip(many, ids, strict=True):
        with in_graph(one):
            each.append(from_networkx(graph, labels=False) if is_networkx(graph) else graph)
    raw = join_graphs(each, ids)
    raw.y = _graph_labels(many, ids) if labels else None
    return build(raw, name=name or own_name(obj) or "graphs", node_features=node_features)


def check_task(data: Any, needed: Task, given: str = "This") -> None:
    """Raise if data are of another kind than is needed; what is no data at all passes."""
    is_list = isinstance(data, (list, tuple)) and len(data) > 0 and all(is_one_graph(one) for one in data)
    found: Task | None = "graph" if is_list else "node" if is_networkx(data) else None
    found = task_of(data) if isinstance(data, Data) else found
    if found not in (None, needed):
        raise InputError(f"{given} is {DATA[found]}, and {DATA[needed]} is needed: {EMBEDDERS[found]} embeds it.")


def is_one_graph(obj: Any) -> bool:
    """Tell whether this is a PyG `Data` of one graph, or a NetworkX graph."""
    return (isinstance(obj, Data) and task_of(obj) == "node") or is_networkx(obj)


def _copy(data: Data, labels: bool) -> Data:
    """Return a shallow copy, without labels and masks unless they are wanted."""
    kept = {key: value for key, value in data.to_dict().items() if labels or key not in ("y", "class_names", *MASKS)}
    return Data.from_dict(kept)


def _from_pair(x: Any, a: Any) -> Data:
    """Return the raw graph of a pair (X, A), in which X may be None."""
    if a is None:
        raise InputError("The pair (X, A) has None for the adjacency A (or edge index [2, edges]), which is required.")
    ids = None
    if hasattr(x, "columns"):  # a DataFrame; the untouched index 0..n-1 says nothing that the default does not
        ids = x.index.tolist()
        # Sparse if all of its columns are sparse ones, of which most entries are 0.
        mostly_zero = len(x.columns) and all(getattr(dtype, "fill_value", None) == 0 for dtype in x.dtypes)
        x = x.sparse.to_coo() if mostly_zero else x.to_numpy()
    x, a = with_shape(x), with_shape(a)
    is_square = len(a.shape) == 2 and a.shape[0] == a.shape[1]
    counted = a if x is None and (is_sparse(a) or is_square) else x
    num_nodes = counted.shape[0] if counted is not None and len(counted.shape) else 0
    if is_sparse(a) or tuple(a.shape) == (num_nodes, num_nodes):
        edges, weight = adjacency_edges(a, num_nodes)
        return Data(x=x, edge_index=edges, edge_weight=weight, node_ids=ids, num_nodes=num_nodes)
    if len(a.shape) == 2 and a.shape[0] == 2:
        return Data(x=x, edge_index=a, node_ids=ids)
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
                f"The graph {one!r} has labels of shape {list(values.shape)}, but one label a graph is needed, or none."
            )
        labels[i] = values.reshape(-1)[0]
    return labels
