"""Measure embeddings without labels: effective rank, and whether neighbors, or views of one item, are near."""

from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import part
from sfa.evaluate.baselines import BASELINES
from sfa.evaluate.diagnostics import effective_rank
from sfa.evaluate.inputs import MOST_BYTES
from sfa.evaluate.part import embed_rows, is_large
from sfa.evaluate.protocols import Embedder
from sfa.evaluate.protocols.link_prediction import hold_out
from sfa.graph.structure import expand_rowptr, is_stored, row_entries, structure_of
from sfa.matrices import row_chunks, unit_rows
from sfa.nn.sparse import feature_product
from sfa.registry import build
from sfa.sampling.samplers import Graphs, Images
from sfa.tasks import SETTINGS, task_of

QUERIES, NODES, LINKS = 1_000, 10_000, 10_000  # nodes whose nearest are sought, among how many; hidden links at most
HIDDEN, NEAREST = 0.1, 10  # share of the links that are hidden at most; nearest nodes that are looked at
RANK, NEAR, AUC = "effective rank", f"neighbors among {NEAREST} nearest, %", "AUC of hidden links, %"
OF_VIEWS = f"other view among {NEAREST} nearest, %", "AUC of two views, %"  # in place of the last two


def measure_health(
    embed: Embedder, data: Data, *, name: str = "embedding", hide: bool = True, views: Any = None, others: Any = None
) -> tuple[pd.DataFrame, float, int, float]:
    """Measure an embedding beside random ones, the baselines of its task and ``others``, functions by their names.

    Up to a tenth of the links are hidden before features are propagated and nodes are embedded. The AUC is the chance
    that a hidden link has a larger cosine than a pair without a link. Unless links are to ``hide``, there is none.
    Of a set, it is the chance that two ``views`` of one item have a larger cosine than those of two, of embeddings less
    their mean. Returns a table, whose last row is the embedding's, how alike random pairs of embeddings are (1: the
    same), the number of hidden links or of items, and the share of neighbors at most; all of a fixed random sample.
    """
    is_graph = task_of(data) == "node"
    seen, nodes, is_neighbor, pairs, is_link = _sample_links(data, hide) if is_graph else _sample_views(data, views)
    queries = len(is_neighbor)
    count, k = is_neighbor.sum(1).double(), min(NEAREST, len(nodes) - 1)
    per_cent = 100 if is_graph else 100 * k  # of the k nearest, or of the one other view
    found = {"random embedding": (np.nan, float(per_cent * (count / (len(nodes) - 1)).mean()), 50.0)}
    wanted = torch.unique(torch.cat([nodes, pairs.flatten()]))
    nodes, pairs, alike = torch.searchsorted(wanted, nodes), torch.searchsorted(wanted, pairs), np.nan
    for label, make in {**BASELINES[task_of(data)], **(others or {}), name: embed}.items():
        z = embed_rows(make, seen, wanted, whole=make is embed and not hide)
        if 4 * z.shape[0] * z.shape[1] > MOST_BYTES:  # a random projection nearly keeps angles
            z = feature_product(z, torch.randn(z.shape[1], 256, generator=torch.Generator().manual_seed(0)).to(z))
        z, first = z.to_dense().float(), nodes[:QUERIES]
        rows = unit_rows(z[first]) if is_graph else z[first]  # of graphs, which are sums, and images all point one way
        alike = float(torch.linalg.vecdot(rows, rows.roll(1, 0)).mean() / rows.square().sum(1).mean().clamp_min(1e-30))
        unit = unit_rows(z := z if is_graph else z - z.mean(0))
        cosines = (unit[nodes[:queries]] @ unit[nodes].mT).fill_diagonal_(-torch.inf)  # none is its own neighbor
        near = float(per_cent * is_neighbor.gather(1, cosines.topk(k, 1).indices).double().mean())
        of_pairs = [torch.linalg.vecdot(*unit[pairs[:, some]]) for some in row_chunks((pairs.shape[1], z.shape[1]))]
        area = 100 * roc_auc_score(is_link, torch.cat(of_pairs)) if len(is_link) else np.nan
        found[label] = effective_rank(z[first]), near, area
    table = pd.DataFrame.from_dict(found, orient="index", columns=[RANK, *((NEAR, AUC) if is_graph else OF_VIEWS)])
    return table, alike, len(is_link) // 2, float(100 * (count.clamp_max(k) / k).mean())


def _sample_links(graph: Data, hide: bool) -> tuple[Data, Tensor, Tensor, Tensor, Tensor]:
    """Return a graph without some links, nodes, which of them are neighbors, and pairs, of which some are links."""
    seen, pairs, is_link = graph, torch.empty(2, 0, dtype=torch.int64), torch.empty(0)
    if hide and not is_stored(graph) and not is_large(graph):  # a stored graph cannot be without some links
        with suppress(InputError):  # there may be too few links
            share = min(HIDDEN, LINKS / max(1, graph.num_edges // 2)) / 2
            split = hold_out(graph, share, share, most=1, rng=np.random.default_rng(0))
            seen, pairs = split.graph, torch.cat([split.validation.nodes, split.test.nodes], 1)
            is_link = torch.cat([split.validation.is_edge, split.test.is_edge])
    nodes, queries = _sample_nodes(graph)
    structure, is_neighbor = structure_of(graph), torch.zeros(queries, len(nodes), dtype=torch.bool)
    entries, rowptr = row_entries(structure.edge_rowptr, nodes[:queries])
    place = torch.full((graph.num_nodes,), -1)
    place[nodes] = torch.arange(len(nodes))
    col = place[structure.edge_col[entries]]
    is_neighbor[expand_rowptr(rowptr)[col >= 0], col[col >= 0]] = True
    return seen, nodes, is_neighbor, pairs, is_link


def _sample_views(data: Data, views: Any) -> tuple[Data, Tensor, Tensor, Tensor, Tensor]:
    """Return the same of a set: two views of some items, one after the other."""
    generator, is_image = torch.Generator().manual_seed(0), task_of(data) == "image"
    sampler = (Images if is_image else Graphs)(data)
    n = min(QUERIES, sampler.num_seeds, max(2, MOST_BYTES // (32 * data.x[0].numel())) if is_image else QUERIES)
    items = torch.randperm(sampler.num_seeds, generator=generator)[:n].repeat(2)
    views = views or build("augmentation", SETTINGS[task_of(data)]["augmentation"])
    seen = views(sampler.subgraph(items, generator), generator)[1]  # GraphCL leaves the first view as it is
    if isinstance(seen, Tensor):
        seen = Data(x=(255 * seen).round().byte().permute(0, 2, 3, 1).contiguous(), task="image")
    first = torch.arange(n)
    pairs = torch.stack([first.repeat(2), n + torch.cat([first, first.roll(1)])])
    return seen, torch.arange(2 * n), torch.eye(n, 2 * n).roll(n, 1).bool(), pairs, torch.arange(2 * n) < n


def _sample_nodes(graph: Data) -> tuple[Tensor, int]:
    """Draw nodes that have neighbors, whose number is returned, and after them these neighbors and other nodes."""
    structure, generator = structure_of(graph), torch.Generator().manual_seed(0)
    order = torch.rand(graph.num_nodes, generator=generator)
    queries = order.where(structure.edge_rowptr.diff() > 0, 1).argsort()[:QUERIES]
    queries = queries[structure.edge_rowptr.diff()[queries] > 0]
    order[structure.edge_col[row_entries(structure.edge_rowptr, queries)[0]]] -= 1
    order[queries] = -2
    return order.argsort()[: part.NODES if is_large(graph) else NODES], len(queries)
