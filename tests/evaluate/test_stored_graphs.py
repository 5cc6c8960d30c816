"""What is measured of a stored graph reads its rows from disk, and of a large one some of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from sfa.data.store import StoredGraph
from sfa.data.write_store import write_store
from sfa.errors import InputError
from sfa.evaluate import part, possible
from sfa.evaluate.baselines import propagated_features, raw_features
from sfa.evaluate.health import AUC, NEAR, RANK, measure_health
from sfa.evaluate.part import cut_rows, embed_rows
from sfa.evaluate.protocols import LinkPrediction, link_prediction
from sfa.graph.structure import structure_of
from sfa.registry import resolve
from sfa.run import explore
from tests.memory_maps import file_of
from tests.stores import planted_graph

GRAPH = planted_graph(2000, classes=4, degree=8)


@pytest.fixture
def stored(tmp_path: Path) -> StoredGraph:
    return write_store(GRAPH, tmp_path / "store", float16=True)


def test_health_of_a_large_stored_graph_is_of_some_nodes(stored: StoredGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "LARGE", 1000)
    monkeypatch.setattr(part, "NODES", 400)
    seen: list[int] = []

    def embed(graph: object) -> torch.Tensor:
        seen.append(graph.num_nodes)  # type: ignore[attr-defined]
        return propagated_features(graph)  # type: ignore[arg-type]

    table, _, links, most = measure_health(embed, stored)
    assert seen[0] <= 400 * (1 + 8 + 32)
    assert links == 0
    assert table[AUC].drop("random embedding").isna().all()
    assert table.loc["embedding", NEAR] == table.loc["propagated features", NEAR]
    assert table.loc["embedding", NEAR] > table.loc["raw features", NEAR] >= 0
    assert 0 < most <= 100
    assert (table[RANK].drop("random embedding") > 1).all()
    assert "edge_index" not in stored, "edges are read by rows"


def test_some_rows_are_those_of_all_where_all_neighbors_are_sampled(
    stored: StoredGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, expected = torch.tensor([5, 3, 1000]), propagated_features(GRAPH)
    torch.testing.assert_close(embed_rows(propagated_features, GRAPH, rows), expected[rows])
    monkeypatch.setattr(part, "LARGE", 1000)
    monkeypatch.setattr(part, "FANOUTS", (100, 100, 100))
    found = embed_rows(propagated_features, stored, rows)
    torch.testing.assert_close(found, expected[rows], atol=1e-3, rtol=1e-2)  # of float16
    assert (
        embed_rows(lambda graph: graph.y[:, None], stored, rows, whole=True).flatten().tolist()
        == GRAPH.y[rows].tolist()
    )
    cut = cut_rows(stored, rows)
    assert cut.node_ids == [5, 3, 1000]
    assert torch.equal(cut.y, GRAPH.y[rows])
    assert torch.equal(cut.degree, structure_of(GRAPH).edge_rowptr.diff()[rows])


def test_link_prediction_refuses_a_store_and_samples_many_edges(
    stored: StoredGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="stored graph cannot be held out"):
        resolve("protocol", "link-prediction").check(stored)
    assert "link-prediction" in possible(stored)[1]
    monkeypatch.setattr(link_prediction, "MOST_EDGES", 1000)
    protocol = LinkPrediction("links", "", repeats=1)
    (split,) = protocol.draw(GRAPH)
    assert (len(split.validation.is_edge), len(split.test.is_edge)) == (100, 200)
    assert split.graph.num_edges == GRAPH.num_edges - 2 * 150
    assert 50 < protocol.evaluate(propagated_features, GRAPH).mean() < 100


def test_raw_features_of_other_scales_are_standardized_on_disk(stored: StoredGraph, tmp_path: Path) -> None:
    assert raw_features(stored).data_ptr() == stored.x.data_ptr()
    other = GRAPH.clone()
    other.x[:, 0] *= 50
    x = raw_features(write_store(other, tmp_path / "other"))
    assert file_of(x) is not None
    np.testing.assert_allclose(x.std(0, correction=0), 1, rtol=1e-3)


def test_propagated_features_lie_on_disk(stored: StoredGraph) -> None:
    x = propagated_features(stored)
    assert file_of(x) is not None
    assert "edge_index" not in stored
    torch.testing.assert_close(x, propagated_features(GRAPH), rtol=0, atol=2e-3)  # the store is in float16


def test_links_inside_clusters_are_counted_in_pieces(stored: StoredGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "MANY", 300)
    labels = np.arange(2000) % 3
    source, target = labels[GRAPH.edge_index.numpy()]
    expected = [100 * (target[source == one] == one).mean() for one in range(3)]
    np.testing.assert_allclose(explore._links_inside(stored, labels), expected)
    assert "edge_index" not in stored
