"""Edges replaced by random ones: how many, which, and what stays."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch_geometric.data import Data

from sfa.data import arrays as mapped
from sfa.data import build_graph, load
from sfa.errors import InputError
from sfa.graph.batches import replace_edges
from tests.graph.graph_batches import seeded, to_data


def edges_of(graph: Data) -> set[frozenset[int]]:
    return {frozenset(edge) for edge in graph.edge_index.T.tolist()}


def weight_of(graph: Data) -> dict[frozenset[int], float]:
    edges = graph.edge_index.T.tolist()
    found = {tuple(edge): weight for edge, weight in zip(edges, graph.edge_weight.tolist(), strict=True)}
    assert all(found[b, a] == weight for (a, b), weight in found.items()), "both directions have the same"
    return {frozenset(edge): weight for edge, weight in found.items()}


def assert_sound(graph: Data) -> None:
    """Sorted, each edge in both directions and none twice, no loops."""
    row, col = graph.edge_index
    keys = row * graph.num_nodes + col
    assert bool((keys.diff() > 0).all())
    assert bool((row != col).all())
    assert torch.equal((col * graph.num_nodes + row).sort().values, keys)
    assert graph.edge_index.dtype == torch.int64


@given(
    n=st.integers(2, 12),
    density=st.sampled_from([0.1, 0.3, 0.5]),
    share=st.floats(0, 1),
    weighted=st.booleans(),
    seed=st.integers(0, 99),
)
def test_so_many_edges_are_replaced_by_pairs_that_had_none(
    n: int, density: float, share: float, weighted: bool, seed: int
) -> None:
    graph = to_data(nx.gnp_random_graph(n, density, seed=seed), weighted)
    old = edges_of(graph)
    count = round(share * len(old))
    if count > n * (n - 1) // 2 - len(old):
        with pytest.raises(InputError, match="pairs of nodes without an edge"):
            replace_edges(graph, share, seed)
        return
    before = graph.edge_index.clone()
    noisy = replace_edges(graph, share, seed)
    assert_sound(noisy)
    new = edges_of(noisy)
    assert len(new) == len(old)
    assert len(old - new) == len(new - old) == count
    assert torch.equal(graph.edge_index, before), "what was given is untouched"
    assert noisy.x is graph.x
    if weighted:
        assert noisy.edge_weight.dtype == graph.edge_weight.dtype
        weights, noisy_weights = weight_of(graph), weight_of(noisy)
        assert all(noisy_weights[edge] == weights[edge] for edge in old & new), "those that stay keep theirs"
        taken = Counter(weights[edge] for edge in old - new)
        assert Counter(noisy_weights[edge] for edge in new - old) == taken, "the others took theirs with them"
    else:
        assert noisy.edge_weight is None


def test_every_edge_is_as_likely_to_go_and_every_set_of_pairs_to_come() -> None:
    graph = to_data(nx.path_graph(6))
    free = {frozenset(pair): i for i, pair in enumerate(sorted(nx.non_edges(nx.path_graph(6))))}
    sets = {frozenset(pair): i for i, pair in enumerate(combinations(free, 2))}
    gone = {frozenset(pair): i for i, pair in enumerate(combinations([frozenset((a, a + 1)) for a in range(5)], 2))}
    old, went, came = edges_of(graph), np.zeros(len(gone)), np.zeros(len(sets))
    for seed in range(1500):
        new = edges_of(replace_edges(graph, 0.4, seed))
        went[gone[frozenset(old - new)]] += 1
        came[sets[frozenset(new - old)]] += 1
    assert chisquare(went).pvalue > 1e-4
    assert chisquare(came).pvalue > 1e-4


def test_which_weight_goes_to_which_pair_is_random() -> None:
    """New pairs come in order: were edges to go in order too, the first pair would have the first edge's weight."""
    graph, pairs = to_data(nx.path_graph(5), weighted=True), Counter()
    for seed in range(400):
        noisy = weight_of(replace_edges(graph, 1.0, seed))
        assert Counter(noisy.values()) == Counter(weight_of(graph).values())
        pairs[noisy[min(noisy, key=sorted)]] += 1
    assert chisquare(list(pairs.values())).pvalue > 1e-4
    assert len(pairs) == 4


def test_the_draw_depends_on_seed_and_edges_alone() -> None:
    graph = to_data(nx.gnp_random_graph(40, 0.2, seed=0), weighted=True)
    noisy = replace_edges(graph, 0.3, 7)
    order = torch.randperm(graph.num_edges, generator=seeded())
    other = Data(x=torch.zeros(40, 1), edge_index=graph.edge_index[:, order], edge_weight=graph.edge_weight[order])
    torch.manual_seed(99)
    again = replace_edges(other, 0.3, 7)
    assert torch.equal(again.edge_index, noisy.edge_index)
    assert torch.equal(again.edge_weight, noisy.edge_weight)
    assert not torch.equal(replace_edges(graph, 0.3, 8).edge_index, noisy.edge_index)


def test_no_noise_is_the_graph_itself() -> None:
    graph = to_data(nx.path_graph(6))
    assert replace_edges(graph, 0, 0) is graph
    assert replace_edges(graph, 0.05, 0) is graph, "of 5 edges it is none"
    assert graph.get("edge_noise") is None
    assert replace_edges(graph, 0.4, 0).edge_noise == 0.4
    nothing = to_data(nx.empty_graph(4))
    assert replace_edges(nothing, 0.5, 0) is nothing


def test_features_sparse_or_on_disk_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cora = load("cora")
    noisy = replace_edges(cora, 0.1, 0)
    assert noisy.x is cora.x
    assert noisy.x.layout == torch.sparse_csr
    assert len(edges_of(cora) - edges_of(noisy)) == 528, "a tenth of 5,278"
    np.save(tmp_path / "x.npy", np.ones((50, 3), dtype=np.float32))
    monkeypatch.setattr(mapped, "MAPPED_BYTES", 0)
    ring = np.stack([np.arange(50), np.roll(np.arange(50), 1)])
    graph = build_graph(np.load(tmp_path / "x.npy", mmap_mode="r"), ring)
    noisy = replace_edges(graph, 0.5, 0)
    assert noisy.mapped_features is True
    assert noisy.x is graph.x
    assert (noisy.name, noisy.node_ids) == (graph.name, graph.node_ids)


@pytest.mark.parametrize("share", [-0.1, 1.5, float("nan"), True, "0.1"])
def test_a_share_that_is_none(share: float) -> None:
    with pytest.raises(InputError, match="number, 0 or more"):
        replace_edges(to_data(nx.path_graph(4)), share, 0)


def test_a_graph_with_no_room_for_them() -> None:
    graph = to_data(nx.complete_graph(6))
    with pytest.raises(InputError, match=r"of 0\.2 would put"):
        replace_edges(graph, 0.2, 0)
    wheel = to_data(nx.wheel_graph(6))  # 10 edges, 5 free pairs
    assert len(edges_of(replace_edges(wheel, 0.5, 0)) - edges_of(wheel)) == 5
    with pytest.raises(InputError, match="10 edges there: take"):
        replace_edges(wheel, 0.6, 0)


def test_loops_and_one_direction_only_are_refused_as_elsewhere() -> None:
    for edges, sentence in (([[0, 1], [0, 0]], "self-loop"), ([[0, 1], [1, 2]], "one direction only")):
        with pytest.raises(InputError, match=sentence):
            replace_edges(Data(x=torch.ones(3, 1), edge_index=torch.tensor(edges)), 0.5, 0)
