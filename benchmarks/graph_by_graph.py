"""A straightforward GraphCL that goes graph by graph: what our speed on many small graphs is measured against.

A list of graphs in PyTorch Geometric's DataLoader, each augmented alone when it is fetched, GINConv layers and a matrix
of similarities: the same model and loss as ours, with augmentations in three manners.

- As in GraphCL's repository: a dense adjacency matrix for each graph, in which nodes that go are struck out; once
  graphs are collated, every node of the batch is looked up among its edges to see whether it is still there.
- With loops over the nodes and edges of a graph.
- With PyTorch Geometric's utilities for one graph.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, global_add_pool
from torch_geometric.utils import subgraph

from sfa.augment import RandomChoice
from sfa.methods import GraphCL

RATES = RandomChoice()
"""The authors'; GraphCL's own defaults."""


class Manner(NamedTuple):
    """A way to augment: each graph when it is fetched, by the name of the augmentation, and the views together."""

    augmentations: dict[str, Callable[[Data], Data]]
    finish: Callable[[Data], Data] = lambda view: view


class Plain(nn.Module):
    """The same model as a given GraphCL, of PyTorch Geometric's parts."""

    def __init__(self, method: GraphCL) -> None:
        super().__init__()
        self.tau = method.tau
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        for layer in method.encoder.layers:
            perceptron = nn.Sequential(layer.inner, nn.ReLU(), layer.outer)
            self.convolutions.append(GINConv(copy.deepcopy(perceptron)))
            self.convolutions[-1].nn.load_state_dict(perceptron.state_dict())  # GINConv draws it anew
            self.norms.append(copy.deepcopy(layer.norm))
        self.head = copy.deepcopy(method.head)

    def forward(self, batch: Data, view: Data) -> Tensor:
        z, z_view = (self.head(self.encode(graphs)) for graphs in (batch, view))
        similarities = functional.normalize(z) @ functional.normalize(z_view).T / self.tau
        positive, weights = similarities.diagonal(), similarities.exp()
        return (torch.log(weights.sum(1) - weights.diagonal()) - positive).mean()

    def encode(self, graphs: Data) -> Tensor:
        h, pooled = graphs.x, []
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            h = norm(convolution(h, graphs.edge_index).relu())
            pooled.append(global_add_pool(h, graphs.batch, size=len(graphs.ptr) - 1))
        return torch.cat(pooled, dim=1)


class Pairs(torch.utils.data.Dataset[tuple[Data, Data]]):
    """Each graph with a view of it, made when it is asked for."""

    def __init__(self, graphs: list[Data], augmentations: list[Callable[[Data], Data]]) -> None:
        self.graphs, self.augmentations = graphs, augmentations

    def __len__(self) -> int:
        return len(self.graphs)

    def __getitem__(self, number: int) -> tuple[Data, Data]:
        graph = self.graphs[number]
        return graph, random.choice(self.augmentations)(copy.deepcopy(graph))


def drop_nodes_by_loops(graph: Data) -> Data:
    dropped = set(random.sample(range(graph.num_nodes), int(RATES.node_drop * graph.num_nodes)))
    return cut_out_by_loops(graph, [node for node in range(graph.num_nodes) if node not in dropped])


def take_subgraph_by_loops(graph: Data) -> Data:
    return cut_out_by_loops(graph, sorted(grow(graph)))


def perturb_edges_by_loops(graph: Data) -> Data:
    edges = [(a, b) for a, b in graph.edge_index.T.tolist() if a < b]
    kept = random.sample(edges, len(edges) - int(RATES.edge_drop * len(edges)))
    both = sorted(kept + [(b, a) for a, b in kept])
    graph.edge_index = torch.tensor(both, dtype=torch.int64).view(-1, 2).T.contiguous()
    return graph


def mask_attributes_by_loops(graph: Data) -> Data:
    for node in random.sample(range(graph.num_nodes), int(RATES.attribute_mask * graph.num_nodes)):
        graph.x[node] = 0.5 + 0.5 * torch.randn(graph.x.shape[1])
    return graph


def cut_out_by_loops(graph: Data, nodes: list[int]) -> Data:
    number = {node: new for new, node in enumerate(nodes)}
    edges = [(number[a], number[b]) for a, b in graph.edge_index.T.tolist() if a in number and b in number]
    edge_index = torch.tensor(edges, dtype=torch.int64).view(-1, 2).T.contiguous()
    return Data(x=graph.x[nodes], edge_index=edge_index, num_nodes=len(nodes))


def grow(graph: Data) -> set[int]:
    neighbours: dict[int, set[int]] = {node: set() for node in range(graph.num_nodes)}
    for a, b in graph.edge_index.T.tolist():
        neighbours[a].add(b)
    inside = {random.randrange(graph.num_nodes)}
    around = set().union(*(neighbours[node] for node in inside))
    while len(inside) < int(RATES.subgraph_keep * graph.num_nodes) and around:
        node = random.choice(list(around))
        inside.add(node)
        around = (around | neighbours[node]) - inside
    return inside


def drop_nodes_by_utilities(graph: Data) -> Data:
    kept = torch.randperm(graph.num_nodes)[int(RATES.node_drop * graph.num_nodes) :].sort().values
    return cut_out_by_utilities(graph, kept)


def take_subgraph_by_utilities(graph: Data) -> Data:
    return cut_out_by_utilities(graph, torch.tensor(sorted(grow(graph))))


def cut_out_by_utilities(graph: Data, nodes: Tensor) -> Data:
    edge_index, _ = subgraph(nodes, graph.edge_index, relabel_nodes=True, num_nodes=graph.num_nodes)
    return Data(x=graph.x[nodes], edge_index=edge_index, num_nodes=len(nodes))


def perturb_edges_by_utilities(graph: Data) -> Data:
    upper = graph.edge_index[:, graph.edge_index[0] < graph.edge_index[1]]
    kept = upper[:, torch.randperm(upper.shape[1])[int(RATES.edge_drop * upper.shape[1]) :]]
    graph.edge_index = torch.cat([kept, kept.flip(0)], dim=1)
    return graph


def mask_attributes_by_utilities(graph: Data) -> Data:
    rows = torch.randperm(graph.num_nodes)[: int(RATES.attribute_mask * graph.num_nodes)]
    graph.x[rows] = 0.5 + 0.5 * torch.randn(len(rows), graph.x.shape[1])
    return graph


def drop_nodes_by_matrix(graph: Data) -> Data:
    return strike_out(graph, random.sample(range(graph.num_nodes), int(RATES.node_drop * graph.num_nodes)))


def take_subgraph_by_matrix(graph: Data) -> Data:
    inside = list(grow(graph))
    return strike_out(graph, [node for node in range(graph.num_nodes) if node not in inside])


def perturb_edges_by_matrix(graph: Data) -> Data:
    edges = graph.edge_index.shape[1]
    kept = random.sample(range(edges), edges - int(RATES.edge_drop * edges))
    graph.edge_index = torch.cat([graph.edge_index[:, kept], loops(graph)], dim=1)
    return graph


def mask_attributes_by_matrix(graph: Data) -> Data:
    graph.edge_index = torch.cat([graph.edge_index, loops(graph)], dim=1)
    return mask_attributes_by_utilities(graph)


def strike_out(graph: Data, nodes: list[int]) -> Data:
    """All nodes are still there, and those that stay have a loop."""
    adjacency = torch.eye(graph.num_nodes)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    adjacency[nodes, :] = 0
    adjacency[:, nodes] = 0
    graph.edge_index = adjacency.nonzero().T
    return graph


def loops(graph: Data) -> Tensor:
    return torch.arange(graph.num_nodes).expand(2, -1)


def without_missing(view: Data) -> Data:
    """Nodes that are in no edge go, and then the loops."""
    row, col = view.edge_index.numpy()
    nodes = [node for node in range(view.num_nodes) if node in row or node in col]
    number = {node: new for new, node in enumerate(nodes)}
    edges = [(number[a], number[b]) for a, b in zip(row.tolist(), col.tolist(), strict=True) if a != b]
    view.x, view.batch = view.x[nodes], view.batch[nodes]
    view.edge_index = torch.tensor(edges, dtype=torch.int64).view(-1, 2).T.contiguous()
    return view


AS_IN_THE_REPOSITORY = Manner(
    {
        "node-drop": drop_nodes_by_matrix,
        "subgraph": take_subgraph_by_matrix,
        "edge-perturb": perturb_edges_by_matrix,
        "attribute-mask": mask_attributes_by_matrix,
    },
    without_missing,
)
WITH_LOOPS = Manner(
    {
        "node-drop": drop_nodes_by_loops,
        "subgraph": take_subgraph_by_loops,
        "edge-perturb": perturb_edges_by_loops,
        "attribute-mask": mask_attributes_by_loops,
    }
)
WITH_UTILITIES = Manner(
    {
        "node-drop": drop_nodes_by_utilities,
        "subgraph": take_subgraph_by_utilities,
        "edge-perturb": perturb_edges_by_utilities,
        "attribute-mask": mask_attributes_by_utilities,
    }
)


def single_graphs(graphs: Data) -> list[Data]:
    """The graphs of a set, each for itself."""
    owner, parts = graphs.batch[graphs.edge_index[0]], []
    edge_ptr = torch.searchsorted(owner, torch.arange(len(graphs.ptr)))
    for number in range(len(graphs.ptr) - 1):
        start, stop = graphs.ptr[number : number + 2].tolist()
        edges = graphs.edge_index[:, edge_ptr[number] : edge_ptr[number + 1]] - start
        parts.append(Data(x=graphs.x[start:stop].clone(), edge_index=edges, num_nodes=stop - start))
    return parts
