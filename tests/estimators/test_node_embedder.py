"""The embedder of nodes has scikit-learn's manners, and takes a graph in any of its shapes."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from torch_geometric.data import Data

import sfa
from sfa import NodeEmbedder
from sfa.errors import InputError
from sfa.estimators.base import FORMAT
from sfa.nn.sparse import propagation_of
from sfa.run import Recipe, load_recipe
from sfa.train import load_tensors, save_tensors, train
from tests.callbacks import on_epoch

SMALL: dict[str, Any] = {"hidden": 8, "epochs": 3, "options": {"method.projection": 8}, "random_state": 0}


@pytest.fixture
def fitted(planted: Data) -> NodeEmbedder:
    return NodeEmbedder(**SMALL).fit(planted)


def test_it_is_the_packages_own_name() -> None:
    assert sfa.NodeEmbedder is NodeEmbedder
    assert "NodeEmbedder" in sfa.__all__


def test_parameters_round_trip() -> None:
    given = {
        "method": "g-bt",
        "spectral": "none",
        "encoder": "mlp",
        "augmentation": "identity",
        "hidden": 5,
        "iterations": None,
        "tau": None,
        "epochs": 7,
        "lr": 0.1,
        "batch_size": None,
        "node_features": "degree",
        "feature_norm": "row",
        "graph": None,
        "options": {"encoder.layers": 3},
        "random_state": 4,
        "device": "cpu",
        "verbose": 1,
        "callbacks": None,
    }
    embedder = NodeEmbedder(**given)
    assert embedder.get_params() == given
    other = NodeEmbedder().set_params(**given)
    assert other.get_params() == given
    copy = clone(embedder)
    assert copy is not embedder
    assert copy.get_params() == given


def test_the_constructor_only_stores() -> None:
    """Wrong arguments are told by fit, so that clone and set_params never fail."""
    embedder = NodeEmbedder("no such method", hidden=-1)
    assert clone(embedder).get_params()["hidden"] == -1


def test_clone_of_a_fitted_one_is_not_fitted(fitted: NodeEmbedder, planted: Data) -> None:
    copy = clone(fitted)
    assert not hasattr(copy, "embedding_")
    np.testing.assert_array_equal(copy.fit(planted).embedding_, fitted.embedding_)


def test_fit(planted: Data) -> None:
    embedder = NodeEmbedder(**SMALL)
    before = planted.clone()
    assert embedder.fit(planted) is embedder
    assert embedder.n_features_in_ == 8
    assert [row["epoch"] for row in embedder.history_] == [1, 2, 3]
    recipe = embedder.recipe_
    assert (recipe.method["name"], recipe.spectral["name"]) == ("neighbor-contrast", "none")
    assert recipe.method["hidden"] == 8
    assert embedder.embedding_.shape == (60, 8)
    assert embedder.embedding_.dtype == np.float32
    np.testing.assert_array_equal(embedder.embedding_, embedder.transform(planted))
    np.testing.assert_array_equal(embedder.embedding_, NodeEmbedder(**SMALL).fit_transform(planted))
    assert torch.equal(planted.x, before.x)


def test_labels_are_not_used(planted: Data, fitted: NodeEmbedder) -> None:
    unlabeled = Data(x=planted.x, edge_index=planted.edge_index)
    np.testing.assert_array_equal(NodeEmbedder(**SMALL).fit(unlabeled, y="whatever").embedding_, fitted.embedding_)


def shapes_of(graph: Data) -> dict[str, Any]:
    x, edges, n = graph.x.numpy(), graph.edge_index.numpy(), graph.num_nodes
    adjacency = sparse.csr_array((np.ones(edges.shape[1]), (edges[0], edges[1])), shape=(n, n))
    network = nx.Graph()
    network.add_nodes_from((i, {"x": x[i].tolist()}) for i in range(n))
    network.add_edges_from(edges.T.tolist())
    one_way = edges[:, edges[0] < edges[1]][:, ::-1].copy()
    return {
        "Data": Data(x=graph.x, edge_index=graph.edge_index),
        "X and sparse A": (x, adjacency),
        "X and dense A": (x, adjacency.toarray()),
        "X and edge index": (x, edges),
        "X and one direction of the edges": (x, one_way),
        "sparse X and sparse A": (sparse.csr_array(x), adjacency),
        "NetworkX": network,
    }


def test_the_shape_of_the_graph_does_not_matter(planted: Data, fitted: NodeEmbedder) -> None:
    for name, shape in shapes_of(planted).items():
        embedding = NodeEmbedder(**SMALL).fit_transform(shape)
        np.testing.assert_array_equal(embedding, fitted.embedding_, err_msg=name)
        np.testing.assert_array_equal(fitted.transform(shape), fitted.embedding_, err_msg=name)


@pytest.mark.parametrize("thing", [None, 3, np.ones((3, 3)), (np.ones((3, 2)),), "mutag"], ids=str)
def test_what_is_no_graph(fitted: NodeEmbedder, thing: Any) -> None:
    with pytest.raises(InputError):
        NodeEmbedder(**SMALL).fit(thing)
    with pytest.raises(InputError):
        fitted.transform(thing)


def test_random_state(planted: Data) -> None:
    def embed(random_state: Any) -> np.ndarray:
        return NodeEmbedder(**{**SMALL, "epochs": 1, "random_state": random_state}).fit_transform(planted)

    np.testing.assert_array_equal(embed(3), embed(3))
    np.testing.assert_array_equal(embed(3), embed(np.int64(3)))
    assert not np.array_equal(embed(3), embed(4))
    state = np.random.RandomState
    np.testing.assert_array_equal(embed(state(3)), embed(state(3)))
    one = state(3)
    assert not np.array_equal(embed(one), embed(one)), "the state goes on from fit to fit"
    assert not np.array_equal(embed(None), embed(None))


def test_randomness_outside_is_left_alone(planted: Data) -> None:
    state = torch.get_rng_state(), np.random.get_state()[1].tolist()  # noqa: NPY002
    NodeEmbedder(**SMALL).fit(planted)
    assert torch.equal(torch.get_rng_state(), state[0])
    assert np.random.get_state()[1].tolist() == state[1]  # noqa: NPY002


@pytest.mark.parametrize(
    ("method", "anchor"), [("grace", None), ("grace", "lonely"), ("neighbor-contrast", None)], ids=str
)
def test_new_nodes(planted: Data, method: str, anchor: str | None) -> None:
    """Three nodes are added, tied to one another alone or to one old node too: who is far from that one stays put.

    A new edge changes its old end's degree, and so the weight of that node's edges: three steps away is far
    from an encoder of two layers.
    """
    fitted = NodeEmbedder(method, **SMALL).fit(planted)
    network = nx.Graph(planted.edge_index.T.tolist())
    lonely = min(network, key=network.degree)
    x = torch.cat([planted.x, torch.full((3, 8), 0.5)])
    new = torch.tensor([[60, 61], [61, 62]] if anchor is None else [[60, 61, 61], [61, lonely, 62]])
    grown = fitted.transform(Data(x=x, edge_index=torch.cat([planted.edge_index, new], dim=1)))
    assert grown.shape == (63, 8)
    assert np.isfinite(grown).all()
    near = set() if anchor is None else set(nx.single_source_shortest_path_length(network, lonely, cutoff=2))
    far = sorted(set(range(60)) - near)
    assert len(far) > 10
    np.testing.assert_array_equal(grown[far], fitted.embedding_[far])
    moved = np.abs(grown[:60] - fitted.embedding_).max(axis=1) > 1e-4
    assert moved.any() == moved[lonely] == (anchor is not None)


def test_another_number_of_features(fitted: NodeEmbedder, planted: Data) -> None:
    with pytest.raises(InputError, match=r"5 features.*fitted to 8"):
        fitted.transform((planted.x[:, :5], planted.edge_index))


def test_not_fitted(planted: Data, tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="fit"):
        NodeEmbedder().transform(planted)
    with pytest.raises(NotFittedError, match="nothing to save"):
        NodeEmbedder().save(tmp_path / "embedder.safetensors")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_fit_leaves_no_half_fitted_embedder(planted: Data) -> None:
    embedder = NodeEmbedder(**{**SMALL, "lr": 1e30, "epochs": 9})
    with pytest.raises(sfa.TrainingError, match="epoch"):
        embedder.fit(planted)
    with pytest.raises(NotFittedError):
        embedder.transform(planted)


def test_it_never_fits_to_weights_that_are_no_numbers(planted: Data) -> None:
    """One step at an absurd rate: its loss was that of the good weights before it."""
    embedder = NodeEmbedder(**{**SMALL, "lr": 1e30, "epochs": 1, "options": {"training.weight_decay": 1e30}})
    with pytest.raises(sfa.TrainingError, match="epoch 1"):
        embedder.fit(planted)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"method": "grcae"}, "did you mean 'grace'"),
        ({"spectral": "sfaa"}, "did you mean 'sfa'"),
        ({"method": "grace", "options": {"method.taus": 1}}, "did you mean 'tau'"),
        ({"options": {"metod.tau": 1}}, "did you mean 'method'"),
        ({"options": {"training.epoch": 1}}, "did you mean 'epochs'"),
        ({"hidden": 0}, "hidden"),
        ({"method": "grace", "tau": -1}, "tau"),
        ({"epochs": 0}, "epochs"),
        ({"method": "g-bt", "tau": 0.5}, "tau"),
        ({"random_state": -1}, "seed"),
        ({"device": "nonsense"}, "nonsense"),
    ],
    ids=str,
)
def test_wrong_arguments_are_told_by_fit(planted: Data, arguments: dict[str, Any], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        NodeEmbedder(**arguments).fit(planted)


def test_options_by_path(planted: Data) -> None:
    options = {
        "augmentation.edge_drop": (0.0, 0.5),
        "method.projection": 4,
        "training.warmup": 2,
        "feature_norm": "none",
    }
    settings = {"hidden": 4, "epochs": 2, "iterations": 3, "lr": 0.03, "options": options, "random_state": 1}
    embedder = NodeEmbedder("grace", **settings).fit(planted)
    recipe = embedder.recipe_
    assert tuple(recipe.augmentation["edge_drop"]) == (0.0, 0.5)
    assert (recipe.encoder["hidden"], recipe.spectral["iterations"]) == (4, 3)
    assert (recipe.training.warmup, recipe.training.lr, recipe.training.seed) == (2, 0.03, 1)
    assert recipe.feature_norm == "none"
    assert [row["lr"] for row in embedder.history_] == [0.015, 0.03]


def test_other_epochs_than_a_recipes_stretch_its_warm_up() -> None:
    embedder = NodeEmbedder.from_recipe("bgrl/wikics")
    assert embedder._recipe()[0].training.warmup == 1000
    assert embedder.set_params(epochs=100)._recipe()[0].training.warmup == 10


@pytest.mark.parametrize("name", ["paper/cora", "paper/photo", "demo/without-augmentation"])
def test_from_recipe(planted: Data, name: str) -> None:
    embedder = NodeEmbedder.from_recipe(name)
    assert embedder._recipe()[0] == load_recipe(name)
    assert clone(embedder)._recipe()[0] == load_recipe(name)
    assert embedder.set_params(epochs=1, hidden=4).fit(planted).recipe_ == load_recipe(name).updated(
        {"training.epochs": 1, "encoder.hidden": 4}
    )


@pytest.mark.parametrize("method", ["grace", "deepwalk"])
def test_smoothing(planted: Data, tmp_path: Path, method: str) -> None:
    """Of what is learned in the same way, it is one more product with the graph; a saved embedder still does it."""
    plain, smooth = (
        NodeEmbedder(method, hidden=8, epochs=1, options={"smoothing": times}, random_state=0).fit(planted)
        for times in (0, 2)
    )
    spread = propagation_of(planted)
    expected = (spread @ (spread @ torch.from_numpy(plain.embedding_))).numpy()
    np.testing.assert_allclose(smooth.embedding_, expected, rtol=1e-5, atol=1e-7)
    np.testing.assert_array_equal(smooth.transform(planted), smooth.embedding_)
    smooth.save(tmp_path / "embedder.safetensors")
    loaded = NodeEmbedder.load(tmp_path / "embedder.safetensors")
    np.testing.assert_array_equal(loaded.transform(planted), smooth.embedding_)
    assert loaded._recipe()[0] == NodeEmbedder.from_recipe(smooth.recipe_.as_dict())._recipe()[0] == smooth.recipe_


def test_from_a_mapping_and_a_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("method: {name: g-bt, hidden: 3}\nspectral: none\n")
    from_file = NodeEmbedder.from_recipe(tmp_path / "mine.yaml")
    from_mapping = NodeEmbedder.from_recipe({"method": {"name": "g-bt", "hidden": 3}, "spectral": None})
    assert from_file.get_params() == from_mapping.get_params()
    assert from_file._recipe()[0].encoder["hidden"] == 3


@pytest.mark.parametrize("method", ["grace", "g-bt"])
def test_save_and_load(planted: Data, tmp_path: Path, method: str) -> None:
    options = {"method.projection": 8} if method == "grace" else {"encoder.activation": "rrelu"}
    fitted = NodeEmbedder(method, **{**SMALL, "options": options}).fit(planted)
    path = tmp_path / "embedder.safetensors"
    fitted.save(path)
    loaded = NodeEmbedder.load(path)
    np.testing.assert_array_equal(loaded.transform(planted), fitted.embedding_)
    assert loaded.recipe_ == fitted.recipe_
    assert loaded.n_features_in_ == 8
    assert loaded.method == method
    np.testing.assert_array_equal(clone(loaded).fit_transform(planted), fitted.embedding_)
    with pytest.raises(InputError, match="fitted to 8"):
        loaded.transform((planted.x[:, :5], planted.edge_index))
    with pytest.raises(InputError, match="does not exist"):
        fitted.save(tmp_path / "missing" / "embedder.safetensors")


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_loading_half_a_file(fitted: NodeEmbedder, tmp_path: Path, share: float) -> None:
    path = tmp_path / "embedder.safetensors"
    fitted.save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InputError, match="truncated"):
        NodeEmbedder.load(path)


class Bomb:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("marker",)


def test_loading_what_is_not_ours(
    fitted: NodeEmbedder, trained_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"no .* at"):
        NodeEmbedder.load("missing.safetensors")
    Path("pickle.safetensors").write_bytes(pickle.dumps(Bomb()))
    with pytest.raises(InputError):
        NodeEmbedder.load("pickle.safetensors")
    assert not Path("marker").exists()
    with pytest.raises(InputError, match="not an embedder"):
        NodeEmbedder.load(trained_run / "checkpoint.safetensors")


@pytest.mark.parametrize(
    "meta",
    [
        {"format": FORMAT + 1},
        {"format": FORMAT},
        {"format": FORMAT, "recipe": {"method": "grace"}},
        {"format": FORMAT, "recipe": {"method": "grace"}, "in_features": "many"},
        {"format": FORMAT, "recipe": "grace", "in_features": 8},
        {"format": FORMAT, "recipe": {"method": "grace"}, "in_features": 8},
        [1],
    ],
    ids=str,
)
def test_loading_other_metadata(tmp_path: Path, meta: Any) -> None:
    path = tmp_path / "embedder.safetensors"
    save_tensors(path, {"weight": torch.ones(2)}, meta)
    with pytest.raises(InputError):
        NodeEmbedder.load(path)


def test_in_a_pipeline(planted: Data) -> None:
    y = planted.y.numpy()
    embedder = NodeEmbedder(**{**SMALL, "epochs": 20, "lr": 0.01})
    pipeline = Pipeline([("embed", embedder), ("classify", LogisticRegression(C=100))])
    predicted = pipeline.fit(planted, y).predict(planted)
    assert (predicted == y).mean() > 0.8
    by_hand = LogisticRegression(C=100).fit(embedder.embedding_, y).predict(embedder.embedding_)
    np.testing.assert_array_equal(predicted, by_hand)
    assert pipeline.get_params()["embed__epochs"] == 20


def test_fitting_is_training(planted: Data) -> None:
    """What fit learns is what the loop learns from the same recipe, on features normalized by row."""
    fitted = NodeEmbedder("grace", feature_norm="row", **SMALL).fit(planted)
    method, history = fitted.recipe_.build(8), []
    x = planted.x / planted.x.abs().sum(1, keepdim=True)
    normalized = Data(x=x, edge_index=planted.edge_index)
    train(method, normalized, **fitted.recipe_.training.arguments, callbacks=[on_epoch(history.append)])
    assert [row["loss"] for row in history] == [row["loss"] for row in fitted.history_]
    np.testing.assert_array_equal(method.embed(normalized).numpy(), fitted.embedding_)


def test_labels_may_be_of_any_kind_since_they_are_not_used(planted: Data, fitted: NodeEmbedder) -> None:
    """Regression targets, several labels a node."""
    expected = fitted.transform(planted)
    for y in (torch.linspace(0, 1, 60), torch.ones(60, 4)):
        other = Data(x=planted.x, edge_index=planted.edge_index, y=y)
        assert np.array_equal(fitted.transform(other), expected)
        assert np.array_equal(NodeEmbedder(**SMALL).fit_transform(other), NodeEmbedder(**SMALL).fit_transform(planted))


@pytest.mark.parametrize("recipe", ["paper/cora", "paper/citeseer"])
def test_the_map_of_a_recipe_can_be_taken_out(recipe: str) -> None:
    embedder = NodeEmbedder.from_recipe(recipe).set_params(spectral="none", iterations=2)
    plain, whole = embedder._recipe()[0], NodeEmbedder.from_recipe(recipe)._recipe()[0]
    assert plain.spectral == {"name": "none"}
    assert (plain.method, plain.encoder, plain.augmentation) == (whole.method, whole.encoder, whole.augmentation)


def test_the_callers_graph_stays_where_it_is(planted: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyG's Data.apply moves in place; on a GPU the caller's graph would otherwise be gone from the CPU."""
    moved: list[Data] = []
    real = Data.apply
    monkeypatch.setattr(Data, "apply", lambda self, *args, **kwargs: moved.append(self) or real(self, *args, **kwargs))
    train(Recipe.parse({}).build(8), planted, epochs=1)
    assert moved
    assert all(graph is not planted for graph in moved)


def test_files_of_the_time_before_graph_embedders(planted: Data, fitted: NodeEmbedder, tmp_path: Path) -> None:
    path = tmp_path / "embedder.safetensors"
    meta = {"recipe": fitted.recipe_.as_dict(), "in_features": 8, "num_nodes": 60, "node_features": None}
    save_tensors(path, dict(fitted.method_.state_dict()), {"format": 3, **meta})
    loaded = NodeEmbedder.load(path)
    assert isinstance(loaded, NodeEmbedder)
    assert loaded.num_nodes_ == 60
    np.testing.assert_array_equal(loaded.transform(planted), fitted.embedding_)
    assert not hasattr(loaded, "embedding_")
    loaded.save(tmp_path / "again.safetensors")
    assert load_tensors(tmp_path / "again.safetensors")[1].items() >= meta.items()


def test_similar_nodes_and_suggested_links_have_the_names_of_users() -> None:
    novel = nx.les_miserables_graph()
    embedder = NodeEmbedder(node_features="spectral", hidden=16, epochs=2, random_state=0).fit(novel)
    near = embedder.most_similar("Gavroche", 3)
    assert set(near["node_id"]) <= set(novel.nodes) - {"Gavroche"}
    links = embedder.suggest_links(5)
    assert len(links) == 5
    assert not any(novel.has_edge(one, other) for one, other in zip(links["source"], links["target"], strict=True))
    with pytest.raises(InputError, match="did you mean 'Gavroche'"):
        embedder.most_similar("Gavroch")


def test_a_data_set_is_embedded_by_its_name() -> None:
    embedder = NodeEmbedder("propagate", hidden=4).fit("cora")
    np.testing.assert_array_equal(embedder.transform("cora"), embedder.embedding_)
