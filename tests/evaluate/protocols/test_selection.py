"""What each protocol's selection sees: labels of the test part never change what is chosen, nor what is predicted.

A test label that leaked anywhere would: the permuted labels are far from the true ones. What does change is the score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from torch_geometric.data import Data

from sfa.evaluate import Classification, Clustering, LinkPrediction
from sfa.evaluate.probes import AdamProbe, OneVsRestProbe, Probe, SgdProbe, SVMProbe
from sfa.evaluate.probes.minibatch import MiniBatchProbe
from sfa.evaluate.protocols import link_prediction
from sfa.evaluate.protocols.link_prediction import Pairs, predict_links
from sfa.evaluate.splits import Split, Splits
from sfa.matrices import unit_rows
from sfa.registry import registered, resolve
from sfa.tasks import Task

QUICK: dict[str, Probe] = {
    "minibatch-10-10-80": MiniBatchProbe(cs=(0.1, 1.0, 10.0), steps=50),
    "pygcl-10-80-10": AdamProbe(steps=100),
    "grace-10-90": OneVsRestProbe(cs=(0.1, 1.0, 10.0)),
    "bgrl-20-80": OneVsRestProbe(cs=(0.1, 1.0, 10.0), selection="5 halves"),
    "tu-svm-10fold": SVMProbe(cs=(0.1, 1.0, 10.0)),
    "tu-linear-10fold": SVMProbe(kernel="linear", cs=(0.1, 1.0, 10.0)),
    "image-sgd": SgdProbe(lrs=(0.01, 0.1, 1.0), epochs=5, batch_size=16),
}
SPLIT_BASED = [name for name, protocol in registered("protocol").items() if isinstance(protocol, Classification)]


def quick(name: str) -> Classification:
    """The protocol on one split; where its fits are many, on fewer of the values it chooses from."""
    protocol = resolve("protocol", name).with_splits(1)
    assert isinstance(protocol, Classification)
    return replace(protocol, probe=QUICK.get(name, protocol.probe))


def with_masks(graph: Data) -> Data:
    n = graph.num_nodes
    part = torch.from_numpy(np.random.default_rng(3).permutation(n))
    graph.train_mask, graph.val_mask, graph.test_mask = (
        part < 0.1 * n,
        (part >= 0.1 * n) & (part < 0.2 * n),
        part >= 0.2 * n,
    )
    return graph


@dataclass(frozen=True)
class Given(Splits):
    """One split, whatever the labels."""

    split: Split
    tasks: ClassVar[tuple[Task, ...]] = ("node", "graph", "image")

    def of(self, graph: Data, count: int) -> list[Split]:
        return [self.split]


def items_for(protocol: Classification, graph: Data) -> Data:
    """The graph, or a set of graphs of one node or of images of one pixel each, where those are scored."""
    n = graph.num_nodes
    if "node" in protocol.tasks:
        return graph.update({"z": graph.x})
    if "image" in protocol.tasks:
        return Data(x=torch.zeros(n, 1, 1, 1, dtype=torch.uint8), y=graph.y, z=graph.x)
    edges = torch.empty(2, 0).long()
    return Data(
        x=graph.x, y=graph.y, z=graph.x, edge_index=edges, ptr=torch.arange(n + 1), scaffold=torch.arange(n) // 3
    )


def predictions(protocol: Classification, graph: Data, split: Split) -> Any:
    z = unit_rows(graph.z) if protocol.probe.unit_rows else graph.z
    (found,) = protocol.probe.predict(z, graph.y.numpy(), [split], lambda: None)
    return found


@pytest.mark.parametrize("name", SPLIT_BASED)
def test_test_labels_change_nothing_but_the_score(name: str, blobs: Callable[..., Data]) -> None:
    protocol = quick(name)
    graph = items_for(protocol, with_masks(blobs(300)))
    (split,) = protocol.draw(graph)
    protocol = replace(protocol, splits=Given(split))  # stratified parts of permuted labels would be others
    permuted = graph.clone()
    permuted.y[split.test] = torch.from_numpy(np.random.default_rng(1).permutation(graph.y[split.test].numpy()))

    before, after = protocol.evaluate(graph.z, graph), protocol.evaluate(graph.z, permuted)
    assert (after.chosen, after.validation) == (before.chosen, before.validation)
    assert after.mean() < before.mean() - 10
    fitted, again = predictions(protocol, graph, split), predictions(protocol, permuted, split)
    assert np.array_equal(fitted.test, again.test), "the classifier is the same"


@pytest.mark.parametrize(
    ("name", "part", "share"),
    [
        ("honest-10-10-80", "validation", 0.1),
        ("honest-10-10-80-sklearn", "validation", 0.1),
        ("honest-1-10-89", "validation", 0.1),
        ("few-5", "validation", 0.05),
        ("pygcl-10-80-10", "validation", 0.8),
        ("knn", "validation", 0.1),
        ("public", "validation", 0.1),
        ("grace-10-90", "train", 0.1),
        ("bgrl-20-80", "train", 0.2),
        ("tu-svm-10fold", "train", 0.9),
        ("tu-linear-10fold", "train", 0.9),
        ("linear-scaffold", "validation", 0.1),
        ("image-linear", "validation", 0.1),
        ("image-sgd", "validation", 0.1),
        ("image-knn", "validation", 0.1),
    ],
)
def test_what_is_selected_depends_on_the_part_that_is_said(
    name: str, part: str, share: float, blobs: Callable[..., Data]
) -> None:
    """pygcl chooses on 80 % of the labels; grace, bgrl and tu have no validation part and choose within training."""
    protocol = quick(name)
    graph = items_for(protocol, with_masks(blobs(300)))
    (split,) = protocol.draw(graph)
    protocol = replace(protocol, splits=Given(split))
    nodes = getattr(split, part)
    assert abs(len(nodes) - share * 300) <= ("image" in name), "stratified parts round the share of every class"
    assert len(split.validation) == (0 if part == "train" else len(nodes))
    permuted = graph.clone()
    permuted.y[nodes] = torch.from_numpy(np.random.default_rng(1).permutation(graph.y[nodes].numpy()))
    before, after = protocol.evaluate(graph.z, graph), protocol.evaluate(graph.z, permuted)
    assert after.validation != before.validation


def test_clustering_sees_no_label(blobs: Callable[..., Data], monkeypatch: pytest.MonkeyPatch) -> None:
    """Permuted labels leave the clusters as they are, and change how they are scored."""
    graph, protocol = blobs(200, noise=0.3), resolve("protocol", "clustering")
    assert isinstance(protocol, Clustering)
    permuted = graph.clone()
    permuted.y = torch.from_numpy(np.random.default_rng(1).permutation(graph.y.numpy()))
    seen: list[np.ndarray] = []

    class Watched(KMeans):  # type: ignore[misc]
        def fit_predict(self, rows: np.ndarray) -> np.ndarray:
            seen.append(super().fit_predict(rows))
            return seen[-1]

    monkeypatch.setattr("sfa.evaluate.protocols.base.KMeans", Watched)
    protocol = protocol.with_splits(3)
    before, after = protocol.evaluate(graph.x, graph), protocol.evaluate(graph.x, permuted)
    assert np.array_equal(seen[:3], seen[3:])
    assert after.mean() < before.mean() - 20


def test_link_prediction_does_not_ask_which_test_pairs_are_edges(
    blobs: Callable[..., Data], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edges and others of the test part change places: what is chosen and every score of a pair stay."""
    graph, protocol, found = blobs(300), resolve("protocol", "link-prediction").with_splits(1), []
    assert isinstance(protocol, LinkPrediction)

    def watched(*arguments: Any) -> Any:
        found.append(predict_links(*arguments))
        return found[-1]

    monkeypatch.setattr(link_prediction, "predict_links", watched)
    before = protocol.evaluate(lambda seen: seen.x, graph)
    (drawn,) = protocol.draw(graph)
    swapped = replace(drawn, test=Pairs(drawn.test.nodes, ~drawn.test.is_edge))
    monkeypatch.setattr(LinkPrediction, "draw", lambda *_: [swapped])
    after = protocol.evaluate(lambda seen: seen.x, graph)
    assert np.array_equal(found[0][0], found[1][0])
    assert (before.chosen, before.validation) == (after.chosen, after.validation)
    assert after.mean() == pytest.approx(100 - before.mean())
