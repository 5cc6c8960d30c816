"""GML and GraphML files, read by NetworkX."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfa.data.convert import networkx_arrays
from sfa.data.readers.tables import Parts, parse_ids


def read_networkx(path: Path) -> Parts:
    """Node attributes `x` or `features` and `y` or `label`, edge attribute `weight`.

    In GML the attribute `label` names the node, so the class is `y` there. GraphML has no lists: features are written
    as one text, such as "0.5 1 0" or "[0.5, 1, 0]".
    """
    import networkx as nx

    try:
        arrays = networkx_arrays(_read_gml(path) if path.suffix.lower() == ".gml" else nx.read_graphml(path))
    except nx.NetworkXException as error:
        raise ValueError(str(error)) from error
    return Parts(
        edges=arrays.edges,
        edge_weight=arrays.edge_weight,
        x=arrays.x,
        y=arrays.y,
        node_ids=list(parse_ids(arrays.node_ids)),
        num_nodes=len(arrays.node_ids),
    )


def _read_gml(path: Path) -> Any:
    import networkx as nx

    try:
        return nx.read_gml(path)
    except nx.NetworkXError as error:
        if "label" not in str(error):
            raise
        return nx.read_gml(path, label="id")  # a GML file need not name its nodes
