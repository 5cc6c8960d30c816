"""Many graphs in memory (lists of PyG Data or NetworkX graphs, PyG data sets, batches, loaders) -> a graph set."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import DataLoader
from torch_geometric.data import Data
from torch_geometric.data.data import BaseData

from sfa.data.arrays import to_numpy
from sfa.data.convert import LABEL_KEYS, networkx_arrays
from sfa.data.graphs import OneGraph, build_graphs, in_graph, join_graphs
from sfa.errors import InputError
from sfa.levels import level_of

ALLOWED = (
    "a list of torch_geometric Data or of NetworkX graphs, a torch_geometric data set, DataLoader or Batch of such, "
    "or a graph set"
)


def as_graphs(obj: Any, *, name: str | None = None, labels: bool = True, node_features: str | None = None) -> Data:
    """The graph set in `obj`, checked, each of its graphs undirected; see `build_graphs` for its form.

    - A list (or anything to go through) of PyG `Data`: `x`, `edge_index`, and if there `edge_weight`, `num_nodes`, and
      `y` with one label, the graph's.
    - A list of NetworkX graphs: node attributes `x` (or `features`), edge attribute `weight`, and the graph's label in
      `graph.graph["y"]` (or `["label"]`).
    - A PyG data set of many graphs, such as `TUDataset`; a `DataLoader`: all of the data set behind it, in its order.
    - A PyG `Batch`, or a graph set, which comes back as it is.

    Graphs that all have a name (`data.name`, `graph.name`), each its own, keep it as `graph_ids`. Other attributes
    (edge features, say) are left behind, and so are labels that are not asked for: these may then be anything.

    If no graph has features, they are made of the number of neighbours: `node_features` may say how many columns these
    have (`degree:50`), and `sfa.data.remark` says it aloud.
    """
    if isinstance(obj, DataLoader):
        obj = obj.dataset
    if isinstance(obj, Data) and level_of(obj) == "graph":
        return _from_union(obj, name, labels, node_features)
    if isinstance(obj, Data) and level_of(obj) == "image":
        raise InputError("These are images, and graphs are needed: embed images with ImageEmbedder (sfa.data.images).")
    if is_one_graph(obj):
        raise InputError(
            f"A {type(obj).__name__} is one graph, and many are needed: embed its nodes with NodeEmbedder "
            "(sfa.data.as_graph), or give a list of graphs."
        )
    graphs = _listed(obj)
    names = [_name(graph) for graph in graphs]
    are_names = all(names) and len(set(names)) == len(names)
    ids: Sequence[Any] = names if are_names else range(len(graphs))
    return join_graphs(
        [_one_graph(graph, one) for graph, one in zip(graphs, ids, strict=True)],
        y=_labels(graphs, ids) if labels else None,
        graph_ids=ids,
        name=name or _name(obj) or "graphs",
        node_features=node_features,
    )


def is_one_graph(obj: Any) -> bool:
    """Whether this is a PyG `Data` of one graph, or a NetworkX graph."""
    return (isinstance(obj, Data) and level_of(obj) == "node") or _is_networkx(obj)


def _is_networkx(obj: Any) -> bool:
    # A NetworkX graph can only exist once networkx is imported, so this never pays for the import.
    networkx = sys.modules.get("networkx")
    return networkx is not None and isinstance(obj, networkx.Graph)


def _from_union(data: Data, name: str | None, labels: bool, node_features: str | None) -> Data:
    """A graph set or a Batch, whose nodes are counted through all of its graphs."""
    if data.edge_index is None:
        raise InputError("The graphs have no edge_index; set it to an integer tensor [2, edges], which may be empty.")
    graphs = build_graphs(
        data.x if data.x is None or data.x.shape[1:] != (0,) else None,
        data.edge_index,
        data.ptr,
        edge_weight=data.edge_weight,
        y=data.y if labels else None,
        graph_ids=getattr(data, "graph_ids", None),
        class_names=getattr(data, "class_names", None) if labels else None,
        name=name or _name(data) or "graphs",
        node_features=node_features,
    )
    if "features_of" in data:
        graphs.features_of = data.features_of
    return graphs


def _listed(obj: Any) -> list[Any]:
    is_iterable = isinstance(obj, Iterable) or hasattr(obj, "__getitem__")
    if not is_iterable or isinstance(obj, (str, bytes, Mapping, BaseData)):
        raise InputError(f"A {type(obj).__name__} is no set of graphs; allowed is {ALLOWED}.")
    graphs = []
    for i, graph in enumerate(obj):
        if not is_one_graph(graph):
            raise InputError(
                f"Item {i} of the {type(obj).__name__} is a {type(graph).__name__}, which is not one graph; allowed is "
                f"{ALLOWED}."
            )
        graphs.append(graph)
    return graphs


def _one_graph(graph: Any, one: int | str) -> OneGraph:
    with in_graph(one):
        if _is_networkx(graph):
            arrays = networkx_arrays(graph)
            return OneGraph(arrays.edges, arrays.edge_weight, arrays.x, len(arrays.node_ids))
        if graph.edge_index is None:
            raise InputError("There is no edge_index; set it to an integer tensor [2, edges], which may be empty.")
        return OneGraph(graph.edge_index, graph.edge_weight, graph.x, graph.get("num_nodes"))


def _labels(graphs: Sequence[Any], ids: Sequence[int | str]) -> NDArray[Any]:
    """The label of each graph, None where it has none."""
    labels = np.empty(len(graphs), dtype=object)
    for i, (graph, one) in enumerate(zip(graphs, ids, strict=True)):
        label = _graph_label(graph) if _is_networkx(graph) else graph.y
        if label is None:
            continue
        values = to_numpy(label)
        if values.size != 1:
            raise InputError(
                f"The graph {one!r} has labels of shape {list(values.shape)}, but one label a graph is needed, or none."
            )
        labels[i] = values.reshape(-1)[0]
    return labels


def _graph_label(graph: Any) -> Any:
    return next((graph.graph[key] for key in LABEL_KEYS if key in graph.graph), None)


def _name(obj: Any) -> str | None:
    """What a graph or a data set calls itself."""
    name = getattr(obj, "name", None)
    return name if isinstance(name, str) and name else None
