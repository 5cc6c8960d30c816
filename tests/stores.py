"""Small graphs, written as a store."""

import json
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from sfa.data.store import MANIFEST, StoredGraph, open_store
from sfa.graph.structure import structure_of


def stored(graph: Data, folder: Path, dtype: torch.dtype = torch.float32) -> StoredGraph:
    """Write a graph in memory as a store, and open it."""
    structure = structure_of(graph)
    parts = {"indptr": structure.edge_rowptr, "indices": structure.edge_col, "x": graph.x.to_dense().to(dtype)}
    if graph.edge_weight is not None:
        parts["weights"] = structure.sorted(graph.edge_weight)
    if graph.get("y") is not None:
        parts["y"] = graph.y
    folder.mkdir(exist_ok=True)
    for name, part in parts.items():
        np.save(folder / f"{name}.npy", part.numpy())
    about = {"format": 1, "name": "stored", "files": {f"{name}.npy": {} for name in parts}}
    (folder / MANIFEST).write_text(json.dumps(about))
    opened = open_store(folder)
    opened.store = str(folder)
    return opened
