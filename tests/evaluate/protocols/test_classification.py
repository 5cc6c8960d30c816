"""Node classification under a protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate import Classification
from sfa.evaluate.probes import AdamProbe, LogisticProbe, OneVsRestProbe
from sfa.registry import resolve

HONEST = resolve("protocol", "honest-10-10-80")
assert isinstance(HONEST, Classification)


def labeled(y: np.ndarray) -> Data:
    nodes = np.arange(len(y))
    ring = torch.from_numpy(np.stack([nodes, np.roll(nodes, 1)]))
    return Data(x=torch.ones(len(y), 1), y=torch.from_numpy(y), edge_index=torch.cat([ring, ring.flip(0)], 1))


@pytest.mark.parametrize(
    ("name", "sizes", "repeats"),
    [
        ("honest-10-10-80", (30, 30, 240), 20),
        ("honest-10-10-80-sklearn", (30, 30, 240), 20),
        ("honest-1-10-89", (3, 30, 267), 20),
        ("few-5", (15, 15, 270), 20),
        ("pygcl-10-80-10", (30, 240, 30), 20),
        ("grace-10-90", (30, 0, 270), 3),
        ("bgrl-20-80", (60, 0, 240), 20),
        ("knn", (30, 30, 240), 20),
    ],
)
def test_parts_are_what_the_name_says(
    name: str, sizes: tuple[int, int, int], repeats: int, blobs: Callable[..., Data]
) -> None:
    protocol, graph = resolve("protocol", name), blobs(300)
    assert isinstance(protocol, Classification)
    splits = protocol.draw(graph)
    assert len(splits) == protocol.repeats == protocol.count(graph) == repeats
    assert {(len(split.train), len(split.validation), len(split.test)) for split in splits} == {sizes}
    assert protocol.needs == "labels"


def test_settings_are_those_of_the_authors() -> None:
    pygcl, grace, bgrl = (resolve("protocol", name).probe for name in ("pygcl-10-80-10", "grace-10-90", "bgrl-20-80"))  # type: ignore[attr-defined]
    assert pygcl == AdamProbe(steps=5000, lr=0.01, every=20, unit_rows=False)
    assert (grace.cs[0], grace.cs[-1], len(grace.cs), grace.selection) == (2**-10, 2**9, 20, "5 folds")
    assert (bgrl.cs[0], bgrl.cs[-1], len(bgrl.cs), bgrl.selection) == (2**-10, 2**10, 21, "5 halves")
    assert grace.unit_rows
    assert bgrl.unit_rows


def test_few_labels_are_judged_as_many_are() -> None:
    for name in ("honest-1-10-89", "few-5"):
        protocol = resolve("protocol", name)
        assert isinstance(protocol, Classification)
        assert protocol.probe == HONEST.probe  # type: ignore[attr-defined]
        assert protocol.repeats == HONEST.repeats == 20
        assert protocol.tasks == HONEST.tasks


def test_the_score_holds_accuracy_choice_and_validation_of_every_split(blobs: Callable[..., Data]) -> None:
    graph, told = blobs(300), []
    score = HONEST.with_splits(3).evaluate(graph.x, graph, name="mine", on_split=lambda: told.append(1))
    assert (score.name, score.protocol, score.main) == ("mine", "honest-10-10-80", "accuracy")
    assert len(score.of()) == len(score.chosen) == len(score.validation["accuracy"]) == len(told) == 3
    probe, y = LogisticProbe(), graph.y.numpy()
    rows = graph.x / graph.x.norm(dim=1, keepdim=True)
    splits = HONEST.with_splits(3).draw(graph)
    for value, split, found in zip(score.of(), splits, probe.predict(rows, y, splits, lambda: None), strict=True):
        assert value == pytest.approx(100 * np.mean(found.test == y[split.test]), abs=0.5)


def test_an_embedder_is_called_with_the_graph(blobs: Callable[..., Data]) -> None:
    graph, protocol = blobs(), HONEST.with_splits(2)
    assert protocol.evaluate(lambda seen: seen.x, graph) == protocol.evaluate(graph.x, graph)


def test_good_embeddings_score_high_and_noise_scores_chance(blobs: Callable[..., Data]) -> None:
    graph = blobs(600)
    assert HONEST.evaluate(torch.eye(3)[graph.y], graph).mean() == pytest.approx(100)
    noise = np.random.default_rng(0).normal(size=(600, 4))
    assert 25 < HONEST.evaluate(noise, graph).mean() < 42


@pytest.mark.parametrize("name", ["honest-10-10-80", "knn", "grace-10-90"])
def test_row_lengths_do_not_matter_and_unlabelled_nodes_are_left_out(name: str, blobs: Callable[..., Data]) -> None:
    graph, protocol = blobs(100), resolve("protocol", name).with_splits(2)
    if name == "grace-10-90":
        protocol = replace(protocol, probe=OneVsRestProbe(cs=(1.0, 10.0)))
    expected = protocol.evaluate(graph.x, graph)
    scaled = graph.x * torch.linspace(0.1, 10, 100).double()[:, None]
    assert protocol.evaluate(scaled, graph).of() == pytest.approx(expected.of(), abs=1.2)
    more = labeled(np.concatenate([graph.y.numpy(), np.full(50, -1)]))
    assert protocol.evaluate(torch.cat([graph.x, torch.full((50, 6), 7.0)]), more) == expected


def test_pygcl_uses_rows_as_they_are(blobs: Callable[..., Data]) -> None:
    graph = blobs(100)
    protocol = replace(resolve("protocol", "pygcl-10-80-10"), repeats=2, probe=AdamProbe(steps=40))
    scaled = graph.x * torch.linspace(0.01, 100, 100).double()[:, None]
    assert protocol.evaluate(scaled, graph).validation != protocol.evaluate(graph.x, graph).validation


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("honest-10-10-80", np.zeros(50, int), "at least 2 classes"),
        ("honest-10-10-80", np.array([0] * 48 + [1] * 2), "Class 1 has 2 labeled nodes; a split needs at least 3"),
        ("honest-1-10-89", np.arange(200) % 3, "200 labeled nodes give a training part of 2, too few for 3 classes"),
        (
            "honest-1-10-89",
            np.array([0] * 3000 + list(range(1, 21)) * 3),
            "No random training part of 31 nodes has all 21 classes: a class is too rare",
        ),
        ("few-5", np.repeat([0, 1], [90, 10]), "Class 1 has 10 labeled nodes; a split needs at least 11 of every"),
        ("grace-10-90", np.array([0] * 49 + [1]), "at least 2, one for each of training and test"),
        ("bgrl-20-80", np.full(20, -1), "there are 0"),
        ("public", np.arange(50) % 2, "no public split here"),
        ("clustering", np.zeros(50, int), "at least 2 classes"),
    ],
)
def test_data_that_do_not_allow_it_are_refused_by_check_and_by_evaluate(name: str, y: np.ndarray, message: str) -> None:
    graph = labeled(y)
    with pytest.raises(InputError, match=message):
        resolve("protocol", name).check(graph)
    with pytest.raises(InputError, match=message):
        resolve("protocol", name).evaluate(graph.x, graph)


def test_wrong_embeddings_and_labels_are_named(blobs: Callable[..., Data]) -> None:
    graph = blobs(100)
    with pytest.raises(InputError, match="scored against 100 nodes"):
        HONEST.evaluate(graph.x[:-1], graph)
    graph.y = graph.y[:, None]
    with pytest.raises(InputError, match="100 nodes need as many labels"):
        HONEST.check(graph)
    del graph.y
    with pytest.raises(InputError, match="needs labels"):
        HONEST.check(graph)


def test_the_digest_is_of_splits_and_settings(blobs: Callable[..., Data]) -> None:
    graph, others = blobs(100), blobs(100, seed=1)
    digest = HONEST.digest(graph)
    assert len(digest) == 64
    assert digest == HONEST.digest(blobs(100))
    changed = [
        HONEST.with_splits(3),
        replace(HONEST, probe=LogisticProbe(cs=(1.0,))),
        replace(HONEST, name="other"),
        resolve("protocol", "knn"),
    ]
    assert len({digest, *(protocol.digest(graph) for protocol in changed)}) == 5
    first, second = blobs(100), blobs(100)
    first.y[0] = second.y[1] = -1
    assert len({digest, HONEST.digest(first), HONEST.digest(second)}) == 3, "not of the sizes of parts alone"
    assert replace(HONEST, description="in other words").digest(others) == HONEST.digest(others)
