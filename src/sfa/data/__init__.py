"""Read data sets by name, files, and objects in memory as one checked PyG `Data`: a graph, graph set or image set."""

# isort: off
from sfa.data.arrays import fingerprint as fingerprint
from sfa.data.block_model import stochastic_block_model as stochastic_block_model
from sfa.data.convert import as_graph as as_graph, as_graphs as as_graphs, from_pandas as from_pandas
from sfa.data.convert_tables import convert_to_store as convert_to_store
from sfa.data.downloads import DatasetInfo as DatasetInfo
from sfa.data.graph import build_graph as build_graph, build_graphs as build_graphs
from sfa.data.images import as_images as as_images, build_images as build_images
from sfa.data.load import find as find, load as load, locate as locate, names as names
from sfa.data.readers.edge_list import EdgeColumns as EdgeColumns, describe as describe
from sfa.data.readers.graph import read_graph as read_graph
from sfa.data.readers.image_folder import left_out_remark as left_out_remark
from sfa.data.readers.molecules import from_smiles as from_smiles
from sfa.data.store import open_store as open_store
from sfa.data.structural import NodeFeatures as NodeFeatures, remark as remark
from sfa.data.write_store import write_store as write_store
from sfa.folders import data_root as data_root
