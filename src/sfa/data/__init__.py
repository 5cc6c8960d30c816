"""Data sets by name, your own files, and graphs in memory -> one checked `torch_geometric.data.Data`.

It is one graph, or (with `ptr`) a set of graphs.
"""

from sfa.data.as_graphs import as_graphs
from sfa.data.block_model import stochastic_block_model
from sfa.data.convert import as_graph
from sfa.data.datasets import DatasetInfo, load, locate, names
from sfa.data.files import read_graph
from sfa.data.fingerprint import fingerprint
from sfa.data.graph import build_graph
from sfa.data.graph_set import build_graphs
from sfa.data.roots import data_root
from sfa.data.structural import NodeFeatures, remark

__all__ = [
    "DatasetInfo",
    "NodeFeatures",
    "as_graph",
    "as_graphs",
    "build_graph",
    "build_graphs",
    "data_root",
    "fingerprint",
    "load",
    "locate",
    "names",
    "read_graph",
    "remark",
    "stochastic_block_model",
]
