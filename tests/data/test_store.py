import copy
import json

import numpy as np
import torch

import sfa
from sfa.data.store import open_store
from sfa.graph.structure import structure_of
from sfa.graph.walks import Transitions


def test_a_stored_graph_is_the_one_in_memory(tmp_path):
    data = sfa.data.load("cora")
    structure = structure_of(data)
    parts = {"indptr": structure.edge_rowptr, "indices": structure.edge_col, "x": data.x.to_dense(), "y": data.y}
    for name, part in parts.items():
        np.save(tmp_path / f"{name}.npy", part.numpy())
    files = {f"{name}.npy": {} for name in parts}
    (tmp_path / "graph.json").write_text(json.dumps({"format": 1, "name": "cora", "files": files}))

    stored = copy.copy(open_store(tmp_path))
    nodes = torch.arange(data.num_nodes)
    steps = [Transitions.of(graph).step(nodes, torch.Generator().manual_seed(0)) for graph in (data, stored)]
    assert torch.equal(*steps)
    assert "edge_index" not in stored  # walks read the rows on disk
    assert torch.equal(structure_of(stored).col, structure.col)
    assert torch.equal(structure_of(stored).edge_row, structure.edge_row)
    assert torch.equal(stored.edge_index, data.edge_index)
    assert stored.num_edges == data.num_edges
