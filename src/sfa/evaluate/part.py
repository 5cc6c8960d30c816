"""Some nodes of a graph that is too large to embed all of it for a page or a table."""

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.data.labels import MASKS
from sfa.evaluate.protocols import Embedder
from sfa.graph.structure import structure_of, take_rows
from sfa.sampling.samplers import Neighbors
from sfa.tasks import task_of

LARGE, NODES = 1_000_000, 5_000  # nodes of which more are not all embedded; those that are embedded then
FANOUTS = (8, 4)


def is_large(data: Data) -> bool:
    """Return whether only some of the nodes are embedded where all are not needed."""
    return task_of(data) == "node" and data.num_nodes > LARGE


def remark_on_part(data: Data, *, whole: bool = False) -> str:
    """Return the sentence that goes with results of some nodes of a large graph."""
    near = f"{FANOUTS[0]} random neighbors of each and {FANOUTS[1]} of each of those"
    how = "" if whole else f", whose embeddings here are of {near}"
    return f"Shown are {NODES} of the {data.num_nodes} nodes{how}."


def embed_rows(embed: Embedder, data: Data, rows: Tensor, *, whole: bool = False) -> Tensor:
    """Return the embeddings of some distinct nodes; of a large graph, only what is near them is embedded.

    ``whole`` is for a method that has learned the nodes and embeds no part of their graph.
    """
    if whole or not is_large(data):
        return take_rows(embed(data), rows)
    near = Neighbors(data, fanouts=FANOUTS).batch(rows, torch.Generator().manual_seed(0))
    near.x = near.x.float()
    return take_rows(embed(near), torch.arange(len(rows)))


def cut_rows(data: Data, rows: Tensor) -> Data:
    """Return the nodes of these rows with labels, masks, names and ``degree``, but no edges."""
    named = {key: data.get(key) for key in ("y", *MASKS)}
    part = Data(**{key: value[rows] for key, value in named.items() if value is not None}, task="node")
    ids = data.get("node_ids")
    part.node_ids = rows.tolist() if ids is None else [ids[row] for row in rows.tolist()]
    part.class_names, part.num_nodes = data.get("class_names"), len(rows)
    part.degree = structure_of(data).edge_rowptr.diff()[rows]
    return part
