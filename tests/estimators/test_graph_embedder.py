"""The embedder of graphs has scikit-learn's manners, and takes many graphs in any of their shapes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

import sfa
from sfa import GraphEmbedder
from sfa.data import as_graphs, load
from sfa.errors import InputError
from sfa.estimators.base import FORMAT
from sfa.run import load_recipe
from sfa.train import load_tensors, save_tensors, train
from tests.callbacks import on_epoch

SMALL: dict[str, Any] = {"hidden": 4, "epochs": 2, "batch_size": 16, "random_state": 0}
WIDTH = 12
"""Of the embeddings: three layers side by side."""


@pytest.fixture(scope="module")
def fitted(molecule_list: list[Data]) -> GraphEmbedder:
    """For reading only."""
    return GraphEmbedder(**SMALL).fit(molecule_list)


def bare(graphs: list[Data]) -> list[Data]:
    """The graphs without their features."""
    return [Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes) for graph in graphs]


def networks_of(graphs: list[Data]) -> list[nx.Graph]:
    networks = []
    for graph in graphs:
        network = nx.Graph(y=int(graph.y))
        network.add_nodes_from((i, {"x": row}) for i, row in enumerate(graph.x.tolist()))
        network.add_edges_from(graph.edge_index.T.tolist())
        networks.append(network)
    return networks


def test_it_is_the_packages_own_name() -> None:
    assert sfa.GraphEmbedder is GraphEmbedder
    assert "GraphEmbedder" in sfa.__all__


def test_parameters_round_trip() -> None:
    given = {
        "method": "joao",
        "spectral": "none",
        "encoder": "pooled-gcn",
        "augmentation": "identity",
        "hidden": 5,
        "iterations": 2,
        "tau": 0.5,
        "epochs": 7,
        "lr": 0.1,
        "batch_size": 9,
        "node_features": "degree:8",
        "feature_norm": "standard",
        "options": {"encoder.layers": 2},
        "random_state": 4,
        "device": "cpu",
        "verbose": 0,
        "callbacks": None,
    }
    embedder = GraphEmbedder(**given)
    assert embedder.get_params() == given
    assert GraphEmbedder().set_params(**given).get_params() == given
    assert clone(embedder).get_params() == given
    own = {"graph": None}
    assert sfa.NodeEmbedder(**given).get_params() == given | own, "the two embedders share their other parameters"
    assert GraphEmbedder().method == "graphcl"


def test_fit(molecule_list: list[Data]) -> None:
    embedder, before = GraphEmbedder(**SMALL), [graph.clone() for graph in molecule_list]
    assert embedder.fit(molecule_list) is embedder
    assert embedder.n_features_in_ == 4
    assert embedder.features_of_ is None
    assert [row["epoch"] for row in embedder.history_] == [1, 2]
    recipe = embedder.recipe_
    assert (recipe.encoder["hidden"], recipe.sampler["batch_size"], recipe.training.seed) == (4, 16, 0)
    assert embedder.embedding_.shape == (40, WIDTH)
    assert embedder.embedding_.dtype == np.float32
    assert embedder.graph_ids_ == list(range(40))
    np.testing.assert_array_equal(embedder.transform(molecule_list), embedder.embedding_)
    np.testing.assert_array_equal(GraphEmbedder(**SMALL).fit_transform(molecule_list), embedder.embedding_)
    for graph, copy in zip(molecule_list, before, strict=True):
        assert graph.keys() == copy.keys()
        assert all(torch.equal(graph[key], copy[key]) for key in copy.keys())  # noqa: SIM118 (not a dict)


def test_fitting_is_training(molecules: Data, fitted: GraphEmbedder) -> None:
    """What fit learns is what the loop learns from the same recipe."""
    recipe, history = fitted.recipe_, []
    method = recipe.build(4)
    training = recipe.training.arguments
    train(method, molecules, **training, sampler=recipe.make_sampler(), callbacks=[on_epoch(history.append)])
    assert [row["loss"] for row in history] == [row["loss"] for row in fitted.history_]
    np.testing.assert_array_equal(method.embed(molecules).numpy(), fitted.embedding_)


def test_the_shape_of_the_set_does_not_matter(molecule_list: list[Data], fitted: GraphEmbedder) -> None:
    shapes: dict[str, Any] = {
        "tuple": tuple(molecule_list),
        "Batch": Batch.from_data_list(molecule_list),
        "shuffling DataLoader": DataLoader(molecule_list, batch_size=7, shuffle=True),
        "set": as_graphs(molecule_list),
        "NetworkX": networks_of(molecule_list),
    }
    for name, shape in shapes.items():
        np.testing.assert_array_equal(fitted.transform(shape), fitted.embedding_, err_msg=name)
        np.testing.assert_array_equal(GraphEmbedder(**SMALL).fit_transform(shape), fitted.embedding_, err_msg=name)


def test_graphs_that_can_be_read_once(molecule_list: list[Data], fitted: GraphEmbedder) -> None:
    z = GraphEmbedder(**SMALL).fit_transform(graph for graph in molecule_list)
    np.testing.assert_array_equal(z, fitted.embedding_)


def test_what_fit_transform_gives_is_the_users(molecule_list: list[Data]) -> None:
    embedder = GraphEmbedder(**{**SMALL, "epochs": 1})
    z = embedder.fit_transform(molecule_list)
    z[:] = 0
    assert (embedder.embedding_ != 0).any()


def test_names_of_graphs(molecule_list: list[Data]) -> None:
    networks = networks_of(molecule_list)
    for number, network in enumerate(networks):
        network.name = f"molecule {number}"
    assert GraphEmbedder(**SMALL).fit(networks).graph_ids_ == [f"molecule {number}" for number in range(40)]


def test_an_embedding_is_of_its_graph_alone(molecule_list: list[Data], fitted: GraphEmbedder) -> None:
    """Its company and its place in the list do not matter, nor do the numbers of its nodes."""
    rows = [31, 4, 17]
    z = fitted.transform([molecule_list[row] for row in rows])
    np.testing.assert_allclose(z, fitted.embedding_[rows], rtol=1e-4, atol=1e-5)
    graph = molecule_list[4]
    order = torch.randperm(graph.num_nodes, generator=torch.Generator().manual_seed(0))
    renumbered = Data(x=graph.x[order], edge_index=order.argsort()[graph.edge_index])
    z = fitted.transform([renumbered, molecule_list[0]])
    np.testing.assert_allclose(z[0], fitted.embedding_[4], rtol=1e-4, atol=1e-5)
    assert not np.allclose(fitted.embedding_[4], fitted.embedding_[0], atol=1e-3)


def test_one_new_graph(molecule_list: list[Data], fitted: GraphEmbedder) -> None:
    z = fitted.transform(molecule_list[5:6])
    np.testing.assert_allclose(z, fitted.embedding_[5:6], rtol=1e-4, atol=1e-5)


def test_labels_are_not_used(molecule_list: list[Data], fitted: GraphEmbedder) -> None:
    """They may be of any kind: regression targets, several a graph, one a node."""
    others = [Data(x=graph.x, edge_index=graph.edge_index, y=torch.rand(3, 2)) for graph in molecule_list]
    np.testing.assert_array_equal(GraphEmbedder(**SMALL).fit(others, y="whatever").embedding_, fitted.embedding_)
    np.testing.assert_array_equal(fitted.transform(others), fitted.embedding_)


def test_random_state(molecule_list: list[Data]) -> None:
    def embed(random_state: Any) -> np.ndarray:
        return GraphEmbedder(**{**SMALL, "epochs": 1, "random_state": random_state}).fit_transform(molecule_list)

    np.testing.assert_array_equal(embed(3), embed(np.int64(3)))
    assert not np.array_equal(embed(3), embed(4))
    np.testing.assert_array_equal(embed(np.random.RandomState(3)), embed(np.random.RandomState(3)))
    assert not np.array_equal(embed(None), embed(None))


@pytest.mark.parametrize(("node_features", "width"), [(None, 33), ("degree:6", 6)])
def test_graphs_without_features_get_degrees(
    molecule_list: list[Data], tmp_path: Path, node_features: str | None, width: int
) -> None:
    """A node's features are one-hot in its number of neighbours, which are at most 5 here."""
    embedder = GraphEmbedder(**SMALL, node_features=node_features).fit(bare(molecule_list))
    assert (embedder.features_of_, embedder.n_features_in_) == ("degree", width)
    embedder.save(tmp_path / "embedder.safetensors")
    loaded = GraphEmbedder.load(tmp_path / "embedder.safetensors")
    assert (loaded.features_of_, loaded.node_features, loaded.n_features_in_) == ("degree", node_features, width)
    for graphs in (bare(molecule_list), [nx.Graph(graph.edge_index.T.tolist()) for graph in molecule_list]):
        np.testing.assert_allclose(loaded.transform(graphs), embedder.embedding_, rtol=1e-4, atol=1e-5)


def test_made_features_and_own_ones_are_not_mixed(molecule_list: list[Data], fitted: GraphEmbedder) -> None:
    """Not even where they are as many: a column means something else."""
    with pytest.raises(InputError, match="have degree features made"):
        fitted.transform(bare(molecule_list))
    made = GraphEmbedder(**SMALL).fit(bare(molecule_list))
    wide = [Data(x=torch.ones(graph.num_nodes, 33), edge_index=graph.edge_index) for graph in molecule_list]
    with pytest.raises(InputError, match="fitted to degree features"):
        made.transform(wide)
    np.testing.assert_array_equal(made.transform(as_graphs(bare(molecule_list))), made.embedding_)
    with pytest.raises(InputError, match="degree:4"):
        GraphEmbedder(node_features="degree:4").fit(molecule_list)
    with pytest.raises(InputError, match="50 features; this embedder"):
        made.transform(as_graphs(bare(molecule_list), node_features="degree:50"))


def test_another_number_of_features(molecule_list: list[Data], fitted: GraphEmbedder) -> None:
    narrow = [Data(x=graph.x[:, :3], edge_index=graph.edge_index) for graph in molecule_list]
    with pytest.raises(InputError, match="3 features; this embedder"):
        fitted.transform(narrow)


def test_graphs_without_edges(molecule_list: list[Data]) -> None:
    """A single atom, and two that are not bound: each is embedded, by its features alone."""
    none = torch.empty(2, 0, dtype=torch.int64)
    graphs = [*molecule_list, Data(x=torch.eye(4)[:1], edge_index=none), Data(x=torch.eye(4)[:2], edge_index=none)]
    embedder = GraphEmbedder(**SMALL).fit(graphs)
    assert embedder.embedding_.shape == (42, WIDTH)
    assert np.isfinite(embedder.embedding_).all()
    alone = [Data(x=torch.eye(4)[kind], edge_index=none) for kind in ([0], [1], [0, 1])]
    first, second, both = embedder.transform(alone)
    np.testing.assert_allclose(first + second, both, rtol=1e-4, atol=1e-5)


def test_it_is_fitted_to_graphs_of_which_none_has_an_edge() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    graphs = [Data(x=torch.eye(4)[: 1 + number % 4], edge_index=none) for number in range(6)]
    assert np.isfinite(GraphEmbedder(**SMALL).fit_transform(graphs)).all()


@pytest.mark.parametrize(
    ("thing", "reason"),
    [
        ([], "no graph"),
        (None, "NoneType"),
        (3, "int"),
        ("mutag", "str"),
        ([1, 2], "Item 0"),
        (np.ones((3, 3)), "Item 0"),
        ([Data(x=torch.ones(0, 4), edge_index=torch.empty(2, 0, dtype=torch.int64))] * 2, "no nodes"),
        (Data(x=torch.ones(3, 4), edge_index=torch.tensor([[0, 1], [1, 0]])), "NodeEmbedder"),
        (nx.path_graph(3), "NodeEmbedder"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_what_is_no_set_of_graphs(fitted: GraphEmbedder, thing: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        GraphEmbedder(**SMALL).fit(thing)
    with pytest.raises(InputError, match=reason):
        fitted.transform(thing)


def test_one_graph_is_not_enough_to_learn_from(molecule_list: list[Data]) -> None:
    with pytest.raises(InputError, match=r"one graph.* 2 are needed"):
        GraphEmbedder(**SMALL).fit(molecule_list[:1])


def test_two_graphs_are_enough(molecule_list: list[Data]) -> None:
    assert np.isfinite(GraphEmbedder(**SMALL).fit_transform(molecule_list[:2])).all()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"method": "grahpcl"}, "did you mean 'graphcl'"),
        ({"options": {"encoder.layer": 1}}, "did you mean 'layers'"),
        ({"hidden": 0}, "hidden"),
        ({"batch_size": 0}, "batch_size"),
        ({"random_state": -1}, "seed"),
        ({"device": "nonsense"}, "nonsense"),
        ({"node_features": "spectral"}, "spectral"),
        ({"options": {"sampler": "whole"}}, "graphcl embeds"),
    ],
    ids=str,
)
def test_wrong_arguments_are_told_by_fit(molecule_list: list[Data], arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        GraphEmbedder(**arguments).fit(bare(molecule_list))


class Unread:
    """Graphs that nobody may look at."""

    def __iter__(self) -> Iterator[Data]:
        raise AssertionError("the data were read")


def test_a_method_of_the_other_level_is_told_before_any_work() -> None:
    with pytest.raises(InputError, match=r"not graphs: use sfa\.NodeEmbedder\."):
        GraphEmbedder("grace", options={"encoder.name": "gin"}).fit(Unread())
    with pytest.raises(InputError, match=r"not nodes: use sfa\.GraphEmbedder\."):
        sfa.NodeEmbedder("graphcl", options={"augmentation.edge_drop": (0, 0)}).fit(Unread())
    with pytest.raises(InputError, match=r"use sfa\.NodeEmbedder"):
        GraphEmbedder.from_recipe("paper/cora")
    with pytest.raises(InputError, match=r"use sfa\.GraphEmbedder"):
        sfa.NodeEmbedder.from_recipe("graphcl/mutag")


def test_from_recipe(molecule_list: list[Data]) -> None:
    embedder = GraphEmbedder.from_recipe("graphcl/mutag")
    assert isinstance(embedder, GraphEmbedder)
    assert embedder._recipe() == clone(embedder)._recipe() == (load_recipe("graphcl/mutag"), {})
    assert embedder.set_params(epochs=1, hidden=4).fit(molecule_list).recipe_ == load_recipe("graphcl/mutag").updated(
        {"training.epochs": 1, "encoder.hidden": 4}
    )


def test_not_fitted(molecule_list: list[Data], tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="GraphEmbedder is not fitted"):
        GraphEmbedder().transform(molecule_list)
    with pytest.raises(NotFittedError, match="nothing to save"):
        GraphEmbedder().save(tmp_path / "embedder.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_save_and_load(molecule_list: list[Data], fitted: GraphEmbedder, tmp_path: Path) -> None:
    path = tmp_path / "embedder.safetensors"
    fitted.save(path)
    loaded = GraphEmbedder.load(path)
    assert isinstance(loaded, GraphEmbedder)
    np.testing.assert_array_equal(loaded.transform(molecule_list), fitted.embedding_)
    assert (loaded.recipe_, loaded.n_features_in_, loaded.features_of_) == (fitted.recipe_, 4, None)
    np.testing.assert_array_equal(clone(loaded).fit_transform(molecule_list), fitted.embedding_)
    with pytest.raises(InputError, match="fitted to features of their own"):
        loaded.transform(bare(molecule_list))


def test_a_file_of_the_other_embedder(fitted: GraphEmbedder, planted: Data, tmp_path: Path) -> None:
    nodes = sfa.NodeEmbedder(hidden=4, epochs=1, random_state=0).fit(planted)
    nodes.save(tmp_path / "nodes.safetensors")
    with pytest.raises(
        InputError,
        match=r"a fitted sfa\.NodeEmbedder: load",
    ):
        GraphEmbedder.load(tmp_path / "nodes.safetensors")
    fitted.save(tmp_path / "graphs.safetensors")
    with pytest.raises(InputError, match=r"a fitted sfa\.GraphEmbedder: load"):
        sfa.NodeEmbedder.load(tmp_path / "graphs.safetensors")


@pytest.mark.parametrize("change", [{"format": FORMAT + 1}, {"in_features": "4"}, {"features_of": 3}], ids=str)
def test_a_file_with_other_facts(fitted: GraphEmbedder, tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "embedder.safetensors"
    fitted.save(path)
    weights, meta = load_tensors(path)
    save_tensors(path, weights, {**meta, **change})
    with pytest.raises(InputError, match="not an embedder of this version"):
        GraphEmbedder.load(path)


def test_in_a_pipeline(molecule_list: list[Data]) -> None:
    """The classifier is trained on some graphs and asked for others, which the embedder has not seen either."""
    y = [int(graph.y) for graph in molecule_list]
    pipeline = make_pipeline(GraphEmbedder(**SMALL), SVC(C=10))
    predicted = pipeline.fit(molecule_list[:30], y[:30]).predict(molecule_list[30:])
    embedder = GraphEmbedder(**SMALL).fit(molecule_list[:30])
    by_hand = SVC(C=10).fit(embedder.embedding_, y[:30])
    np.testing.assert_array_equal(predicted, by_hand.predict(embedder.transform(molecule_list[30:])))


def test_cross_validation(molecule_list: list[Data]) -> None:
    """Rings are told from paths, by graphs held out of both steps."""
    y = [int(graph.y) for graph in molecule_list]
    pipeline = make_pipeline(GraphEmbedder(**SMALL, node_features="degree:6"), SVC(C=100))
    assert cross_val_score(pipeline, bare(molecule_list), y, cv=4).mean() > 0.8
    search = GridSearchCV(pipeline, {"graphembedder__hidden": [2, 4]}, cv=2).fit(bare(molecule_list), y)
    assert search.best_estimator_[0].recipe_.encoder["hidden"] == search.best_params_["graphembedder__hidden"]


def test_on_the_bundled_molecules() -> None:
    graphs = load("mutag")
    embedder = GraphEmbedder(epochs=2, random_state=0)
    z = embedder.fit_transform(graphs)
    assert z.shape == (188, 96)
    assert embedder.graph_ids_ == graphs.graph_ids
    assert embedder.features_of_ is None
    assert cross_val_score(make_pipeline(StandardScaler(), SVC()), z, graphs.y.numpy(), cv=5).mean() > 0.8
