"""Splits are drawn once for data that stay as they are, and anew when anything in them changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.evaluate import Classification, LinkPrediction
from sfa.evaluate.baselines import can_be_supervised, supervised_score
from sfa.evaluate.protocols import link_prediction
from sfa.evaluate.splits import RandomSplits
from sfa.registry import resolve


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was drawn, call by call."""
    calls: list[Any] = []
    of, hold_out = RandomSplits.of, link_prediction.hold_out

    def watched(self: RandomSplits, graph: Data, count: int) -> Any:
        calls.append(of(self, graph, count))
        return calls[-1]

    def held_out(*arguments: Any, **options: Any) -> Any:
        calls.append(hold_out(*arguments, **options))
        return calls[-1]

    monkeypatch.setattr(RandomSplits, "of", watched)
    monkeypatch.setattr(link_prediction, "hold_out", held_out)
    return calls


def test_all_of_an_evaluation_is_one_draw(blobs: Callable[..., Data], drawn: list[Any]) -> None:
    graph, protocol = blobs(200), resolve("protocol", "knn").with_splits(2)
    graph.x = graph.x.float()
    assert isinstance(protocol, Classification)
    protocol.check(graph)
    assert protocol.count(graph) == 2
    assert can_be_supervised(protocol, graph)
    scores = [protocol.evaluate(z, graph) for z in (graph.x, 2 * graph.x, lambda data: data.x)]
    scores.append(supervised_score(graph, protocol, "mlp", name="mlp"))
    assert {score.splits for score in scores} == {protocol.digest(graph)}
    assert len(drawn) == 1
    assert protocol.draw(graph) is drawn[0]


def test_edges_are_held_out_once(blobs: Callable[..., Data], drawn: list[Any]) -> None:
    graph, protocol = blobs(200), resolve("protocol", "link-prediction").with_splits(2)
    assert isinstance(protocol, LinkPrediction)
    for _ in range(2):
        protocol.evaluate(lambda data: data.x, graph)
    assert len(drawn) == 2
    graph.edge_index = graph.edge_index.clone()
    protocol.digest(graph)
    assert len(drawn) == 4


def test_other_settings_and_changed_data_are_drawn_anew(blobs: Callable[..., Data], drawn: list[Any]) -> None:
    graph, protocol = blobs(200), resolve("protocol", "honest-10-10-80")
    assert isinstance(protocol, Classification)
    digests = [protocol.digest(graph), protocol.with_splits(3).digest(graph)]
    assert len(drawn) == 2
    graph.y[0] = (graph.y[0] + 1) % 3  # in place
    protocol.digest(graph)
    assert len(drawn) == 3
    graph.y[:5] = -1
    digests.append(protocol.digest(graph))
    graph.y = torch.where(torch.arange(200) < 9, -1, graph.y)  # another tensor
    digests.append(protocol.digest(graph))
    graph.test_mask = graph.y < 0  # which other splits might be made of
    digests.append(protocol.digest(graph))
    assert (len(drawn), len(set(digests))) == (6, 4)
    graph.y = graph.y.numpy()  # which counts no changes
    assert [protocol.digest(graph), protocol.digest(graph)] == digests[-1:] * 2
    assert len(drawn) == 8
