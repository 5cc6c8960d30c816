"""Measure embeddings without labels: effective rank, graph neighbors among the nearest nodes, and hidden links."""

from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import subgraph

from sfa.errors import InputError
from sfa.evaluate.baselines import narrowed, propagated_features
from sfa.evaluate.diagnostics import effective_rank
from sfa.evaluate.protocols import Embedder
from sfa.evaluate.protocols.link_prediction import hold_out
from sfa.graph.structure import csr_structure, row_entries, take_rows
from sfa.matrices import row_chunks, unit_rows
from sfa.tasks import num_items, task_of

QUERIES, NODES, LINKS = 1_000, 10_000, 10_000  # nodes whose nearest are sought, among how many; hidden links at most
HIDDEN = 0.1  # of all links at most
NEAREST = 10
RANK, NEAR, AUC = "effective rank", f"neighbors among {NEAREST} nearest, %", "AUC of hidden links, %"
PROPAGATED = "propagated features"


class Measured(NamedTuple):
    """What was measured of embeddings, on a fixed random sample."""

    table: pd.DataFrame  # columns RANK, NEAR, AUC; the last row is the embedding's; NaN where there is nothing to say
    alike: float  # mean cosine of random pairs of embeddings
    links: int  # links that were hidden
    most: float  # the largest possible NEAR


def measure_health(embed: Embedder, data: Data, *, name: str = "embedding", hide: bool = True) -> Measured:
    """Measure an embedding of nodes beside features, raw and propagated, and random embeddings.

    Up to a tenth of the links are hidden before features are propagated and nodes are embedded. The AUC is the chance
    that a hidden link has a larger cosine than a pair of nodes without a link. Of sets of graphs and images, the
    effective rank alone is measured.

    Args:
        name: Of the embedding, in the table.
        hide: Hide links; without it, for methods that embed no other graph, there is no AUC.
    """
    generator = torch.Generator().manual_seed(0)
    if task_of(data) != "node":
        rows = embed(data)[torch.randperm(num_items(data), generator=generator)[:QUERIES]]
        return Measured(_table({name: (effective_rank(rows), np.nan, np.nan)}), _alike(rows), 0, np.nan)
    seen, pairs, is_link = _hide_links(data) if hide else (data, torch.empty(2, 0, dtype=torch.int64), torch.empty(0))
    nodes, queries = _sample_nodes(data, generator)
    edges, _ = subgraph(nodes, data.edge_index, relabel_nodes=True, num_nodes=data.num_nodes)
    edges = edges[:, edges[0] < queries]
    is_neighbor = torch.zeros(queries, len(nodes), dtype=torch.bool)
    is_neighbor[edges[0], edges[1]] = True
    wanted = torch.unique(torch.cat([nodes, pairs.flatten()]))
    nodes, pairs = torch.searchsorted(wanted, nodes), torch.searchsorted(wanted, pairs)
    makers: dict[str, Callable[[], Tensor]] = {
        "raw features": lambda: narrowed(take_rows(data.x, wanted)).to_dense().float(),
        PROPAGATED: lambda: propagated_features(seen, wanted),
        name: lambda: embed(seen)[wanted],
    }
    near, k, alike = is_neighbor.sum(1).double(), min(NEAREST, len(nodes) - 1), np.nan
    by_chance, most = (float(100 * share.mean()) for share in (near / (len(nodes) - 1), near.clamp_max(k) / k))
    found = {"random embedding": (np.nan, by_chance, 50.0 if len(is_link) else np.nan)}
    for label, make in makers.items():
        z = make()
        unit, rows = unit_rows(z), z[nodes[:QUERIES]]
        cosines = unit[nodes[:queries]] @ unit[nodes].mT
        nearest = cosines.fill_diagonal_(-torch.inf).topk(k, 1).indices  # no node is its own neighbor
        share = float(100 * is_neighbor.gather(1, nearest).double().mean())
        of_pairs = [torch.linalg.vecdot(*unit[pairs[:, some]]) for some in row_chunks((pairs.shape[1], z.shape[1]))]
        area = 100 * roc_auc_score(is_link, torch.cat(of_pairs)) if len(is_link) else np.nan
        found[label], alike = (effective_rank(rows), share, area), _alike(rows)
    return Measured(_table(found), alike, len(is_link) // 2, most)


def _table(found: dict[str, tuple[float, float, float]]) -> pd.DataFrame:
    return pd.DataFrame.from_dict(found, orient="index", columns=[RANK, NEAR, AUC])


def _alike(rows: Tensor) -> float:
    return float(torch.linalg.vecdot(*(unit_rows(half) for half in (rows, rows.roll(1, 0)))).mean())


def _hide_links(graph: Data) -> tuple[Data, Tensor, Tensor]:
    """Return a graph without some links, and pairs of nodes ``(2, m)``: these links and as many that are none."""
    count = max(1, graph.num_edges // 2)
    share = min(HIDDEN, LINKS / count) / 2
    with suppress(InputError):  # there are too few links
        split = hold_out(graph, share, share, most=1, rng=np.random.default_rng(0))
        pairs, is_link = zip(split.validation, split.test, strict=True)
        return split.graph, torch.cat(pairs, 1), torch.cat(is_link)
    return graph, torch.empty(2, 0, dtype=torch.int64), torch.empty(0)


def _sample_nodes(graph: Data, generator: torch.Generator) -> tuple[Tensor, int]:
    """Draw nodes that have links, whose number is returned, then their neighbors and other nodes in random order."""
    structure, n = csr_structure(graph.edge_index, graph.num_nodes), graph.num_nodes
    order = torch.randperm(n, generator=generator)
    queries = order[structure.edge_rowptr.diff()[order] > 0][:QUERIES]
    near = torch.unique(structure.edge_col[row_entries(structure.edge_rowptr, queries)[0]])
    near = near[torch.randperm(len(near), generator=generator)]
    others = torch.from_numpy(pd.unique(torch.cat([queries, near, order]).numpy())[len(queries) : NODES])
    return torch.cat([queries, others[torch.randperm(len(others), generator=generator)]]), len(queries)
