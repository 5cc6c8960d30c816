"""Use embeddings: find the most similar items, pairs of nodes that may deserve a link, and clusters."""

from collections.abc import Callable, Sequence
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
from sfa.evaluate.probes.base import ignore_warnings
from sfa.graph.structure import csr_structure
from sfa.matrices import unit_rows
from sfa.ranges import check_whole
from sfa.tasks import Task

ROWS = 256  # nodes that are compared with all others at once
COUNTS = (2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 30)  # numbers of clusters that are tried
SAMPLE = 2_000  # items by which the number of clusters is chosen
MOST_STARTED = 200_000  # items in all starts of k-means, of which there are ten at most


def row_of(ids: Sequence[Any], one: Any, item: Task = "node") -> int:
    """Return the row of an id, which may be given as text; an error for an unknown one names the nearest spelling."""
    texts = [str(known) for known in ids]
    if str(one) not in texts:
        raise unknown_name(item, str(one), texts, shown=10)
    return texts.index(str(one))


def most_similar(z: Tensor, ids: Sequence[Any], one: Any, k: int = 10, *, item: Task = "node") -> pd.DataFrame:
    """Return the ``k`` items whose embeddings have the largest cosine with that of one item, and the cosines."""
    check_whole("k", k, 1)
    row, unit = row_of(ids, one, item), unit_rows(z)
    cosines = unit @ unit[row]
    cosines[row] = -torch.inf
    values, rows = cosines.topk(min(k, len(z) - 1))
    return pd.DataFrame({f"{item}_id": [ids[one] for one in rows.tolist()], "cosine": values.numpy()})


def suggest_links(
    z: Tensor,
    ids: Sequence[Any],
    edge_index: Tensor,
    k: int = 20,
    *,
    kinds: Tensor | None = None,
    on_nodes: Callable[[int], None] = lambda done: None,
) -> pd.DataFrame:
    """Return the ``k`` pairs of nodes without an edge that have the largest cosine, in memory linear in the nodes.

    Args:
        kinds: Numbers ``(n,)`` of two kinds of nodes, if only nodes of different kinds can be linked.
        on_nodes: Is called with the number of nodes that are done.
    """
    check_whole("k", k, 1)
    unit, structure = unit_rows(z), csr_structure(edge_index, len(z))
    rowptr, neighbor = structure.edge_rowptr, structure.edge_col
    best, pairs = torch.empty(0), torch.empty(2, 0, dtype=torch.int64)
    for start in range(0, len(z), ROWS):
        stop = min(start + ROWS, len(z))
        cosines = (unit[start:stop] @ unit[start:].mT).float()  # (rows, n - start): each pair once
        cosines.masked_fill_(torch.ones(cosines.shape, dtype=torch.bool).tril(), -torch.inf)
        linked = neighbor[rowptr[start] : rowptr[stop]] - start
        row = torch.repeat_interleave(torch.arange(stop - start), rowptr[start : stop + 1].diff())
        cosines[row[linked >= 0], linked[linked >= 0]] = -torch.inf
        if kinds is not None:
            cosines.masked_fill_(kinds[start:stop, None] == kinds[None, start:], -torch.inf)
        values, places = cosines.flatten().topk(min(k, cosines.numel()))
        found = torch.stack([places // cosines.shape[1], places % cosines.shape[1]]) + start
        best, order = torch.cat([best, values]).topk(min(k, len(best) + len(values)))
        pairs = torch.cat([pairs, found], 1)[:, order]
        on_nodes(stop)
    best, pairs = best[best.isfinite()], pairs[:, best.isfinite()]
    around = [[set(neighbor[rowptr[one] : rowptr[one + 1]].tolist()) for one in pair] for pair in pairs.mT]
    source, target = ([ids[one] for one in side] for side in pairs.tolist())
    common = [len(one & other) for one, other in around]
    return pd.DataFrame({"source": source, "target": target, "cosine": best.numpy(), "common neighbors": common})


def cluster(z: Tensor, k: int | None = None) -> tuple[NDArray[np.int64], float]:
    """Cluster embeddings, scaled to length one, by k-means; return the clusters, the largest first, and a silhouette.

    By default the number of clusters has the largest silhouette on a sample of at most 2,000 items.
    """
    if k is not None:
        check_whole("k", k, 2)
    if len(z) < max(3, k or 0):
        raise InputError(f"{len(z)} items are too few to be in {k or 2} clusters.")
    rows = unit_rows(z).float().numpy()
    sample = rows[np.random.default_rng(0).permutation(len(rows))[:SAMPLE]]

    def fit(count: int, starts: int, x: NDArray[np.float32]) -> NDArray[np.int64]:
        found: NDArray[np.int64] = KMeans(count, n_init=starts, random_state=0).fit_predict(x)
        return found

    def silhouette(labels: NDArray[np.int64]) -> float:
        several = 1 < len(np.unique(labels)) < len(sample)
        return float(silhouette_score(sample, labels)) if several else -1.0

    with ignore_warnings(), threadpool_limits(1):
        k = k or max((c for c in COUNTS if c < len(sample)), key=lambda c: silhouette(fit(c, 2, sample)))
        labels = fit(k, min(10, max(1, MOST_STARTED // len(rows))), rows)
    order = np.argsort(-np.bincount(labels, minlength=k), kind="stable")
    labels = np.argsort(order)[labels]
    return labels, silhouette(labels[np.random.default_rng(0).permutation(len(rows))[:SAMPLE]])
