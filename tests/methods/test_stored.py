"""Methods on a stored graph: what they compute in memory, with nothing of the whole graph in memory."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.data.store import StoredGraph, open_store
from sfa.data.write_store import write_store
from sfa.graph.spread import spread_on_disk
from sfa.matrices import unit_rows
from sfa.methods.propagate import page_rank
from sfa.methods.stored import FOLDER
from sfa.nn.sparse import propagation_of
from sfa.run.recipe import Recipe
from sfa.train import train
from tests.processes import run_in_processes

CLOSE = {"atol": 2e-4, "rtol": 1e-3}
SMALL: dict[str, dict[str, Any]] = {
    "propagate": {"method": {"name": "propagate", "hidden": 24}},
    "signa": {
        "method": {"name": "signa"},
        "encoder": {"name": "mlp", "hidden": 12, "inner": 16},
        "sampler": {"name": "neighbours", "batch_size": 20, "fanouts": [1]},
    },
    "neighbor-contrast": {
        "method": {"name": "neighbor-contrast", "hidden": 24},
        "encoder": {"name": "mlp", "hidden": 12, "inner": 16},
        "sampler": {"name": "random-nodes", "batch_size": 20},
    },
}


@pytest.fixture
def weighted(planted: Data) -> Data:
    weight = torch.rand(60, 60, generator=torch.Generator().manual_seed(0))
    planted.edge_weight = (weight + weight.T)[tuple(planted.edge_index)]
    return planted


def stored(graph: Data, folder: Path, *, float16: bool = False) -> StoredGraph:
    return write_store(graph, folder / "store", float16=float16)


def trained(data: Data, name: str, epochs: int = 3) -> Any:
    recipe = Recipe.parse({**SMALL[name], "training": {"epochs": epochs}})
    method = recipe.build_for(data)
    train(method, data, **recipe.training.arguments, sampler=recipe.make_sampler())
    return method.eval()


def products(z: Tensor) -> Tensor:
    return z @ z.mT


@pytest.mark.parametrize("has_weights", [False, True])
def test_spreading_on_disk_is_the_product_with_the_normalized_adjacency(
    weighted: Data, has_weights: bool, tmp_path: Path
) -> None:
    if not has_weights:
        del weighted.edge_weight
    data, x, a = stored(weighted, tmp_path), weighted.x, propagation_of(weighted)
    tiles = [part.__getitem__ for part in x.split([3, 3, 2], 1)]
    found = spread_on_disk(data, [3, 3, 2], tiles, hops=2, alpha=0.1, dtype=torch.float32)
    for block, expected in zip(found, [a @ x, a @ (a @ x), page_rank(x, a, 0.1)], strict=True):
        torch.testing.assert_close(block.rows(slice(0, 60)), expected)
        some = torch.tensor([3, 17, 59])
        assert torch.equal(block.rows(some), block.rows(slice(0, 60))[some])
    assert "edge_index" not in data


def test_a_node_without_edges_keeps_its_row(tmp_path: Path) -> None:
    data = stored(build_graph(np.ones((3, 2)), np.array([[0], [1]])), tmp_path)
    (hop,) = spread_on_disk(data, [2], [data.x.__getitem__], hops=1, alpha=0, dtype=torch.float32)
    torch.testing.assert_close(hop.parts[0][2], data.x[2])


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("has_weights", [False, True])
def test_a_method_embeds_a_store_as_it_embeds_the_graph_in_memory(
    weighted: Data, name: str, has_weights: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_weights:
        del weighted.edge_weight
    monkeypatch.setenv("SFA_MEMORY", "64MB")
    data = stored(weighted, tmp_path)
    method, same = (trained(graph, name) for graph in (weighted, data))
    if not has_weights:  # by weight, walks on disk are drawn with other rounding
        for parameter, other in zip(method.parameters(), same.parameters(), strict=True):
            assert torch.equal(parameter, other)
    else:
        same = method
    z, of_store = method.embed(weighted), same.embed(data)
    torch.testing.assert_close(products(of_store), products(z), **CLOSE)
    assert "edge_index" not in data


@pytest.mark.parametrize("name", SMALL)
def test_half_precision_of_a_store_costs_digits_alone(planted: Data, name: str, tmp_path: Path) -> None:
    data = stored(planted, tmp_path, float16=True)
    method = trained(data, name)
    z, expected = method.embed(data), method.embed(planted)
    assert z.dtype == torch.float32
    angles = torch.linalg.vecdot(unit_rows(products(z)), unit_rows(products(expected)))
    assert angles.min() > 0.999


def test_features_that_were_spread_are_kept_beside_the_store(planted: Data, tmp_path: Path) -> None:
    data = stored(planted, tmp_path)
    z = trained(data, "propagate").embed(data)
    (folder,) = (tmp_path / "store" / "hops").iterdir()
    made = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert len(made) == 4  # two hops, PageRank, and what they are of
    again = open_store(tmp_path / "store")
    assert torch.equal(trained(again, "propagate").embed(again), z)
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == made
    recipe = Recipe.parse({**SMALL["propagate"], "feature_norm": "row"})
    recipe.build_for(again).before_training(recipe.prepare(again))
    assert len(list((tmp_path / "store" / "hops").iterdir())) == 2


def test_a_store_that_cannot_be_written_to_works_from_temporary_files(planted: Data, tmp_path: Path) -> None:
    data = stored(planted, tmp_path)
    (tmp_path / "store" / "hops").write_text("a file where the folder would be")
    z = trained(data, "propagate").embed(data)
    torch.testing.assert_close(products(z), products(trained(planted, "propagate").embed(planted)), **CLOSE)


def test_tiles_are_as_narrow_as_memory_asks(planted: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfa.graph.spread.working_bytes", lambda: 12 * 60 * 3)  # three columns
    data = stored(planted, tmp_path)
    z = trained(data, "propagate").embed(data)
    assert len(list((tmp_path / "store" / "hops").glob("*/1-*.npy"))) == 3
    torch.testing.assert_close(products(z), products(trained(planted, "propagate").embed(planted)), **CLOSE)


def test_many_features_are_reduced_by_subspace_iteration(
    planted: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfa.methods.propagate.WIDEST", 10)
    z = trained(data := stored(planted, tmp_path), "propagate").embed(data)
    torch.testing.assert_close(products(z), products(trained(planted, "propagate").embed(planted)), **CLOSE)


EXACT = {"method.precision": "full", "encoder.dropout": 0.0, "training.optimizer": "sgd", "training.lr": 0.1}
"""Without what each process draws by itself, if a positive is the node itself; Adam would enlarge rounding."""


def weights_of_training(store: Path, name: str) -> tuple[dict[str, Tensor], float]:
    """Train on a store, in one process or in several; also return the sum of how alike the embeddings of nodes are."""
    data = open_store(store)
    recipe = Recipe.parse(SMALL[name]).updated({**EXACT, "method.mask": 1.0, "training.epochs": 3})
    method = recipe.build_for(data)
    train(method, data, **recipe.training.arguments, sampler=recipe.make_sampler())
    weights = {key: value.clone() for key, value in method.state_dict().items()}
    return weights, float(products(method.eval().embed(data)).sum())


@pytest.mark.multiprocess
def test_several_processes_train_on_a_store_as_one(weighted: Data, tmp_path: Path) -> None:
    path = stored(weighted, tmp_path).store
    expected, alike = weights_of_training(path, "neighbor-contrast")
    shutil.rmtree(Path(path, FOLDER))
    (first, found), *others = run_in_processes(weights_of_training, 3, path, "neighbor-contrast")
    assert found == pytest.approx(alike, rel=1e-3)
    for key, value in expected.items():
        if key != "directions":  # of which the sign is free
            torch.testing.assert_close(first[key], value, rtol=1e-4, atol=1e-6, msg=key)
    for weights, _ in others:
        assert all(torch.equal(value, first[key]) for key, value in weights.items())
    assert len(list(Path(path, FOLDER).iterdir())) == 1, "the hops were made once, and no lock is left"
