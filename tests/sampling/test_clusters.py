"""METIS clusters and the batches they are joined to."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.errors import InputError
from sfa.graph.structure import csr_structure
from sfa.sampling import Clusters
from sfa.sampling.samplers import joined, metis_clusters

MakeGraph = Callable[..., Data]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def cliques(count: int, size: int, *, bridges: bool) -> Data:
    """Cliques, node i in clique i mod count; a ring of bridges joins them, or nothing does."""
    edges = [(a * count + c, b * count + c) for c in range(count) for a, b in combinations(range(size), 2)]
    if bridges:
        edges += [(c, (c + 1) % count + count) for c in range(count)]
    return build_graph(torch.eye(count * size), torch.tensor(edges).T)


def clusters_of(sampler: Clusters) -> list[set[int]]:
    """The nodes of each cluster, as batches of a single seed show them."""
    batches = [sampler.batch(torch.tensor([cluster]), seeded()) for cluster in range(sampler.num_seeds)]
    return [set(batch.nodes.tolist()) for batch in batches]


@pytest.mark.parametrize("bridges", [True, False])
@pytest.mark.parametrize("count", [2, 12])
def test_cliques_are_clusters(count: int, bridges: bool) -> None:
    """With two by recursive bisection, with twelve by METIS's k-way method."""
    sampler = Clusters(cliques(count, 8, bridges=bridges), clusters=count)
    assert sampler.sizes.tolist() == [8] * count
    assert all(len({node % count for node in cluster}) == 1 for cluster in clusters_of(sampler))


@given(
    shape=st.sampled_from(["sparse", "dense", "star", "path", "two"]),
    nodes=st.integers(2, 25),
    seed=st.integers(0, 2**31),
    clusters=st.integers(1, 30),
)
def test_clusters_share_out_the_nodes_and_none_is_empty(
    make_graph: MakeGraph, shape: str, nodes: int, seed: int, clusters: int
) -> None:
    graph = make_graph(shape, nodes, seed)
    sampler = Clusters(graph, clusters=clusters)
    found = clusters_of(sampler)
    assert [len(cluster) for cluster in found] == sampler.sizes.tolist()
    assert min(map(len, found)) >= 1
    assert sorted(node for cluster in found for node in cluster) == list(range(nodes))
    assert len(found) <= min(clusters, nodes)
    assert clusters < nodes or len(found) == nodes
    again = Clusters(make_graph(shape, nodes, seed), clusters=clusters)
    assert clusters_of(again) == found


def test_clusters_are_those_of_metis_though_their_sizes_differ(make_graph: MakeGraph) -> None:
    graph = make_graph("sparse", 23)
    cluster_of = metis_clusters(csr_structure(graph.edge_index, 23), 5).tolist()
    sampler = Clusters(graph, clusters=5)
    assert len(set(sampler.sizes.tolist())) > 1
    expected = [{node for node in range(23) if cluster_of[node] == c} for c in range(sampler.num_seeds)]
    assert clusters_of(sampler) == expected


def test_a_batch_has_all_edges_among_its_clusters(make_graph: MakeGraph) -> None:
    graph = make_graph("dense", 20, weighted=True)
    sampler = Clusters(graph, clusters=5)
    found = clusters_of(sampler)
    batch = sampler.batch(torch.tensor([3, 1]), seeded())
    members = found[1] | found[3]
    assert set(batch.nodes.tolist()) == members
    assert batch.roots == len(members)
    weights = zip(map(tuple, graph.edge_index.T.tolist()), graph.edge_weight.tolist(), strict=True)
    expected = {(a, b): weight for (a, b), weight in weights if a in members and b in members}
    pairs = map(tuple, batch.nodes[batch.edge_index].T.tolist())
    assert dict(zip(pairs, batch.edge_weight.tolist(), strict=True)) == expected


def greedily_joined(sizes: list[int], limit: int) -> list[int]:
    counts: list[int] = []
    room = 0
    for size in sizes:
        if counts and size <= room:
            counts[-1] += 1
        else:
            counts.append(1)
            room = limit
        room -= size
    return counts


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=20), limit=st.integers(1, 25))
def test_as_many_are_joined_as_fit(sizes: list[int], limit: int) -> None:
    assert joined(torch.tensor(sizes), limit) == greedily_joined(sizes, limit)


def test_steps_join_random_clusters_up_to_the_batch_size() -> None:
    sampler = Clusters(cliques(12, 8, bridges=True), batch_size=30, clusters=12)
    plans = [sampler.plan(seeded(seed)) for seed in range(5)]
    assert {len(step) for plan in plans for step in plan} == {3}
    assert len({tuple(sorted(plan[0].tolist())) for plan in plans}) > 1
    assert all(sorted(torch.cat(plan).tolist()) == list(range(12)) for plan in plans)
    assert sampler.batch(plans[0][0], seeded()).num_nodes == 24


def test_by_default_about_ten_make_a_batch(make_graph: MakeGraph) -> None:
    sampler = Clusters(make_graph("path", 400), batch_size=100)
    assert 35 <= sampler.num_seeds <= 40
    steps = sampler.plan(seeded())
    assert 4 <= len(steps) <= 6
    assert all(sampler.batch(step, seeded()).num_nodes <= 100 for step in steps)
    assert Clusters(make_graph("path", 7), batch_size=1).sizes.tolist() == [1] * 7


def test_a_graph_without_edges_is_shared_out_too() -> None:
    clusters = metis_clusters(csr_structure(torch.empty(2, 0, dtype=torch.int64), 6), 3)
    assert sorted(set(clusters.tolist())) == list(range(int(clusters.max()) + 1))
    assert len(clusters) == 6


def test_edges_of_one_direction_are_refused_before_metis_sees_them() -> None:
    graph = Data(x=torch.zeros(4, 1), edge_index=torch.tensor([[0, 1, 2], [1, 2, 3]]))
    with pytest.raises(InputError, match="one direction only"):
        Clusters(graph, clusters=2)


def test_without_pymetis_it_says_what_to_install(make_graph: MakeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    with pytest.raises(InputError, match=r"with pip install 'sfa\[large\]'\."):
        Clusters(make_graph("path", 5))


@pytest.mark.parametrize("wrong", [0, -1, 2.0])
def test_fewer_than_one_cluster_are_refused(make_graph: MakeGraph, wrong: int) -> None:
    with pytest.raises(InputError, match="number, 1 or more"):
        Clusters(make_graph("path", 5), clusters=wrong)
