"""Batches of small random graphs, and what every view of one must be."""

from __future__ import annotations

import networkx as nx
import numpy as np
import torch
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

WIDTH = 3


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def to_data(graph: nx.Graph, weighted: bool = False) -> Data:
    """A graph whose nodes are 0, 1, …; features are the node's number and noise, weights a function of the two ends."""
    n = graph.number_of_nodes()
    pairs = sorted([*graph.edges, *((b, a) for a, b in graph.edges)])
    x = torch.cat([torch.arange(n)[:, None].float(), torch.randn(n, WIDTH - 1, generator=seeded(n))], dim=1)
    data = Data(x=x, edge_index=torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).T.contiguous(), num_nodes=n)
    if weighted:
        data.edge_weight = 1 + data.edge_index.sum(0) + data.edge_index.prod(0).float()
    return data


def to_batch(graphs: list[nx.Graph], weighted: bool = False) -> Data:
    return Batch.from_data_list([to_data(graph, weighted) for graph in graphs])


def random_graphs(seed: int, sizes: list[int], density: float = 0.3) -> list[nx.Graph]:
    rng = np.random.default_rng(seed)
    return [nx.gnp_random_graph(n, density, seed=int(rng.integers(2**31))) for n in sizes]


@st.composite
def batches(draw: st.DrawFn) -> Data:
    """Graphs of 0 to 9 nodes, from none of the edges to all of them, weighted or not."""
    sizes = draw(st.lists(st.integers(0, 9), min_size=1, max_size=6))
    density = draw(st.sampled_from([0.0, 0.2, 0.5, 0.9, 1.0]))
    return to_batch(random_graphs(draw(st.integers(0, 2**31)), sizes, density), draw(st.booleans()))


def mixed_batch(weighted: bool = False) -> Data:
    """A tree, a graph without nodes, a single node, nodes without edges, two components, and a complete graph."""
    two = nx.disjoint_union(nx.path_graph(7), nx.cycle_graph(4))
    graphs = [
        nx.balanced_tree(2, 3),
        nx.empty_graph(0),
        nx.empty_graph(1),
        nx.empty_graph(5),
        two,
        nx.complete_graph(6),
    ]
    return to_batch(graphs, weighted)


def single_graphs(batch: Data) -> list[nx.Graph]:
    """Each graph for itself, its nodes named by the first column of ``x``, with their rows, and edges with weights."""
    parts = []
    weight = batch.get("edge_weight")
    for g in range(len(batch.ptr) - 1):
        graph, first, stop = nx.Graph(), int(batch.ptr[g]), int(batch.ptr[g + 1])
        for v in range(first, stop):
            graph.add_node(int(batch.x[v, 0]), x=batch.x[v])
        for e, (a, b) in enumerate(batch.edge_index.T.tolist()):
            if first <= a < stop:
                value = None if weight is None else float(weight[e])
                graph.add_edge(int(batch.x[a, 0]), int(batch.x[b, 0]), weight=value)
        parts.append(graph)
    return parts


def assert_sound(view: Data, batch: Data) -> None:
    """As many graphs; ptr and batch agree; edges inside graphs, sorted, distinct, in both directions, no loops."""
    assert len(view.ptr) == len(batch.ptr)
    assert view.ptr[0] == 0
    assert view.ptr[-1] == view.num_nodes == len(view.x) == len(view.batch)
    sizes = view.ptr.diff()
    assert (sizes >= 0).all()
    assert torch.equal(view.batch, torch.arange(len(sizes)).repeat_interleave(sizes))
    row, col = view.edge_index
    assert torch.equal(view.batch[row], view.batch[col])
    assert (row != col).all()
    keys = row * view.num_nodes + col
    assert (keys.diff() > 0).all()
    mirrored, order = (col * view.num_nodes + row).sort()
    assert torch.equal(mirrored, keys)
    assert ("edge_weight" in view) == ("edge_weight" in batch)
    if "edge_weight" in view:
        assert torch.equal(view.edge_weight, view.edge_weight[order])


def sizes_of(batch: Data) -> list[int]:
    sizes: list[int] = batch.ptr.diff().tolist()
    return sizes


def copies_of(graph: nx.Graph, copies: int) -> Data:
    """A batch of so many copies of one graph."""
    one = to_data(graph)
    n, number = one.num_nodes, torch.arange(copies)
    return Data(
        x=one.x.repeat(copies, 1),
        edge_index=(one.edge_index[:, None, :] + n * number[:, None]).reshape(2, -1),
        ptr=n * torch.arange(copies + 1),
        batch=number.repeat_interleave(n),
        num_nodes=n * copies,
    )


def subset_number(nodes: list[int]) -> int:
    """A number for a set of nodes."""
    return sum(1 << node for node in nodes)
