"""Whole graphs under the protocols that score them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from torch_geometric.data import Batch, Data

from sfa.data import load
from sfa.errors import InputError
from sfa.evaluate import Classification, paired_difference, possible
from sfa.evaluate.baselines import can_be_supervised
from sfa.evaluate.probes import AdamProbe, OneVsRestProbe, SVMProbe
from sfa.evaluate.splits import StratifiedFolds
from sfa.registry import registered, resolve

TU = ["tu-svm-10fold", "tu-linear-10fold"]


def tu(name: str) -> Classification:
    protocol = resolve("protocol", name)
    assert isinstance(protocol, Classification)
    return protocol


def test_settings_are_those_of_the_authors() -> None:
    for name, kernel in zip(TU, ("rbf", "linear"), strict=True):
        protocol = tu(name)
        assert (protocol.repeats, protocol.splits) == (10, StratifiedFolds(folds=10, seed=0))
        cs = tuple(10.0**power for power in range(-3, 4))
        assert protocol.probe == SVMProbe(kernel=kernel, cs=cs, folds=5, unit_rows=False)  # type: ignore[arg-type]
        assert protocol.needs == "labels"


def test_mutag_is_what_a_grid_search_on_each_fold_gives() -> None:
    """Counts of atoms tell much: some 85 % is right."""
    mutag, told = load("mutag"), []
    counts = torch.zeros(188, 7).index_add_(0, mutag.batch, mutag.x)
    protocol = tu("tu-svm-10fold").with_splits(3)
    score = protocol.evaluate(counts, mutag, name="atoms", on_split=lambda: told.append(1))
    assert (score.name, score.protocol, score.main) == ("atoms", "tu-svm-10fold", "accuracy")
    lengths = {len(score.of()), len(score.chosen), len(score.validation["accuracy"]), len(told), protocol.count(mutag)}
    assert lengths == {3}
    x, y = counts.double().numpy(), mutag.y.numpy()
    for number, split in enumerate(protocol.draw(mutag)):
        search = GridSearchCV(SVC(), {"C": [10.0**power for power in range(-3, 4)]}, cv=5)
        search.fit(x[split.train], y[split.train])
        assert score.of()[number] == pytest.approx(100 * search.score(x[split.test], y[split.test]))
        assert score.chosen[number] == search.best_params_["C"]
        assert score.validation["accuracy"][number] == pytest.approx(100 * search.best_score_)
    assert 75 < score.mean() < 95


@pytest.mark.parametrize("name", TU)
def test_folds_are_the_same_for_every_embedding_and_fewer_are_the_first(
    name: str, blob_set: Callable[..., Data]
) -> None:
    graphs = blob_set(120, noise=0.5)
    quick = replace(tu(name), probe=replace(tu(name).probe, cs=(1.0,)))
    all_folds, other = quick.evaluate(graphs.z, graphs), quick.evaluate(graphs.z + 1, graphs)
    assert len(all_folds.of()) == quick.count(graphs) == 10
    assert paired_difference(all_folds, other).mean == pytest.approx(0, abs=2)
    assert quick.with_splits(2).evaluate(graphs.z, graphs).of() == all_folds.of()[:2]
    assert all_folds.mean() > 80
    noise = np.random.default_rng(0).normal(size=(120, 4))
    assert 15 < quick.evaluate(noise, graphs).mean() < 52


@pytest.mark.parametrize("name", TU)
def test_sparse_counts_are_scored_and_graphs_without_a_label_are_left_out(
    name: str, blob_set: Callable[..., Data], monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs = blob_set(60)
    counts = np.random.default_rng(0).poisson(np.where(np.arange(9) % 3 == graphs.y[:, None].numpy(), 2.0, 0.3))
    quick = replace(tu(name), probe=replace(tu(name).probe, cs=(0.1, 1.0)), repeats=2)
    monkeypatch.setattr("sfa.evaluate.protocols.base.dense_rows", None)
    score = quick.evaluate(sparse.csr_matrix(counts), graphs)
    assert score.mean() > 60
    more = blob_set(65)
    more.y = torch.cat([graphs.y, torch.full((5,), -1)])
    assert quick.evaluate(sparse.csr_matrix(np.vstack([counts, np.full((5, 9), 99)])), more) == score
    assert quick.evaluate(torch.from_numpy(counts).to_sparse(), graphs) == score
    assert quick.evaluate(lambda seen: sparse.csr_matrix(counts), graphs) == score


def test_probes_that_need_dense_rows_get_them(blob_set: Callable[..., Data]) -> None:
    graphs, knn = blob_set(100), resolve("protocol", "knn").with_splits(2)
    assert knn.evaluate(sparse.csr_matrix(graphs.z.numpy()), graphs) == knn.evaluate(graphs.z, graphs)
    unit = replace(tu("tu-svm-10fold"), probe=SVMProbe(cs=(1.0,), unit_rows=True), repeats=2)
    scaled = graphs.z * torch.linspace(1, 9, 100).double()[:, None]
    dense = unit.evaluate(graphs.z, graphs)
    assert unit.evaluate(sparse.csr_matrix(scaled.numpy()), graphs).of() == pytest.approx(dense.of())


QUICK = {
    "pygcl-10-80-10": AdamProbe(steps=40),
    "grace-10-90": OneVsRestProbe(cs=(1.0,)),
    "bgrl-20-80": OneVsRestProbe(cs=(1.0,), selection="5 halves"),
}


@pytest.mark.parametrize("name", ["honest-10-10-80", "few-5", *QUICK, "knn", "clustering"])
def test_other_protocols_score_graphs_as_they_score_nodes(
    name: str, blobs: Callable[..., Data], blob_set: Callable[..., Data]
) -> None:
    protocol = resolve("protocol", name).with_splits(2)
    if isinstance(protocol, Classification):
        protocol = replace(protocol, probe=QUICK.get(name, protocol.probe))
    graph, graphs = blobs(200), blob_set(200)
    assert protocol.evaluate(graphs.z, graphs) == protocol.evaluate(graph.x, graph)
    with pytest.raises(InputError, match="scored against 200 graphs"):
        protocol.evaluate(graphs.z[:-1], graphs)


def test_a_batch_of_torch_geometric_is_a_graph_set(molecule_list: list[Data]) -> None:
    batch = Batch.from_data_list(molecule_list)
    sizes = torch.diff(batch.ptr)[:, None].float()
    assert len(tu("tu-svm-10fold").with_splits(1).evaluate(sizes, batch).of()) == 1


@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        ("tu-svm-10fold", np.zeros(50, int), "at least 2 classes"),
        ("tu-linear-10fold", np.repeat([0, 1], [46, 4]), "Class 1 has 4 labeled graphs; 10 folds need at least 10"),
        ("honest-10-10-80", np.repeat([0, 1], [48, 2]), "Class 1 has 2 labeled graphs; a split needs at least 3"),
        ("honest-10-10-80", np.arange(12) % 4, "12 labeled graphs give a training part of 1"),
        ("grace-10-90", np.arange(40) % 2, "A training part of 4 graphs is too small"),
        ("honest-10-10-80", np.repeat(range(21), [200, *[3] * 20]), "training part of 26 graphs has all 21"),
        ("clustering", np.zeros(50, int), "at least 2 classes"),
    ],
)
def test_labels_that_do_not_allow_it_are_named(
    name: str, y: np.ndarray, message: str, blob_set: Callable[..., Data]
) -> None:
    graphs = blob_set(len(y))
    graphs.y = torch.from_numpy(y)
    for call in (
        lambda: resolve("protocol", name).check(graphs),
        lambda: resolve("protocol", name).evaluate(graphs.z, graphs),
    ):
        with pytest.raises(InputError, match=message):
            call()
    assert message in possible(graphs)[1][name]


def test_wrong_labels_and_embeddings_are_named(blob_set: Callable[..., Data]) -> None:
    graphs, protocol = blob_set(50), tu("tu-svm-10fold")
    for z in (torch.full((50, 3), torch.nan), sparse.csr_matrix(np.full((50, 3), np.nan))):
        with pytest.raises(InputError, match="finite matrix"):
            protocol.evaluate(z, graphs)
    with pytest.raises(InputError, match="scored against 50 graphs"):
        protocol.evaluate(graphs.x, graphs)
    graphs.y = torch.zeros(100, dtype=torch.int64)
    with pytest.raises(InputError, match="50 graphs need as"):
        protocol.check(graphs)


def test_no_yardstick_is_trained_on_graphs(blobs: Callable[..., Data], blob_set: Callable[..., Data]) -> None:
    assert can_be_supervised(resolve("protocol", "honest-10-10-80"), blobs())
    assert not any(can_be_supervised(protocol, blob_set()) for protocol in registered("protocol").values())
