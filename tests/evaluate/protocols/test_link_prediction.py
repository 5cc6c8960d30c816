"""Link prediction under its protocol."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.errors import InputError
from sfa.evaluate import LinkPrediction
from sfa.evaluate.protocols.link_prediction import predict_links
from sfa.graph.batches import replace_edges
from sfa.registry import resolve

LINKS = resolve("protocol", "link-prediction")
assert isinstance(LINKS, LinkPrediction)


@pytest.fixture
def communities() -> Data:
    """Two halves, dense within and sparse between."""
    rng, half = np.random.default_rng(0), np.arange(60) % 2
    probability = np.where(half[:, None] == half[None, :], 0.4, 0.02)
    edges = np.argwhere(np.triu(rng.random((60, 60)) < probability, 1)).T
    return build_graph(np.eye(2)[half] + 0.01 * rng.normal(size=(60, 2)), edges)


def test_the_embedder_sees_the_training_graph_and_no_edge_held_out(communities: Data) -> None:
    seen: list[Data] = []

    def embed(graph: Data) -> Tensor:
        seen.append(graph)
        return graph.x

    told: list[int] = []
    score = LINKS.evaluate(embed, communities, name="mine", on_split=lambda: told.append(1))
    assert len(seen) == len(told) == LINKS.repeats == 3
    for number, graph in enumerate(seen):
        split = LINKS.draw(communities)[number]
        edges = {(u, v) for u, v in graph.edge_index.T.tolist()}
        assert len(edges) == communities.num_edges - 2 * int(split.validation.is_edge.sum() + split.test.is_edge.sum())
        for part in (split.validation, split.test):
            assert not edges & {tuple(pair) for pair in part.nodes.T.tolist()}
            assert not edges & {tuple(pair) for pair in part.nodes.flip(0).T.tolist()}
    assert len({graph.edge_index.sum().item() for graph in seen}) > 1, "splits differ"
    assert (score.name, score.protocol, list(score.values)) == ("mine", "link-prediction", ["auc", "ap"])
    assert len(score.chosen) == len(score.validation["auc"]) == 3


def test_scores_are_the_pairs_in_the_right_order_and_the_precision_on_the_way(communities: Data) -> None:
    score = LINKS.evaluate(lambda graph: graph.x, communities)
    for number in range(3):
        split = LINKS.draw(communities)[number]
        found, *_ = predict_links(communities.x, split.train, split.validation, split.test.nodes, LINKS.cs)
        edges, others = found[split.test.is_edge.numpy()], found[~split.test.is_edge.numpy()]
        right = (edges[:, None] > others).mean() + (edges[:, None] == others).mean() / 2
        assert score.of("auc")[number] == pytest.approx(100 * right)
        precision = [(edges >= value).sum() / (found >= value).sum() for value in edges]
        assert score.of("ap")[number] == pytest.approx(100 * np.mean(precision))
    assert score.mean() > 65
    noise = torch.randn(60, 2, generator=torch.Generator().manual_seed(0))
    assert LINKS.evaluate(lambda graph: noise, communities).mean() < score.mean() - 10


def test_embeddings_of_the_whole_graph_are_refused(communities: Data) -> None:
    with pytest.raises(InputError, match="have seen the edges"):
        LINKS.evaluate(communities.x, communities)


def test_labels_are_not_needed_and_edges_are(communities: Data) -> None:
    assert communities.y is None
    LINKS.check(communities)
    few = build_graph(np.ones((5, 1)), np.array([[0, 1, 2], [1, 2, 3]]))
    with pytest.raises(InputError, match="3 edges are too few"):
        LINKS.check(few)
    with pytest.raises(InputError, match="3 edges are too few"):
        LINKS.evaluate(lambda graph: graph.x, few)


@pytest.mark.parametrize("kind", ["degree", "spectral"])
def test_features_made_of_the_edges_held_out_are_refused(kind: str, communities: Data) -> None:
    communities.features_of = kind
    with pytest.raises(InputError, match=f"{kind} features were made of the graph's edges"):
        LINKS.evaluate(lambda graph: graph.x, communities)
    communities.features_of = "random"
    LINKS.check(communities)


def test_edges_that_are_noise_are_not_to_be_predicted(communities: Data) -> None:
    noisy = replace_edges(communities, 0.1, 0)
    with pytest.raises(InputError, match=r"0\.1 has put random"):
        LINKS.evaluate(lambda graph: graph.x, noisy)
    LINKS.check(replace_edges(communities, 0, 0))


def test_the_digest_is_of_the_pairs(communities: Data) -> None:
    digest = LINKS.digest(communities)
    assert LINKS.digest(communities) == digest
    other = LinkPrediction(LINKS.name, LINKS.description, seed=1)
    assert other.digest(communities) != digest
