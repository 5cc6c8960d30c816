"""Read data sets by name, files, and objects in memory as one checked PyG `Data`: a graph, graph set or image set."""

from sfa.data.block_model import stochastic_block_model
from sfa.data.convert import as_graph, as_graphs
from sfa.data.downloads import NamedDataset as DatasetInfo
from sfa.data.fingerprint import fingerprint
from sfa.data.graph import build_graph, build_graphs
from sfa.data.images import as_images, build_images
from sfa.data.load import find, load, locate, names
from sfa.data.readers.graph import read_graph
from sfa.data.readers.image_folder import left_out_remark
from sfa.data.structural import NodeFeatures, remark
from sfa.folders import data_root

__all__ = [
    "DatasetInfo",
    "NodeFeatures",
    "as_graph",
    "as_graphs",
    "as_images",
    "build_graph",
    "build_graphs",
    "build_images",
    "data_root",
    "find",
    "fingerprint",
    "left_out_remark",
    "load",
    "locate",
    "names",
    "read_graph",
    "remark",
    "stochastic_block_model",
]
