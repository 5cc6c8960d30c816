"""What a run's embeddings say: the most similar items, links that may be missing, and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.inputs import MANY
from sfa.explore import cluster, most_similar, row_of, suggest_links
from sfa.graph.structure import row_entries, structure_of
from sfa.matrices import unit_rows
from sfa.run.display import Display, Rows, Shown
from sfa.run.source import recorded_source
from sfa.tasks import item_word, num_items, task_of

if TYPE_CHECKING:
    from sfa.run.run import Run

UNCLEAR = 0.1  # silhouette below which clusters are not apart


@dataclass(frozen=True, repr=False)
class Found(Shown):
    """What was found, as a data frame, of which a summary may be shown instead."""

    frame: pd.DataFrame
    remarks: Sequence[str] = ()
    summary: pd.DataFrame | None = None
    texts: int = 1

    def table(self) -> tuple[Sequence[str], Rows]:
        shown = self.frame if self.summary is None else self.summary
        digits = {"cosine": "{:.3f}", "links inside, %": "{:.1f}"}
        columns = [shown[name].map(digits.get(name, "{}").format) for name in shown.columns]
        return list(shown.columns), list(zip(*columns, strict=True))

    def notes(self) -> list[str]:
        return list(self.remarks)


def neighbors(run: Run, one: Any, k: int = 10) -> Found:
    """Find the items most similar to one of a run, which is given by its id."""
    task = task_of(run.data)
    ids = run.data[f"{task}_ids"]
    row = row_of(ids, one, task)  # before anything is embedded
    frame = most_similar(run.embedding(), ids, one, k, item=task)
    if task == "node":
        structure = structure_of(run.data)
        linked = structure.edge_col[structure.edge_rowptr[row] : structure.edge_rowptr[row + 1]].tolist()
        frame["linked"] = np.where(frame["node_id"].isin([ids[other] for other in linked]), "yes", "no")
    return Found(frame, [f"Most similar to {task} {ids[row]}, by the cosine of embeddings."])


def missing_links(run: Run, k: int = 20, *, approximate: bool = False, display: Display | None = None) -> Found:
    """Find the pairs of nodes of a run that are most similar and not linked; in a bipartite graph, of both kinds."""
    if task_of(run.data) != "node":
        raise InputError(f"Links are suggested between the nodes of one graph; this is a set of {item_word(run.data)}.")
    ids, kinds, n = run.data.node_ids, None, num_items(run.data)
    if recorded_source(run.folder).bipartite:
        kinds = torch.from_numpy(np.unique([str(one).partition(":")[0] for one in ids], return_inverse=True)[1])
    with (display or Display(quiet=True)).progress("comparing nodes", n) as tracker:
        how: dict[str, Any] = {"kinds": kinds, "approximate": approximate, "on_nodes": tracker.step}
        frame = suggest_links(run.embedding(), ids, structure_of(run.data), k, **how)
    remark = "Pairs without an edge, by the cosine of their embeddings."
    return Found(frame, [remark if len(frame) else "Every pair of nodes has an edge."], texts=2)


def clusters(run: Run, k: int | None = None) -> Found:
    """Cluster the items of a run by k-means; the summary has each cluster's size and most typical members."""
    z, task, items = run.embedding(), task_of(run.data), item_word(run.data)
    ids = run.data[f"{task}_ids"]
    labels, silhouette = cluster(z, k)
    inside, rows = _links_inside(run.data, labels) if task == "node" else None, []
    for number in range(labels.max() + 1):
        members = np.flatnonzero(labels == number)
        some = members[:: -(-len(members) // MANY)]
        unit = unit_rows(z[some])
        near = unit @ unit.mean(0)
        typical = ", ".join(str(ids[some[i]]) for i in near.topk(min(5, len(some))).indices)
        links = {} if inside is None else {"links inside, %": inside[number]}
        rows.append({"cluster": str(number), items: len(members), **links, f"most typical {items}": typical})
    chosen = " (their number has the largest)" if k is None else ""
    remarks = [f"k-means of embeddings of length one; silhouette {silhouette:.2f}{chosen}, where 1 is far apart."]
    if silhouette < UNCLEAR:
        remarks.append("The clusters are hardly apart: other numbers of clusters may be as good, or there are none.")
    return Found(pd.DataFrame({f"{task}_id": list(ids), "cluster": labels}), remarks, pd.DataFrame(rows))


def _links_inside(graph: Data, labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return what per cent of the edges of each cluster's nodes stay inside of it; edges are read in pieces."""
    structure, of_node, k = structure_of(graph), torch.from_numpy(labels), labels.max() + 1
    inside, total = torch.zeros(2, k, dtype=torch.int64)
    for nodes in torch.split(torch.arange(len(labels)), MANY):
        entries, rowptr = row_entries(structure.edge_rowptr, nodes)
        own = of_node[nodes].repeat_interleave(rowptr.diff())
        total += own.bincount(minlength=k)
        inside += own[own == of_node[structure.edge_col[entries]]].bincount(minlength=k)
    share: NDArray[np.float64] = (100 * inside.double() / total.clamp_min(1)).numpy()
    return share
