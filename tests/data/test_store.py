import copy

import torch

import sfa
from sfa.data.store import open_store
from sfa.data.write_store import write_store
from sfa.graph.structure import structure_of
from sfa.graph.walks import Transitions


def test_a_stored_graph_is_the_one_in_memory(tmp_path):
    data = sfa.data.load("cora")
    structure = structure_of(data)
    write_store(data, tmp_path / "store")
    stored = copy.copy(open_store(tmp_path / "store"))
    nodes = torch.arange(data.num_nodes)
    steps = [Transitions.of(graph).step(nodes, torch.Generator().manual_seed(0)) for graph in (data, stored)]
    assert torch.equal(*steps)
    assert "edge_index" not in stored  # walks read the rows on disk
    assert torch.equal(structure_of(stored).col, structure.col)
    assert torch.equal(structure_of(stored).edge_row, structure.edge_row)
    assert torch.equal(stored.edge_index, data.edge_index)
    assert stored.num_edges == data.num_edges
