"""The labels that an embedding is scored against."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError


def labels_of(graph: Data) -> NDArray[np.int64]:
    """The label of every node, ``(n,)``, where ``-1`` means unknown."""
    if getattr(graph, "y", None) is None:
        raise InputError("Evaluation needs labels, and this graph has none: give them as `y` (see the user guide).")
    y = np.asarray(graph.y, dtype=np.int64)
    if y.shape != (graph.num_nodes,):
        raise InputError(f"{graph.num_nodes} nodes need as many labels in one row, not some of shape {y.shape}.")
    return y
