"""Similar items, suggested links and clusters are those of a slow search, and are called by the ids of users."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import adjusted_rand_score

from sfa import explore
from sfa.errors import InputError
from sfa.evaluate import kmeans
from sfa.explore import cluster, most_similar, suggest_links
from tests.stores import anonymous_memory, random_rows


def embedding(n: int = 600, width: int = 5) -> torch.Tensor:
    return torch.randn(n, width, generator=torch.Generator().manual_seed(0))


def test_the_most_similar_are_those_of_a_slow_search() -> None:
    z, ids = embedding(50), [f"node {i}" for i in range(50)]
    found = most_similar(z, ids, "node 7", 4)
    cosine = torch.cosine_similarity(z[7][None], z)
    order = [i for i in cosine.argsort(descending=True).tolist() if i != 7][:4]
    assert found["node_id"].tolist() == [ids[i] for i in order]
    np.testing.assert_allclose(found["cosine"], cosine[order], rtol=1e-5)
    assert len(most_similar(z, ids, "node 7", 1000)) == 49


def test_numbers_are_ids_too_and_unknown_ones_have_near_spellings() -> None:
    assert len(most_similar(embedding(3), [10, 20, 30], "20", 1)) == 1
    with pytest.raises(InputError, match=r"Unknown node 'Gavroch': did you mean 'Gavroche'\?"):
        most_similar(embedding(3), ["Javert", "Gavroche", "Fantine"], "Gavroch")


def links(n: int, count: int) -> torch.Tensor:
    pairs = np.random.default_rng(1).choice(n * n, count, replace=False)
    edges = {(i, j) for i, j in zip(*divmod(pairs, n), strict=True) if i < j}
    both = sorted(edges | {(j, i) for i, j in edges})
    return torch.tensor(both).T


@pytest.mark.parametrize("two_kinds", [False, True])
def test_suggested_links_are_those_of_a_slow_search_and_no_edges(two_kinds: bool) -> None:
    z, edge_index = embedding(), links(600, 200_000)  # more nodes than are compared at once
    kinds = torch.arange(600) % 2 if two_kinds else None
    done: list[int] = []
    found = suggest_links(z, range(600), edge_index, 7, kinds=kinds, on_nodes=done.append)
    joined, unit = set(zip(*edge_index.tolist(), strict=True)), torch.nn.functional.normalize(z)
    cosine = (unit @ unit.mT).tolist()
    allowed = [
        (cosine[i][j], i, j)
        for i, j in combinations(range(600), 2)
        if (i, j) not in joined and not (two_kinds and i % 2 == j % 2)
    ]
    best = sorted(allowed, reverse=True)[:7]
    assert found[["source", "target"]].to_numpy().tolist() == [[i, j] for _, i, j in best]
    i, j = best[0][1:]
    shared = {b for a, b in joined if a == i} & {b for a, b in joined if a == j}
    assert found.loc[0, "common neighbors"] == len(shared)
    assert done == [256, 512, 600]


def test_a_complete_graph_lacks_no_link() -> None:
    every = torch.tensor([(i, j) for i in range(5) for j in range(5) if i != j]).T
    assert len(suggest_links(embedding(5), range(5), every)) == 0


def test_planted_clusters_are_found_and_counted() -> None:
    sizes = [40, 100, 60]
    group = np.repeat(np.arange(3), sizes)
    z = torch.eye(8)[group] + 0.1 * embedding(200, 8)
    labels, silhouette = cluster(z)
    assert [len(set(labels[group == one])) for one in range(3)] == [1, 1, 1]
    assert np.bincount(labels).tolist() == [100, 60, 40]
    assert silhouette > 0.5
    assert len(np.unique(cluster(z, 5)[0])) == 5


def test_equal_embeddings_are_no_clusters() -> None:
    labels, silhouette = cluster(torch.ones(30, 4))
    assert set(labels) == {0}
    assert silhouette == -1
    with pytest.raises(InputError, match="too few to be in 40 clusters"):
        cluster(torch.ones(30, 4), 40)


def test_faiss_finds_the_links_of_the_exact_search(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    z, edge_index = embedding(), links(600, 20_000)
    kinds = torch.arange(600) % 2
    for options in ({}, {"kinds": kinds}):
        exact = suggest_links(z, range(600), edge_index, 7, **options)
        found = suggest_links(z, range(600), edge_index, 7, approximate=True, **options)
        pd.testing.assert_frame_equal(found, exact, rtol=1e-5)
    monkeypatch.setattr(explore, "MANY", 100)  # an index of many lists, of which some are read
    exact = suggest_links(z, range(600), edge_index, 7)
    found = suggest_links(z, range(600), edge_index, 7, approximate=True)
    assert len(found.merge(exact, on=["source", "target"])) >= 4


def test_embeddings_on_disk_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    z, y = random_rows(tmp_path, 210_000, 256, classes=4)
    most_similar(z[:100], range(100), 0)  # what is loaded once
    with anonymous_memory() as grown:
        found = most_similar(z, range(len(z)), 123, 5)
    assert grown[0] < 120e6, "a copy in float32 takes 215 MB"
    cosine = torch.cosine_similarity(z[123].float()[None], z.float())
    assert found["node_id"].tolist() == cosine.argsort(descending=True)[1:6].tolist()
    np.testing.assert_allclose(found["cosine"], cosine.sort(descending=True).values[1:6], rtol=1e-5)
    monkeypatch.setattr(kmeans, "FIRST", 2000)
    with anonymous_memory() as grown:
        labels, silhouette = cluster(z, 4)
    assert grown[0] < 120e6
    assert adjusted_rand_score(y, labels) == pytest.approx(adjusted_rand_score(y, z[:, :4].argmax(1)), abs=0.1)
    assert -1 < silhouette < 1
