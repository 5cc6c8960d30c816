"""Use embeddings: find the most similar items, pairs of nodes that may deserve a link, and clusters."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score
from threadpoolctl import threadpool_limits
from torch import Tensor

from sfa.errors import InputError, unknown_name
from sfa.evaluate.inputs import MANY
from sfa.evaluate.kmeans import cluster_by_batches
from sfa.evaluate.probes.base import BATCH_NUMBERS, ignore_warnings
from sfa.graph.structure import CSRStructure, csr_structure, row_entries
from sfa.matrices import row_chunks, unit_rows
from sfa.ranges import check_whole
from sfa.tasks import Task

ROWS = 256  # nodes that are compared with all others at once, or fewer of a large graph
NEAR, PROBES = 32, 16  # nodes near to one that an approximate search finds at most; lists of its index that it reads
COUNTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30)  # numbers of clusters that are tried
SAMPLE = 2_000  # items by which the number of clusters is chosen
MOST_STARTED = 200_000  # items in all starts of k-means, of which there are ten at most


def row_of(ids: Sequence[Any], one: Any, item: Task = "node") -> int:
    """Return the row of an id, which may be given as text; an error for an unknown one names the nearest spelling."""
    row = next((row for row, known in enumerate(ids) if str(known) == str(one)), None)
    if row is None:
        raise unknown_name(item, str(one), map(str, ids[:MANY]), shown=10)
    return row


def most_similar(z: Tensor, ids: Sequence[Any], one: Any, k: int = 10, *, item: Task = "node") -> pd.DataFrame:
    """Return the ``k`` items whose embeddings have the largest cosine with that of one item, and the cosines.

    Embeddings may be float16 and lie in a file; they are read in pieces.
    """
    check_whole("k", k, 1)
    row = row_of(ids, one, item)
    (query,) = _unit(z, slice(row, row + 1))
    cosines = query.new_empty(len(z))
    for rows in row_chunks(tuple(z.shape)):  # a list of results would lie between the pieces, and keep their memory
        cosines[rows] = _unit(z, rows) @ query
    cosines[row] = -torch.inf
    values, found = cosines.topk(min(k, len(z) - 1))
    return pd.DataFrame({f"{item}_id": [ids[one] for one in found.tolist()], "cosine": values.numpy()})


def suggest_links(
    z: Tensor,
    ids: Sequence[Any],
    edge_index: Tensor | CSRStructure,
    k: int = 20,
    *,
    kinds: Tensor | None = None,
    approximate: bool = False,
    on_nodes: Callable[[int], None] = lambda done: None,
) -> pd.DataFrame:
    """Return the ``k`` pairs of nodes without an edge that have the largest cosine, in memory linear in the nodes.

    Args:
        edge_index: The edges of the graph, or its structure.
        kinds: Numbers ``(n,)`` of two kinds of nodes, if only nodes of different kinds can be linked.
        approximate: Compare each node only with those that an index of the package faiss finds near it.
        on_nodes: Is called with the number of nodes that are done.
    """
    check_whole("k", k, 1)
    structure = edge_index if isinstance(edge_index, CSRStructure) else csr_structure(edge_index, len(z))
    rowptr, neighbor = structure.edge_rowptr, structure.edge_col
    search = _near_pairs if approximate else _all_pairs
    best, pairs = torch.empty(0), torch.empty(2, 0, dtype=torch.int64)
    for stop, values, found in search(z, structure, k, kinds):
        best, pairs = torch.cat([best, values]), torch.cat([pairs, found], 1)
        best, order = best.topk(min(k, len(best)))
        pairs = pairs[:, order]
        on_nodes(stop)
    best, pairs = best[best.isfinite()], pairs[:, best.isfinite()]
    around = [[set(neighbor[rowptr[one] : rowptr[one + 1]].tolist()) for one in pair] for pair in pairs.mT]
    source, target = ([ids[one] for one in side] for side in pairs.tolist())
    common = [len(one & other) for one, other in around]
    return pd.DataFrame({"source": source, "target": target, "cosine": best.numpy(), "common neighbors": common})


Pairs = Iterator[tuple[int, Tensor, Tensor]]  # how many nodes are done; cosines and nodes of new pairs, each pair once


def _all_pairs(z: Tensor, structure: CSRStructure, k: int, kinds: Tensor | None) -> Pairs:
    """Compare some nodes with all others at a time, and yield the best pairs of them."""
    unit, rowptr, neighbor = _unit(z, slice(None)), structure.edge_rowptr, structure.edge_col
    step = max(1, min(ROWS, BATCH_NUMBERS // len(z)))
    for start in range(0, len(z), step):
        stop = min(start + step, len(z))
        cosines = (unit[start:stop] @ unit[start:].mT).float()  # (rows, n - start): each pair once
        cosines.masked_fill_(torch.ones(cosines.shape, dtype=torch.bool).tril(), -torch.inf)
        linked = neighbor[rowptr[start] : rowptr[stop]] - start
        row = torch.repeat_interleave(torch.arange(stop - start), rowptr[start : stop + 1].diff())
        cosines[row[linked >= 0], linked[linked >= 0]] = -torch.inf
        if kinds is not None:
            cosines.masked_fill_(kinds[start:stop, None] == kinds[None, start:], -torch.inf)
        values, places = cosines.flatten().topk(min(k, cosines.numel()))
        yield stop, values, torch.stack([places // cosines.shape[1], places % cosines.shape[1]]) + start


def _near_pairs(z: Tensor, structure: CSRStructure, k: int, kinds: Tensor | None) -> Pairs:
    """Compare nodes with those of the nearest lists of an inverted index, and yield the best pairs of them.

    Of fewer than ``MANY`` nodes there is one list, with all of them.
    """
    try:
        import faiss
    except ImportError:
        raise InputError("An approximate search needs faiss: install it with pip install 'sfa[ann]'.") from None
    n, lists = len(z), 1 if len(z) < MANY else 4 * math.isqrt(len(z))
    faiss.omp_set_num_threads(torch.get_num_threads())
    index = faiss.index_factory(z.shape[1], f"IVF{lists},SQfp16", faiss.METRIC_INNER_PRODUCT)
    sample = torch.randperm(n, generator=torch.Generator().manual_seed(0))[: 64 * lists].sort().values
    index.train(_unit(z, sample).float().numpy())
    chunks = list(row_chunks(tuple(z.shape)))
    for chunk in chunks:
        index.add(_unit(z, chunk).float().numpy())
    faiss.ParameterSpace().set_index_parameter(index, "nprobe", PROBES)
    for chunk in chunks:
        near = torch.from_numpy(index.search(_unit(z, chunk).float().numpy(), min(n, NEAR))[1])
        row = (torch.arange(len(near)) + chunk.start)[:, None].expand_as(near)
        found = torch.stack([row[near > row], near[near > row]])  # each pair once
        entries, rowptr = row_entries(structure.edge_rowptr, row[:, 0])
        linked = (row[:, 0] * n).repeat_interleave(rowptr.diff()) + structure.edge_col[entries]
        is_new = ~torch.isin(found[0] * n + found[1], linked)
        if kinds is not None:
            is_new &= kinds[found[0]] != kinds[found[1]]
        found = found[:, is_new]
        cosines = torch.linalg.vecdot(_unit(z, found[0]), _unit(z, found[1])).float()
        values, best = cosines.topk(min(k, len(cosines)))
        yield min(chunk.stop, n), values, found[:, best]


def _unit(z: Tensor, rows: slice | Tensor) -> Tensor:
    """Return some rows scaled to length one, in float32 at least."""
    return unit_rows(z[rows].to(torch.promote_types(z.dtype, torch.float32)))


def cluster(z: Tensor, k: int | None = None) -> tuple[NDArray[np.int64], float]:
    """Cluster embeddings, scaled to length one, by k-means; return the clusters, the largest first, and a silhouette.

    By default the number of clusters has the largest silhouette on a sample of at most 2,000 items. Many embeddings are
    read in pieces (:func:`~sfa.evaluate.kmeans.cluster_by_batches`); they may be float16 and lie in a file.
    """
    if k is not None:
        check_whole("k", k, 2)
    if len(z) < max(3, k or 0):
        raise InputError(f"{len(z)} items are too few to be in {k or 2} clusters.")
    chosen = np.random.default_rng(0).permutation(len(z))[:SAMPLE]
    sample = _unit(z, torch.from_numpy(chosen)).float().numpy()

    def fit(count: int, starts: int, x: NDArray[np.float32]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = KMeans(count, n_init=starts, random_state=0).fit_predict(x)
        return found

    def silhouette(labels: NDArray[np.int64]) -> float:
        several = 1 < len(np.unique(labels)) < len(sample)
        return float(silhouette_score(sample, labels)) if several else -1.0

    with ignore_warnings(), threadpool_limits(1):
        k = k or max((c for c in COUNTS if c < len(sample)), key=lambda c: silhouette(fit(c, 2, sample)))
        if len(z) > MANY:
            labels = cluster_by_batches(z, np.arange(len(z)), k, starts=10, random=np.random.RandomState(0))
        else:
            rows = _unit(z, slice(None)).float().numpy()
            labels = fit(k, min(10, max(1, MOST_STARTED // len(rows))), rows)
    order = np.argsort(-np.bincount(labels, minlength=k), kind="stable")
    labels = np.argsort(order)[labels]
    return labels, silhouette(labels[chosen])
