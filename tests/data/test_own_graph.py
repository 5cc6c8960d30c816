"""A user's own graph from one end to the other: the same nodes, by the same names, in the same order."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import torch
from torch_geometric.data import Data

import sfa
from sfa.data import as_graph, build_graph, fingerprint, load
from sfa.errors import InputError
from sfa.export import write_embeddings
from sfa.run import Recipe
from sfa.train import train

RunSfa = Callable[..., Any]

PEOPLE = ["Zoë", "Ann", "007", "bob", "Eve, PhD", "NA", "dan", "alone", "kim", "lee", "max", "nil", "ola", "pat", "quy"]
FRIENDS = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (6, 3), (2, 6), (8, 9), (9, 10), (10, 8), (11, 12), (12, 13)]
LABELS = {"Zoë": "red", "Ann": "red", "007": "red", "bob": "blue", "Eve, PhD": "blue", "NA": "blue", "kim": "blue"}


def write_people(folder: Path) -> dict[str, Path]:
    """An edge list with weights, a duplicate in the other direction and a loop; features of all, labels of some."""
    edges = pd.DataFrame([(PEOPLE[a], PEOPLE[b], 1 + i % 3) for i, (a, b) in enumerate(FRIENDS)])
    edges.loc[len(edges)] = ["Ann", "Zoë", 3]  # Zoë – Ann has weight 1 above: the mean is 2
    edges.loc[len(edges)] = ["kim", "kim", 9]
    edges.columns = pd.Index(["from", "to", "weight"])
    edges.to_csv(folder / "friends.csv", index=False)
    x = np.random.default_rng(0).random((len(PEOPLE), 4)).round(3)
    pd.DataFrame(x, index=pd.Index(PEOPLE, name="name")).to_csv(folder / "people.csv")
    pd.Series(LABELS, name="label").rename_axis("id").to_csv(folder / "teams.csv")
    return {name: folder / f"{name}.csv" for name in ("friends", "people", "teams")}


def embedded(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path).set_index("node_id")


def test_from_csv_to_parquet(tmp_path: Path, run_sfa: RunSfa, tiny: list[str]) -> None:
    files = write_people(tmp_path)
    graph = load(files["friends"], features=files["people"], labels=files["teams"])
    assert graph.node_ids == PEOPLE
    assert [PEOPLE[i] for i in range(len(PEOPLE)) if graph.y[i] >= 0] == list(LABELS)
    assert graph.class_names == ["blue", "red"]
    weight = dict(zip(map(tuple, graph.edge_index.T.tolist()), graph.edge_weight.tolist(), strict=True))
    assert len(weight) == 2 * len(FRIENDS)
    assert (weight[0, 1], weight[1, 0], weight[1, 2]) == (2, 2, 2)
    assert not (graph.edge_index == PEOPLE.index("alone")).any()

    given = {"features": files["people"], "labels": files["teams"]}
    result = run_sfa("train", files["friends"], *tiny, epochs=4, out=tmp_path / "run", **given)
    assert result.code == 0, result.err
    assert run_sfa("embed", tmp_path / "run", out=tmp_path / "z.parquet").code == 0
    z = embedded(tmp_path / "z.parquet")
    assert list(z.index) == PEOPLE
    assert len({tuple(row) for row in z.to_numpy()}) == len(PEOPLE)

    # Rows that come in another order are the same people, and weights are not for show.
    people = pd.read_csv(files["people"], dtype={"name": str}, keep_default_na=False)
    people.iloc[::-1].to_csv(tmp_path / "backwards.csv", index=False)
    pd.read_csv(files["friends"], keep_default_na=False).drop(columns="weight").to_csv(
        tmp_path / "plain.csv", index=False
    )
    backwards = {"data": files["friends"], "features": tmp_path / "backwards.csv"}
    plain = {"data": tmp_path / "plain.csv", "features": files["people"]}
    assert run_sfa("embed", tmp_path / "run", out=tmp_path / "b.parquet", **backwards).code == 0
    assert run_sfa("embed", tmp_path / "run", out=tmp_path / "p.parquet", **plain).code == 0
    same, other = embedded(tmp_path / "b.parquet"), embedded(tmp_path / "p.parquet")
    assert list(same.index) == PEOPLE[::-1]
    np.testing.assert_allclose(same.loc[PEOPLE], z, atol=1e-6)
    assert np.abs(other.loc["007"] - z.loc["007"]).max() > 1e-4


def test_a_partly_labelled_graph_is_scored_on_its_labelled_part(tmp_path: Path, run_sfa: RunSfa) -> None:
    rng = np.random.default_rng(0)
    team = np.arange(60) % 2
    pairs = [(i, j) for i in range(60) for j in range(i) if rng.random() < (0.2 if team[i] == team[j] else 0.02)]
    pd.DataFrame([(f"p{i}", f"p{j}") for i, j in pairs], columns=["source", "target"]).to_csv(
        tmp_path / "e.csv", index=False
    )
    labeled = [(f"p{i}", "ab"[team[i]]) for i in range(40)]
    pd.DataFrame(labeled, columns=["id", "label"]).to_csv(tmp_path / "y.csv", index=False)
    given = {"labels": tmp_path / "y.csv", "node_features": "spectral:8", "hidden": 8, "epochs": 5}
    result = run_sfa("train", tmp_path / "e.csv", out=tmp_path / "run", **given)
    assert result.code == 0, result.err
    assert "untrained encoder" in result.out
    (scores,) = (tmp_path / "run").glob("scores-*.json")
    assert json.loads(scores.read_text())["scores"]


def test_a_graph_without_features_says_what_it_was_given_and_remembers_it(
    tmp_path: Path, run_sfa: RunSfa, tiny: list[str]
) -> None:
    files = write_people(tmp_path)
    refused = run_sfa("train", files["friends"], *tiny, out=tmp_path / "run")
    assert (refused.code, "--node-features" in refused.err) == (2, True)
    given = {"labels": files["teams"], "node_features": "degree"}
    result = run_sfa("train", files["friends"], *tiny, epochs=3, out=tmp_path / "run", **given)
    assert "No node features in this graph: degree features, 33 columns" in result.err.splitlines()
    source = json.loads((tmp_path / "run" / "run.json").read_text())["source"]
    assert source["node_features"] == "degree"

    result = run_sfa("embed", tmp_path / "run", out=tmp_path / "z.parquet")
    assert "No node features in this graph: degree features, 33 columns" in result.err.splitlines()
    occurring = list(dict.fromkeys(PEOPLE[i] for edge in FRIENDS for i in edge))
    assert list(embedded(tmp_path / "z.parquet").index) == occurring
    resumed = run_sfa("train", "--resume", "--no-evaluate", out=tmp_path / "run")
    assert resumed.code == 0, resumed.err
    assert "No node features in this graph: degree features, 33 columns" in resumed.err.splitlines()
    wrong = run_sfa("train", "--resume", out=tmp_path / "run", node_features="degree")
    assert (wrong.code, "--image-size and --skip-corrupt belong to data" in wrong.err) == (2, True)
    unknown = run_sfa("train", files["friends"], node_features="degrees")
    assert (unknown.code, "did you mean 'degree'" in unknown.err) == (2, True)


def people_graph(kind: type[nx.Graph] = nx.Graph) -> nx.Graph:
    """Names, numbers and pairs as nodes; one isolated, one loop, a missing weight, labels of some."""
    graph = kind()
    nodes: list[Any] = ["ann", 7, ("x", 2), "bob", 40, "alone"]
    for i, node in enumerate(nodes):
        graph.add_node(node, x=[float(i), 1.0, float(i % 2)])
    graph.add_weighted_edges_from([("ann", 7, 2.0), (7, ("x", 2), 0.5), ("bob", 40, 3.0), (40, 40, 1.0)])
    graph.add_edge("ann", "bob")
    nx.set_node_attributes(graph, {"ann": "red", 7: "blue"}, "label")
    return graph


@pytest.mark.parametrize("kind", [nx.Graph, nx.DiGraph, nx.MultiDiGraph])
def test_from_networkx_to_parquet(kind: type[nx.Graph], tmp_path: Path) -> None:
    graph = people_graph(kind)
    embedder = sfa.NodeEmbedder(hidden=8, epochs=3, random_state=0)
    z = embedder.fit_transform(graph)
    assert embedder.node_ids_ == ["ann", 7, "('x', 2)", "bob", 40, "alone"]
    write_embeddings(tmp_path / "z.parquet", z, embedder.node_ids_)
    table = embedded(tmp_path / "z.parquet")
    assert list(table.index) == [str(node) for node in graph.nodes]
    assert np.array_equal(table.to_numpy(), z)
    assert as_graph(graph).y.tolist() == [1, 0, -1, -1, -1, -1]

    shuffled = kind()
    shuffled.add_nodes_from(list(graph.nodes(data=True))[::-1])
    shuffled.add_edges_from(graph.edges(data=True))
    np.testing.assert_allclose(embedder.transform(shuffled)[::-1], z, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("node_features", ["degree", "random:5", "spectral:3"])
def test_an_embedder_of_graphs_without_features(node_features: str, tmp_path: Path) -> None:
    graph = nx.Graph(nx.karate_club_graph().edges)
    with pytest.raises(InputError, match="node_features='degree'"):
        sfa.NodeEmbedder().fit(graph)
    embedder = sfa.NodeEmbedder(hidden=8, epochs=2, node_features=node_features, random_state=0)
    z = embedder.fit_transform(graph)
    assert z.shape == (34, 8)
    embedder.save(tmp_path / "e.safetensors")
    again = sfa.NodeEmbedder.load(tmp_path / "e.safetensors")
    assert again.node_features == node_features
    assert np.array_equal(again.transform(graph), z)


@pytest.mark.parametrize("node_ids", [[1, "1", 2], ["1", 1, 2]])
def test_ids_that_a_table_would_confuse_are_refused(node_ids: list[Any]) -> None:
    with pytest.raises(InputError, match="given to more than"):
        build_graph(np.eye(3), [[0, 1], [1, 2]], node_ids=node_ids)


def raw_data(form: str, graph: Data) -> Data:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that sparse tensors are in beta
        x = {"coo": graph.x.to_sparse(), "csc": graph.x.to_sparse_csc()}.get(form, graph.x)
    edges = graph.edge_index.int() if form == "int32" else graph.edge_index
    return Data(x=x, edge_index=edges)


@pytest.mark.parametrize("form", ["plain", "int32", "coo", "csc"])
def test_a_raw_data_of_other_types_is_the_same_graph(form: str, planted: Data) -> None:
    raw = raw_data(form, planted)
    assert fingerprint(as_graph(raw)) == fingerprint(build_graph(planted.x, planted.edge_index))
    recipe = Recipe.parse({}).updated({"method.hidden": 8, "training.epochs": 3})
    embeddings = []
    for graph in (planted, raw):  # also without as_graph
        method, prepared = recipe.build(8), recipe.prepare(graph)
        train(method, prepared, **recipe.training.arguments, device="cpu")
        embeddings.append(method.embed(prepared))
    torch.testing.assert_close(*embeddings, rtol=1e-4, atol=1e-5)
