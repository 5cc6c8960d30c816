"""Clustering under its protocol, against scikit-learn's k-means and metrics."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from torch_geometric.data import Data

from sfa.evaluate import kmeans
from sfa.evaluate.protocols import base
from sfa.matrices import unit_rows
from sfa.registry import resolve

CLUSTERING = resolve("protocol", "clustering")


def test_ten_runs_and_three_metrics(blobs: Callable[..., Data]) -> None:
    graph, told = blobs(200, noise=0.5), []
    score = CLUSTERING.evaluate(graph.x, graph, on_split=lambda: told.append(1))
    assert list(score.values) == ["nmi", "ari", "accuracy"]
    assert {len(values) for values in score.values.values()} == {len(told)} == {10}
    assert score == CLUSTERING.evaluate(graph.x, graph), "the starts are seeded"
    found = KMeans(3, n_init=10, random_state=0).fit(unit_rows(graph.x).numpy()).labels_
    y = graph.y.numpy()
    for metric, reference in (("nmi", normalized_mutual_info_score), ("ari", adjusted_rand_score)):
        assert min(abs(value - 100 * reference(y, found)) for value in score.of(metric)) < 1


def test_lengths_do_not_matter_and_nodes_without_a_label_are_left_out(blobs: Callable[..., Data]) -> None:
    graph = blobs(100, noise=0.3)
    expected = CLUSTERING.evaluate(graph.x, graph)
    assert expected.mean("accuracy") > 80
    scaled = graph.x * torch.linspace(0.1, 10, 100).double()[:, None]
    assert CLUSTERING.evaluate(scaled, graph).of("accuracy") == pytest.approx(expected.of("accuracy"))
    more = graph.clone()
    more.y, more.x = torch.cat([graph.y, torch.full((9,), -1)]), torch.cat([graph.x, torch.ones(9, 6)])
    assert CLUSTERING.evaluate(more.x, more) == expected


def test_as_many_clusters_as_classes_even_with_gaps_in_their_numbers(blobs: Callable[..., Data]) -> None:
    graph = blobs(100, noise=0.01)
    graph.y = 5 * graph.y + 2
    assert max(CLUSTERING.evaluate(graph.x, graph).of("accuracy")) == pytest.approx(100)


def test_many_rows_are_clustered_by_batches(blobs: Callable[..., Data], monkeypatch: pytest.MonkeyPatch) -> None:
    graph = blobs(2000, noise=0.5)
    graph.y[:100] = -1
    expected = CLUSTERING.evaluate(graph.x, graph)
    monkeypatch.setattr(base, "MANY", 1000)
    monkeypatch.setattr(kmeans, "BATCH", 200)
    score = CLUSTERING.evaluate(graph.x, graph)
    assert score == CLUSTERING.evaluate(graph.x, graph), "it is seeded"
    assert score.of("nmi") == pytest.approx(expected.of("nmi"), abs=3)
