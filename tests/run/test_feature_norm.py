"""Ordinary measurements: the normalization is chosen from the data, and its statistics are those of training."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import sfa
from sfa import GraphEmbedder, NodeEmbedder
from sfa.data import as_graphs, build_graph
from sfa.graph.features import are_measurements
from sfa.run import Recipe, embed_run, load_recipe, train_run

RunSfa = Callable[..., Any]


def people(folder: Path, n: int = 600) -> dict[str, Path]:
    """Write tables of people in four planted communities: friends, measurements (age, income, posts), communities."""
    rng, community = np.random.default_rng(0), np.arange(n) % 4
    share = np.where(community[:, None] == community, 0.04, 0.004)
    source, target = np.nonzero(np.triu(rng.random((n, n)) < share, 1))
    names = np.array([f"p{i}" for i in range(n)])
    age = rng.normal(25 + 8 * community, 6).round().clip(15, 90)
    income = rng.normal(30_000 + 4_000 * (community % 2), 9_000).round().clip(5_000)
    tables = {
        "data": {"source": names[source], "target": names[target]},
        "features": {"id": names, "age": age, "income": income, "posts": rng.poisson(3 + 4 * (community // 2))},
        "labels": {"id": names, "label": community},
    }
    paths = {key: folder / f"{key}.csv" for key in tables}
    for key, table in tables.items():
        pd.DataFrame(table).to_csv(paths[key], index=False)
    return paths


def accuracy(result: Any, name: str) -> float:
    return float(re.search(rf"│ {re.escape(name)}\s*│ ([\d.]+)", result.out)[1])  # type: ignore[index]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "name", "norm"), [("grace", "grace + sfa (64 passes)", "standard"), (None, "neighbor-contrast", "none")]
)
def test_people_are_told_apart(tmp_path: Path, run_sfa: RunSfa, method: str | None, name: str, norm: str) -> None:
    files = people(tmp_path)
    options = {"method": method} if method else {"epochs": 10}
    result = run_sfa("train", files.pop("data"), **files, **options, out=tmp_path / "run")
    assert result.code == 0, result.err
    assert "3 features, columns standardized" in result.err
    assert load_recipe(tmp_path / "run" / "recipe.yaml").feature_norm == norm, "chosen when the recipe is written"
    assert accuracy(result, name) > 75
    assert accuracy(result, "untrained encoder") > 75, "which sees the same features"


@pytest.mark.slow
def test_rows_of_measurements_say_nothing(tmp_path: Path, run_sfa: RunSfa) -> None:
    files = people(tmp_path)
    result = run_sfa("train", files.pop("data"), **files, method="grace", feature_norm="row", out=tmp_path / "run")
    assert "rows divided" in result.err
    assert accuracy(result, "grace + sfa (64 passes)") < 40


ONE_HOT = torch.eye(5).repeat(20, 1)
AGE = torch.arange(100.0)[:, None] + 18


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (ONE_HOT, False),
        (1 - ONE_HOT, False),
        (3 * ONE_HOT, False),
        (0.3 * ONE_HOT, False),
        (ONE_HOT.to_sparse_csr(), False),
        (torch.cat([ONE_HOT, torch.ones(100, 1)], dim=1), False),
        (torch.cat([torch.eye(100), AGE], dim=1), True),
        (torch.cat([torch.eye(100), AGE], dim=1).to_sparse_csr(), True),
        (AGE, True),
        (torch.rand(100, 3, generator=torch.Generator().manual_seed(0)), True),
        (-ONE_HOT, True),
    ],
    ids=[
        "one-hot",
        "dense binary",
        "counts",
        "weights",
        "CSR",
        "constant",
        "age",
        "age in CSR",
        "one",
        "real",
        "negative",
    ],
)
def test_what_measurements_are(x: Tensor, expected: bool) -> None:
    assert are_measurements(x) is expected


def graph_of(x: Any) -> Data:
    n = len(x)
    return build_graph(x, np.array([np.arange(n - 1), np.arange(1, n)]), name="mine")


MEASURED = np.random.default_rng(0).normal((40, 9_000), (10, 3_000), (30, 2))
LATER = np.add(MEASURED, (20, 0))


@pytest.mark.parametrize(
    ("method", "asked", "chosen"),
    [
        ("grace", None, "standard"),
        ("gae", None, "standard"),
        ("neighbor-contrast", None, "none"),
        ("deepwalk", None, "none"),
        ("grace", "row", "row"),
    ],
)
def test_what_is_chosen_for_measurements(tmp_path: Path, method: str, asked: str | None, chosen: str) -> None:
    options = {"hidden": 4, "epochs": 1, "evaluate": False, "embed": "none"}
    run = train_run(graph_of(MEASURED), method=method, feature_norm=asked, out=tmp_path / "run", **options)
    assert run.recipe.feature_norm == load_recipe(tmp_path / "run" / "recipe.yaml").feature_norm == chosen
    again = train_run(graph_of(MEASURED), out=tmp_path / "run", resume=True, feature_norm=asked or "auto", **options)
    assert again.progress.finished


def test_authors_settings_stay_for_what_is_not_measured_and_for_known_sets() -> None:
    auto = Recipe.parse({"feature_norm": "auto"})
    assert auto.settled(graph_of(ONE_HOT)) == Recipe.parse({})
    assert auto.updated({"method": "gae"}).settled(graph_of(ONE_HOT)) == Recipe.parse({"method": "gae"})
    cora = sfa.data.load("cora")
    assert auto.settled(cora) == Recipe.parse({})


@pytest.mark.parametrize(
    ("method", "norm"), [("grace", "standard"), ("grace", "shifted-row"), ("neighbor-contrast", "none")]
)
def test_statistics_are_those_of_training(tmp_path: Path, method: str, norm: str) -> None:
    """To make everybody 20 years older changes the embeddings, to what statistics of training say."""
    fields = {"hidden": 4, "epochs": 2, "lr": 0.01}
    embedder = NodeEmbedder(method, feature_norm=norm, random_state=0, **fields).fit(graph_of(MEASURED))
    run = train_run(graph_of(MEASURED), method=method, feature_norm=norm, seed=0, out=tmp_path / "run", **fields)
    by_hand = {
        "standard": (LATER - MEASURED.mean(0)) / MEASURED.std(0),
        "shifted-row": (LATER - MEASURED.min()) / (LATER - MEASURED.min()).sum(1, keepdims=True),
        "none": LATER,  # by the weights that the method has kept
    }[norm]
    expected = embedder.method_.embed(graph_of(by_hand)).numpy()
    embedder.save(tmp_path / "e.safetensors")
    loaded = NodeEmbedder.load(tmp_path / "e.safetensors")
    for found in (
        embedder.transform(graph_of(LATER)),
        loaded.transform(graph_of(LATER)),
        embed_run(run.path, data=graph_of(LATER)).z,
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
        assert not np.allclose(found, embedder.embedding_, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(loaded.transform(graph_of(MEASURED)), embedder.embedding_, rtol=1e-5, atol=1e-6)


def test_runs_without_statistics_normalize_by_the_data_at_hand(tmp_path: Path) -> None:
    from sfa.train import load_tensors, save_tensors

    train_run(graph_of(MEASURED), method="grace", hidden=4, epochs=1, out=tmp_path / "run", evaluate=False)
    path = tmp_path / "run" / "checkpoint.safetensors"
    tensors, meta = load_tensors(path)
    save_tensors(path, {name: value for name, value in tensors.items() if not name.startswith("features.")}, meta)
    own = embed_run(tmp_path / "run", data=graph_of(MEASURED)).z
    np.testing.assert_allclose(embed_run(tmp_path / "run", data=graph_of(LATER)).z, own, rtol=1e-4, atol=1e-5)


def test_measurements_of_graphs_are_standardized_by_those_of_training() -> None:
    graphs = [graph_of(rows) for rows in np.split(MEASURED, 6)]
    embedder = GraphEmbedder(hidden=4, epochs=1, random_state=0).fit(graphs)
    assert embedder.recipe_.feature_norm == "standard"
    one = embedder.transform(graphs[:1])
    np.testing.assert_allclose(one, embedder.embedding_[:1], rtol=1e-4, atol=1e-5)
    categories = as_graphs([graph_of(ONE_HOT[:10]), graph_of(ONE_HOT[:20])])
    assert GraphEmbedder(hidden=4, epochs=1).fit(categories).recipe_.feature_norm == "none"
