"""Measure embeddings of nodes without labels: effective rank, neighbors among the nearest nodes, and hidden links."""

from contextlib import suppress

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from sfa.errors import InputError
from sfa.evaluate.baselines import BASELINES
from sfa.evaluate.diagnostics import effective_rank
from sfa.evaluate.inputs import MOST_BYTES
from sfa.evaluate.protocols import Embedder
from sfa.evaluate.protocols.link_prediction import hold_out
from sfa.graph.structure import csr_structure, row_entries, take_rows
from sfa.matrices import row_chunks, unit_rows
from sfa.nn.sparse import feature_product

QUERIES, NODES, LINKS = 1_000, 10_000, 10_000  # nodes whose nearest are sought, among how many; hidden links at most
HIDDEN, NEAREST = 0.1, 10  # share of the links that are hidden at most; nearest nodes that are looked at
RANK, NEAR, AUC = "effective rank", f"neighbors among {NEAREST} nearest, %", "AUC of hidden links, %"


def measure_health(
    embed: Embedder, graph: Data, *, name: str = "embedding", hide: bool = True
) -> tuple[pd.DataFrame, float, int, float]:
    """Measure an embedding of nodes beside random ones and beside features, raw and propagated.

    Up to a tenth of the links are hidden before features are propagated and nodes are embedded. The AUC is the chance
    that a hidden link has a larger cosine than a pair without a link. Unless links are to ``hide``, there is none.
    Returns a table, whose last row is the embedding's, the mean cosine of random pairs of embeddings, the number of
    hidden links, and the share of neighbors at most; all of a fixed random sample.
    """
    seen, pairs, is_link = graph, torch.empty(2, 0, dtype=torch.int64), torch.empty(0)
    with suppress(InputError):  # there may be too few links
        share = hide * min(HIDDEN, LINKS / max(1, graph.num_edges // 2)) / 2
        split = hold_out(graph, share, share, most=1, rng=np.random.default_rng(0))
        seen, pairs = split.graph, torch.cat([split.validation.nodes, split.test.nodes], 1)
        is_link = torch.cat([split.validation.is_edge, split.test.is_edge])
    nodes, queries = _sample_nodes(graph)
    edges, _ = subgraph(nodes, graph.edge_index, relabel_nodes=True, num_nodes=graph.num_nodes)
    is_neighbor = torch.zeros(queries, len(nodes), dtype=torch.bool)
    is_neighbor[edges[0][edges[0] < queries], edges[1][edges[0] < queries]] = True
    count, k = is_neighbor.sum(1).double(), min(NEAREST, len(nodes) - 1)
    found = {"random embedding": (np.nan, float(100 * (count / (len(nodes) - 1)).mean()), 50.0)}
    wanted = torch.unique(torch.cat([nodes, pairs.flatten()]))
    nodes, pairs, alike = torch.searchsorted(wanted, nodes), torch.searchsorted(wanted, pairs), np.nan
    for label, make in {**BASELINES["node"], name: embed}.items():
        z = take_rows(make(seen), wanted)
        if 4 * z.shape[0] * z.shape[1] > MOST_BYTES:  # a random projection nearly keeps angles
            z = feature_product(z, torch.randn(z.shape[1], 256, generator=torch.Generator().manual_seed(0)).to(z))
        z = z.to_dense().float()
        unit, some = unit_rows(z), nodes[:QUERIES]
        cosines = (unit[nodes[:queries]] @ unit[nodes].mT).fill_diagonal_(-torch.inf)  # none is its own neighbor
        near = float(100 * is_neighbor.gather(1, cosines.topk(k, 1).indices).double().mean())
        of_pairs = [torch.linalg.vecdot(*unit[pairs[:, part]]) for part in row_chunks((pairs.shape[1], z.shape[1]))]
        area = 100 * roc_auc_score(is_link, torch.cat(of_pairs)) if len(is_link) else np.nan
        found[label] = effective_rank(z[some]), near, area
        alike = float(torch.linalg.vecdot(unit[some], unit[some.roll(1)]).mean())
    table = pd.DataFrame.from_dict(found, orient="index", columns=[RANK, NEAR, AUC])
    return table, alike, len(is_link) // 2, float(100 * (count.clamp_max(k) / k).mean())


def _sample_nodes(graph: Data) -> tuple[Tensor, int]:
    """Draw nodes that have neighbors, whose number is returned, and after them these neighbors and other nodes."""
    structure, generator = csr_structure(graph.edge_index, graph.num_nodes), torch.Generator().manual_seed(0)
    order = torch.rand(graph.num_nodes, generator=generator)
    queries = order.where(structure.edge_rowptr.diff() > 0, 1).argsort()[:QUERIES]
    queries = queries[structure.edge_rowptr.diff()[queries] > 0]
    order[structure.edge_col[row_entries(structure.edge_rowptr, queries)[0]]] -= 1
    order[queries] = -2
    return order.argsort()[:NODES], len(queries)
