"""Small graphs to sample from."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import build_graph

MakeGraph = Callable[..., Data]


def edges_of(shape: str, nodes: int, rng: np.random.Generator) -> np.ndarray:
    if shape == "star":
        return np.stack([np.zeros(nodes - 1, dtype=np.int64), np.arange(1, nodes)])
    if shape == "path":
        return np.stack([np.arange(nodes - 1), np.arange(1, nodes)])
    if shape == "two":  # and so the others are alone
        return np.array([[0], [1]])
    random = rng.integers(0, nodes, (2, nodes if shape == "sparse" else nodes**2 // 3 + 1))
    return np.concatenate([random, [[0], [nodes - 1]]], axis=1)  # at least one edge


@pytest.fixture(scope="session")
def make_graph() -> MakeGraph:
    """A graph of a shape, drawn with a seed; edges may have weights, and features may be CSR."""

    def make(shape: str, nodes: int, seed: int = 0, *, weighted: bool = False, csr: bool = False) -> Data:
        rng = np.random.default_rng(seed)
        edges = edges_of(shape, nodes, rng)
        x = rng.normal(size=(nodes, 4)) * (rng.random((nodes, 4)) < 0.5)
        weight = rng.random(edges.shape[1]) + 0.5 if weighted else None
        graph = build_graph(x, edges, edge_weight=weight)
        if csr:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that sparse CSR tensors are in beta
                graph.x = graph.x.to_sparse_csr()
        return graph

    return make


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(0)
