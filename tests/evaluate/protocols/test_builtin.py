"""Protocols by name, and which of them data allow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.data import build_graph, load
from sfa.errors import InputError
from sfa.evaluate import Protocol, default_protocol, possible
from sfa.evaluate.protocols.base import BY_NAME
from sfa.registry import registered, resolve

FEW_LABELS = ["honest-1-10-89", "few-5"]
OF_GRAPHS = ["tu-svm-10fold", "tu-linear-10fold"]
OF_TARGETS = ["ridge-60-20-20", "ridge-scaffold"]
OF_MOLECULES = ["linear-scaffold", "ridge-scaffold"]
OF_NODES = ["public", "link-prediction"]
OF_IMAGES = ["image-linear", "image-sgd", "image-knn"]


def test_all_are_there_under_their_names() -> None:
    assert list(registered("protocol")) == [
        "honest-10-10-80",
        "honest-10-10-80-sklearn",
        "minibatch-10-10-80",
        *FEW_LABELS,
        "pygcl-10-80-10",
        "grace-10-90",
        "bgrl-20-80",
        "public",
        "clustering",
        "knn",
        "label-signal",
        "link-prediction",
        *OF_GRAPHS,
        "linear-scaffold",
        *OF_TARGETS,
        *OF_IMAGES,
    ]
    assert all(
        isinstance(protocol, Protocol) and protocol.name == name for name, protocol in registered("protocol").items()
    )
    assert [resolve("protocol", name).needs for name in ("knn", "public")] == ["labels", "labels"]
    assert resolve("protocol", "link-prediction").needs == "edges"


def test_unknown_protocol_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'honest-10-10-80'"):
        resolve("protocol", "honest-10-80-10")


def test_what_data_allow_and_why_not_the_rest(blobs: Callable[..., Data]) -> None:
    graph = blobs(100)
    allowed, refused = possible(graph)
    refused_here = (
        "public",
        *BY_NAME,
        "honest-1-10-89",
        *OF_GRAPHS,
        *OF_IMAGES,
    )
    refused_here += (*OF_MOLECULES, "ridge-60-20-20")
    assert [p.name for p in allowed] == [n for n in registered("protocol") if n not in refused_here]
    assert "no `train_mask`" in refused["public"]
    assert "ask for it by name" in refused["honest-10-10-80-sklearn"]
    assert refused["label-signal"] == "It is a diagnosis and no score: ask for it by name."
    assert refused["honest-1-10-89"] == "100 labeled nodes give a training part of 1, too few for 3 classes."
    assert "honest-1-10-89" in [p.name for p in possible(blobs(1000))[0]]

    unlabeled = build_graph(np.ones((30, 1)), np.stack([np.arange(29), np.arange(1, 30)]))
    allowed, refused = possible(unlabeled)
    assert allowed == []
    assert "needs labels" in refused["clustering"]
    assert "too few" in refused["link-prediction"]

    graph.train_mask = graph.val_mask = graph.test_mask = torch.zeros(100, dtype=torch.bool)
    assert "no labeled node" in possible(graph)[1]["public"]


def test_what_a_graph_set_allows_and_why_not_the_rest(blob_set: Callable[..., Data]) -> None:
    graphs = blob_set(600)
    allowed, refused = possible(graphs)
    refused_here = (*BY_NAME, *OF_NODES, *OF_IMAGES, *OF_MOLECULES, "ridge-60-20-20")
    assert [p.name for p in allowed] == [n for n in registered("protocol") if n not in refused_here]
    for name in OF_NODES:
        assert refused[name] == f"{name} scores the nodes of one graph, and pairs is a set of graphs."
    for name in OF_IMAGES:
        assert refused[name] == f"{name} scores images, and pairs is a set of graphs."
    del graphs.y
    allowed, refused = possible(graphs)
    assert allowed == []
    assert all("this graph set has none" in refused[name] for name in ("knn", "clustering", *OF_GRAPHS))


def test_what_an_image_set_allows_and_why_not_the_rest(blob_images: Callable[..., Data]) -> None:
    images = blob_images(100)
    allowed, refused = possible(images)
    assert [p.name for p in allowed] == ["clustering", *OF_IMAGES]
    assert refused["knn"] == "knn scores the nodes of one graph or whole graphs, and dots is a set of images."
    assert refused["public"] == "public scores the nodes of one graph, and dots is a set of images."
    assert refused["tu-svm-10fold"] == "tu-svm-10fold scores whole graphs, and dots is a set of images."
    del images.y
    allowed, refused = possible(images)
    assert allowed == []
    assert all("this image set has none" in refused[name] for name in ("clustering", *OF_IMAGES))


def test_protocols_of_graph_sets_refuse_one_graph(planted: Data, blobs: Callable[..., Data]) -> None:
    for name in OF_GRAPHS:
        protocol = resolve("protocol", name)
        for call in (protocol.check, protocol.digest, lambda graph: protocol.evaluate(graph.x, graph)):  # noqa: B023
            with pytest.raises(InputError, match=f"^{name} scores whole graphs, and planted is one graph.$"):
                call(planted)
        with pytest.raises(InputError, match="and this is one graph"):
            resolve("protocol", name).check(blobs(100))


def test_every_protocol_says_what_it_scores() -> None:
    of_graphs = {name: protocol.tasks == ("graph",) for name, protocol in registered("protocol").items()}
    of_nodes = {name: protocol.tasks == ("node",) for name, protocol in registered("protocol").items()}
    of_images = {name: protocol.tasks == ("image",) for name, protocol in registered("protocol").items()}
    assert [name for name, only in of_graphs.items() if only] == OF_GRAPHS + OF_MOLECULES
    assert [name for name, only in of_images.items() if only] == OF_IMAGES
    assert resolve("protocol", "clustering").tasks == ("node", "graph", "image")
    assert [name for name, only in of_nodes.items() if only] == OF_NODES


def test_without_a_name_it_is_the_one_of_the_level(
    blobs: Callable[..., Data], blob_set: Callable[..., Data], blob_images: Callable[..., Data]
) -> None:
    assert (default_protocol("node"), default_protocol("graph")) == ("honest-10-10-80", "tu-svm-10fold")
    assert default_protocol("image") == "image-linear"
    resolve("protocol", default_protocol("image")).check(blob_images())
    resolve("protocol", default_protocol("node")).check(blobs())
    resolve("protocol", default_protocol("graph")).check(blob_set())


def test_digests_are_those_that_ledgers_hold() -> None:
    """A score counts as measured while its digest stays: kept from before there were protocols of graph sets.

    That of clustering was ``d154f0525b42a46c`` with a k-means of our own, whose starts are not scikit-learn's.
    """
    cora = load("cora")
    assert {
        name: resolve("protocol", name).digest(cora)[:16]
        for name in registered("protocol")
        if name not in OF_GRAPHS + OF_IMAGES + OF_TARGETS + OF_MOLECULES
    } == {
        "honest-10-10-80": "f41214296f90354f",
        "honest-10-10-80-sklearn": "62006fa7e8605923",
        "honest-1-10-89": "e34380fbb9f39c1c",
        "few-5": "4347bdf197256f6b",
        "pygcl-10-80-10": "6ddd8a74f1f9c9fc",
        "grace-10-90": "4bc1fc5e8abb0df8",
        "bgrl-20-80": "a22147a581f2c3eb",
        "public": "e9c59a9750fc1751",
        "clustering": "6807c61805f64316",
        "minibatch-10-10-80": "8b66101d18bd7bef",
        "knn": "e0bb58de9630a294",
        "label-signal": "2618a1b0f5e5fd30",
        "link-prediction": "4c2f01edbb9ebfb3",
    }
