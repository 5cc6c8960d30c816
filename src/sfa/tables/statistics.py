"""Table 11, the statistics of the data sets: counted from the data themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files

import torch
from torch_geometric.data import Data

from sfa.tables.ask import Ask
from sfa.tables.commands import table_command
from sfa.tables.definition import title_of
from sfa.tables.facts import fact, facts_table
from sfa.tables.model import Cell, Table

NUMBER = 11
DATASETS = ("computers", "photo", "wikics", "cora", "citeseer")
MORE_DATASETS = ("pubmed", "ogbn-arxiv", "coauthor-cs", "coauthor-physics")
Counts = Mapping[str, int]
"""Edges, nodes, attributes and classes of a graph."""


def count(graph: Data) -> dict[str, int]:
    """The statistics of one graph; an edge is a pair of nodes, whichever way and however often it is given."""
    low, high = graph.edge_index.min(0).values, graph.edge_index.max(0).values
    pairs = torch.unique(low[low < high] * graph.num_nodes + high[low < high])
    return {
        "edges": len(pairs),
        "nodes": int(graph.num_nodes),
        "attributes": int(graph.num_features),
        "classes": len(torch.unique(graph.y[graph.y >= 0])),
    }


@cache
def shipped_counts() -> dict[str, dict[str, int]]:
    """Counts that came with sfa, by data set."""
    file = files("sfa.tables").joinpath("measured/counts.json")
    found: dict[str, dict[str, int]] = json.loads(file.read_text(encoding="utf-8"))
    return found


def statistics_table(counted: Mapping[str, Counts], ask: Ask, more: Sequence[str] = ()) -> Table:
    """The table with counts by data set, of those asked for or of all that there are; ``more`` words end commands."""
    shown = ask.datasets or (*DATASETS, *(name for name in MORE_DATASETS if name in counted))
    missing = [name for name in shown if name not in counted]

    def value_of(name: str, column: str) -> Cell | None:
        if column == "type":
            return None
        if name not in counted:
            return Cell(command=table_command(NUMBER, Ask(datasets=(name,)), ("--run", *more)))
        return fact(counted[name][column], source="counted", metric=column)

    return facts_table(
        NUMBER,
        value_of,
        rows=shown,
        ours={name: title_of(name) for name in shown if name not in DATASETS},
        notes=("Ours are counted from the data as sfa loads them, undirected, without loops and repetitions.",),
        command=table_command(NUMBER, ask),
        commands=[table_command(NUMBER, Ask(datasets=tuple(missing)), ("--run", *more))] if missing else [],
    )
