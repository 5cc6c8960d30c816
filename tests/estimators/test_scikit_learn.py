"""The embedders do what scikit-learn's users expect: its own checks, searches, pipelines, frames, names of features."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
from PIL import Image
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch_geometric.data import Data

from sfa import GraphEmbedder, ImageEmbedder, NodeEmbedder
from sfa.data.encode import Encode
from sfa.errors import InputError

SMALL: dict[str, Any] = {"hidden": 4, "epochs": 1, "random_state": 0}


class RingEmbedder(NodeEmbedder):
    """Takes tables, as scikit-learn's checks give them: a row is a node, linked to the next."""

    def _read(self, X: Any, transductive: bool, encode: Encode = "auto") -> Data:
        X = X if sparse.issparse(X) else np.asarray(X)
        n = X.shape[0]
        return super()._read((X, [(i, (i + 1) % n) for i in range(n)]), transductive, encode)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = True
        return tags


def not_of_graphs(estimator: Any) -> dict[str, str]:
    """Return the checks of what no graph can do."""
    return {
        "check_methods_sample_order_invariance": "a node's neighbors are its neighbors in the table",
        "check_methods_subset_invariance": "a node is embedded with its neighbors",
        "check_fit2d_1sample": "one node is no graph, which is said in other words",
    }


@pytest.mark.slow
@parametrize_with_checks([RingEmbedder(**SMALL)], expected_failed_checks=not_of_graphs)
def test_checks_of_scikit_learn(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def club() -> nx.Graph:
    edges = nx.karate_club_graph().edges
    return nx.Graph([(f"m{one}", f"m{other}") for one, other in edges])


@pytest.fixture(scope="module")
def halves(club: nx.Graph) -> np.ndarray:
    members = nx.karate_club_graph().nodes
    return np.array([members[int(name[1:])]["club"] for name in club])


def test_nodes_are_samples_of_a_graph_that_the_embedder_holds(club: nx.Graph, halves: np.ndarray) -> None:
    embedder = NodeEmbedder(graph=club, node_features="spectral", hidden=8, epochs=3, random_state=0)
    pipeline = make_pipeline(embedder, LogisticRegression())
    names = np.array(club)
    scores = cross_val_score(pipeline, names, halves, cv=3)
    assert scores.mean() > 0.8
    for samples in (np.arange(34), names[:, None], list(club), pd.Series(names)):
        np.testing.assert_array_equal(cross_val_score(pipeline, samples, halves, cv=3), scores)
    search = GridSearchCV(pipeline, {"nodeembedder__hidden": [4, 8]}, cv=2).fit(names, halves)
    assert search.predict(names[:3]).shape == (3,)
    whole = clone(embedder).fit()
    np.testing.assert_array_equal(whole.fit_transform(["m3", "m1"]), whole.transform(names)[[3, 1]])
    with pytest.raises(InputError, match="Unknown node 'nobody'"):
        embedder.fit(["nobody"])
    with pytest.raises(InputError, match="from 0 to 33"):
        whole.transform([34])
    with pytest.raises(InputError, match="ids of nodes of graph="):
        whole.transform(np.ones((3, 3)))


def test_embeddings_come_as_a_frame_whose_index_is_the_nodes(club: nx.Graph, molecule_list: list[Data]) -> None:
    embedder = NodeEmbedder(**SMALL, node_features="degree").set_output(transform="pandas")
    for graph in (club, nx.to_pandas_edgelist(club)):
        frame = embedder.fit_transform(graph)
        assert list(frame.columns) == list(embedder.get_feature_names_out())
        assert (frame.columns[0], frame.index.name) == ("nodeembedder0", "node_id")
        assert list(frame.index) == embedder.node_ids_
        assert set(frame.index) == set(club)
        pd.testing.assert_frame_equal(frame, embedder.transform(graph))
    rows = clone(embedder).set_params(graph=club).fit_transform(["m5", "m2"])
    assert list(rows.index) == ["m5", "m2"]
    with sklearn.config_context(transform_output="pandas"):
        assert GraphEmbedder(**SMALL).fit_transform(molecule_list).index.name == "graph_id"
    assert isinstance(NodeEmbedder(**SMALL, node_features="degree").fit_transform(club), np.ndarray)
    with pytest.raises(NotFittedError):
        NodeEmbedder().get_feature_names_out()


def test_a_repr_is_short(tmp_path: Path) -> None:
    assert repr(NodeEmbedder("grace", hidden=16)) == "NodeEmbedder(hidden=16, method='grace')"
    from_recipe = NodeEmbedder.from_recipe({"method": "grace", "encoder": {"layers": 3}})
    assert "options={'encoder.layers': 3}" in repr(from_recipe) or "encoder=" in repr(from_recipe)
    assert len(repr(from_recipe)) < 250
    fitted = NodeEmbedder(**SMALL).fit((np.eye(4), [(0, 1), (1, 2), (2, 3)]))
    fitted.save(tmp_path / "e.safetensors")
    assert len(repr(NodeEmbedder.load(tmp_path / "e.safetensors"))) < 200
    assert repr(NodeEmbedder("nonsense")) == "NodeEmbedder(method='nonsense')"


def test_features_have_names_which_transform_minds(club: nx.Graph, halves: np.ndarray, tmp_path: Path) -> None:
    edges = nx.to_pandas_edgelist(club)
    nodes = pd.DataFrame({"age": np.arange(34.0), "half": halves}, index=pd.Index(list(club)))
    fitted = NodeEmbedder(**SMALL).fit((nodes, edges))
    assert list(fitted.feature_names_in_) == ["age", "half=Mr. Hi", "half=Officer"]
    fitted.save(tmp_path / "e.safetensors")
    loaded = NodeEmbedder.load(tmp_path / "e.safetensors")
    np.testing.assert_array_equal(loaded.transform((nodes[["half", "age"]], edges)), fitted.embedding_)
    assert loaded.transform((nodes.assign(half="Mr. Hi", age=1), edges)).shape == (34, 4), "no officer among them"
    with pytest.raises(InputError, match="no column 'age', as in training; it has 'shoe size'"):
        loaded.transform((nodes.rename(columns={"age": "shoe size"}), edges))
    assert not hasattr(fitted.fit((np.eye(34), nx.to_scipy_sparse_array(club))), "feature_names_in_")


def test_what_was_fitted_is_there_after_load(club: nx.Graph, tmp_path: Path) -> None:
    fitted = NodeEmbedder(**SMALL, node_features="spectral").fit(club)
    fitted.save(tmp_path / "e.safetensors")
    loaded = NodeEmbedder.load(tmp_path / "e.safetensors")
    np.testing.assert_array_equal(loaded.embedding_, fitted.embedding_)
    assert loaded.node_ids_ == list(club)
    pd.testing.assert_frame_equal(loaded.most_similar("m3", 4), fitted.most_similar("m3", 4))
    pd.testing.assert_frame_equal(loaded.suggest_links(4), fitted.suggest_links(4))
    np.testing.assert_array_equal(loaded.transform(club), fitted.embedding_)


@pytest.mark.parametrize("kind", ["spectral", "random"])
def test_features_that_mean_nothing_in_another_graph_are_refused(club: nx.Graph, kind: str, tmp_path: Path) -> None:
    fitted = NodeEmbedder(**SMALL, node_features=f"{kind}:8").fit(club)
    fitted.save(tmp_path / "e.safetensors")
    other = nx.gnp_random_graph(34, 0.2, seed=1)
    for embedder in (fitted, NodeEmbedder.load(tmp_path / "e.safetensors")):
        with pytest.raises(InputError, match=f"{kind} features of another graph .*node_features='degree'"):
            embedder.transform(other)
    by_degree = NodeEmbedder(**SMALL, node_features="degree").fit(club)
    assert by_degree.transform(other).shape == (34, 4)


def test_a_short_repr() -> None:
    assert repr(NodeEmbedder(hidden=8)) == "NodeEmbedder(hidden=8)"
    assert repr(ImageEmbedder(image_size=32)) == "ImageEmbedder(image_size=32)"


@pytest.mark.parametrize("method", ["deepwalk", "node2vec"])
def test_walks_need_no_features(club: nx.Graph, method: str) -> None:
    adjacency = nx.to_scipy_sparse_array(club)
    embedder = NodeEmbedder(method, **SMALL).fit(adjacency)
    assert embedder.embedding_.shape == (34, 4)
    assert embedder.most_similar(3, 2).shape == (2, 2)
    assert len(embedder.suggest_links(5)) == 5
    np.testing.assert_array_equal(embedder.transform((np.eye(34), adjacency)), embedder.embedding_)
    with pytest.raises(InputError, match="no node features"):
        NodeEmbedder("grace", **SMALL).fit(adjacency)


def test_images_of_many_sizes_and_a_broken_one(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for number in range(12):
        pixels = rng.integers(0, 256, (16 + number, 20, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    (tmp_path / "broken.png").write_bytes((tmp_path / "0.png").read_bytes()[:99])
    with pytest.raises(InputError, match="broken"):
        ImageEmbedder(image_size=16, **SMALL).fit(str(tmp_path))
    embedder = ImageEmbedder(image_size=16, skip_corrupt=True, batch_size=6, **SMALL).fit(tmp_path)
    assert len(embedder.image_ids_) == len(embedder.embedding_) == 12
    embedder.save(tmp_path / "e.safetensors")
    loaded = ImageEmbedder.load(tmp_path / "e.safetensors")
    assert (loaded.image_size, loaded.skip_corrupt) == (16, True)
    np.testing.assert_array_equal(loaded.transform(tmp_path), embedder.embedding_)
