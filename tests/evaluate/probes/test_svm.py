"""The probe of whole graphs, against scikit-learn's grid search; distances, against one pair after another."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.probes import SVMProbe
from sfa.evaluate.probes import svm as machines
from sfa.evaluate.probes.svm import scale, squared_distances
from sfa.evaluate.splits import Split, StratifiedFolds

CS = (1e-2, 1e0, 1e2)


def reference(kernel: str, is_sparse: bool, cs: tuple[float, ...]) -> GridSearchCV:
    if kernel == "rbf":
        return GridSearchCV(SVC(kernel="rbf", gamma="scale"), {"C": cs}, cv=5, scoring="accuracy")
    steps = [] if is_sparse else [StandardScaler()]
    machine = make_pipeline(*steps, LinearSVC(dual=False))
    return GridSearchCV(machine, {"linearsvc__C": cs}, cv=5, scoring="accuracy")


def assert_is_grid_search(probe: SVMProbe, z: Any, y: np.ndarray, splits: list[Split]) -> None:
    rows = z.double().numpy() if isinstance(z, torch.Tensor) else z
    told: list[int] = []
    found = list(probe.predict(z, y, splits, lambda: told.append(1)))
    assert len(told) == len(found) == len(splits)
    for split, prediction in zip(splits, found, strict=True):
        search = reference(probe.kernel, sparse.issparse(rows), probe.cs).fit(rows[split.train], y[split.train])
        assert prediction.chosen == next(iter(search.best_params_.values()))
        assert prediction.validation == pytest.approx(100 * search.best_score_)
        assert np.array_equal(prediction.test, search.predict(rows[split.test]))


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_is_the_grid_search(blob_set: Callable[..., Data], kernel: Any, classes: int, seed: int) -> None:
    """With columns of different sizes and some graphs without a label."""
    graphs = blob_set(150, noise=1.0, classes=classes, seed=seed)
    graphs.y[:7] = -1
    z = (5 + graphs.z * torch.tensor([1.0, 10, 100, 0.1, 1, 1])).float()
    splits = StratifiedFolds(folds=6).of(graphs, 2)
    assert_is_grid_search(SVMProbe(kernel=kernel, cs=CS), z, graphs.y.numpy(), splits)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_threads_change_nothing(blob_set: Callable[..., Data], kernel: Any) -> None:
    graphs = blob_set(100, noise=1.0)
    splits = StratifiedFolds().of(graphs, 2)
    torch.set_num_threads(3)
    try:
        assert_is_grid_search(SVMProbe(kernel=kernel, cs=CS), graphs.z, graphs.y.numpy(), splits)
    finally:
        torch.set_num_threads(1)


def counts_of_three_classes() -> tuple[np.ndarray, np.ndarray]:
    rng, y = np.random.default_rng(0), np.arange(90) % 3
    return rng.poisson(np.where(np.arange(60) % 3 == y[:, None], 0.35, 0.2)).astype(float), y


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_counts_are_never_made_dense(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, y = counts_of_three_classes()
    splits = [
        Split(np.arange(15, 90), np.arange(0), np.arange(15)),
        Split(np.arange(60), np.arange(0), np.arange(60, 90)),
    ]
    to_array = sparse.csr_array.toarray

    def watched(self: sparse.csr_array) -> np.ndarray:
        assert self.shape[1] == 90, "products of rows, not rows"
        return to_array(self)

    monkeypatch.setattr(sparse.csr_array, "toarray", watched)
    assert_is_grid_search(SVMProbe(kernel=kernel, cs=(1e-2, 1e-1)), sparse.csr_array(counts), y, splits)


def test_the_radial_kernel_is_the_same_for_sparse_and_dense_rows() -> None:
    counts, y = counts_of_three_classes()
    splits = [Split(np.arange(15, 90), np.arange(0), np.arange(15))]
    for one, other in zip(
        SVMProbe(cs=CS).predict(sparse.csr_array(counts), y, splits, lambda: None),
        SVMProbe(cs=CS).predict(torch.from_numpy(counts), y, splits, lambda: None),
        strict=True,
    ):
        assert np.array_equal(one.test, other.test)
        assert (one.chosen, one.validation) == (other.chosen, other.validation)
    assert scale(sparse.csr_array(counts)) == pytest.approx(scale(counts)) == pytest.approx(1 / (60 * counts.var()))


@pytest.mark.parametrize("is_sparse", [False, True])
def test_more_rows_than_distances_can_be_kept_of(is_sparse: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    counts, y = counts_of_three_classes()
    splits = [Split(np.arange(15, 90), np.arange(0), np.arange(15))]
    monkeypatch.setattr(machines, "MOST_DISTANCES", 89)
    monkeypatch.setattr(machines, "squared_distances", None)
    z = sparse.csr_array(counts) if is_sparse else torch.from_numpy(counts)
    assert_is_grid_search(SVMProbe(cs=CS), z, y, splits)


def test_of_equally_good_values_the_first_is_taken() -> None:
    """Heaps far apart: every ``C`` but the smallest is always right."""
    y = np.arange(60) % 2
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(60, 3)) + 40.0 * y[:, None])
    splits = [Split(np.arange(10, 60), np.arange(0), np.arange(10))]
    for cs in ((1.0, 10.0, 100.0), (100.0, 1.0, 10.0)):
        for kernel in ("rbf", "linear"):
            (found,) = SVMProbe(kernel=kernel, cs=cs).predict(z, y, splits, lambda: None)  # type: ignore[arg-type]
            assert (found.chosen, found.validation) == (cs[0], 100)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("value", [0.0, 0.1, 1e6])
def test_rows_that_are_all_the_same_say_the_commonest_class(kernel: Any, value: float) -> None:
    y = np.repeat([0, 1], [40, 20])[np.random.default_rng(0).permutation(60)]
    z = torch.full((60, 7), value, dtype=torch.float64)
    splits = [Split(np.arange(10, 60), np.arange(0), np.arange(10))]
    (found,) = SVMProbe(kernel=kernel).predict(z, y, splits, lambda: None)
    assert found.test.tolist() == [0] * 10
    assert found.validation == pytest.approx(100 * (y[10:] == 0).mean(), abs=2)
    assert scale(np.zeros((5, 2))) == scale(sparse.csr_array((5, 2))) == 1


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_rows_that_occur_often_and_with_other_labels(kernel: Any) -> None:
    rng, y = np.random.default_rng(0), np.arange(120) % 2
    z = torch.from_numpy(rng.normal(size=(6, 4))[(3 * y + rng.integers(0, 4, 120)) % 6])
    splits = [Split(np.arange(20, 120), np.arange(0), np.arange(20))]
    assert_is_grid_search(SVMProbe(kernel=kernel, cs=CS), z, y, splits)


def test_a_machine_that_does_not_converge_is_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def hurried(C: float = 1.0, dual: bool = False) -> LinearSVC:
        return LinearSVC(C=C, dual=dual, max_iter=1)

    monkeypatch.setattr(machines, "LinearSVC", hurried)
    y = np.arange(60) % 2
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(60, 3)))
    with pytest.warns(ConvergenceWarning):
        hurried().fit(z, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(
            SVMProbe(kernel="linear").predict(
                z, y, [Split(np.arange(50), np.arange(0), np.arange(50, 60))], lambda: None
            )
        )


def test_training_parts_that_allow_no_folds_are_named() -> None:
    y = np.array([0] * 20 + [1] * 4 + [0] * 6)
    splits = [Split(np.arange(24), np.arange(0), np.arange(24, 30))]
    with pytest.raises(InputError, match="training graphs; 5-fold cross-validation"):
        SVMProbe().check(splits, y, "graphs")
    SVMProbe(folds=4).check(splits, y)
    with pytest.raises(InputError, match="at least 2 classes are needed"):
        SVMProbe().check(splits, np.zeros(30, int))
    with pytest.raises(InputError, match="did you mean 'rbf'"):
        SVMProbe(kernel="rfb")  # type: ignore[arg-type]


def pair_by_pair(z: np.ndarray) -> np.ndarray:
    return np.array([[((a - b) ** 2).sum() for b in z] for a in z])


@given(n=st.integers(1, 12), width=st.integers(1, 6), seed=st.integers(0, 99))
def test_dense_and_sparse_rows_have_the_distances_of_every_pair(n: int, width: int, seed: int) -> None:
    z = np.random.default_rng(seed).poisson(0.7, (n, width)).astype(float)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(machines, "CHUNK_MB", 8 * n / 2**20)  # a row at a time
        found = squared_distances(sparse.csr_array(z))
    assert np.array_equal(found, pair_by_pair(z)), "of whole numbers they are exact"
    np.testing.assert_allclose(squared_distances(z), pair_by_pair(z), atol=1e-12)


def test_far_from_the_origin_no_digits_are_lost() -> None:
    z = np.random.default_rng(0).normal(size=(20, 5))
    far = z + np.array([1e6, -1e6, 0, 3e5, 1e6])
    np.testing.assert_allclose(squared_distances(far), pair_by_pair(far), rtol=1e-9, atol=1e-9)


def test_no_distance_is_negative_and_a_row_has_none_from_itself() -> None:
    z = np.repeat(np.random.default_rng(0).normal(size=(5, 30)) * 1e3, 4, 0)
    before = z.copy()
    found = squared_distances(z)
    assert found.min() == 0
    assert not np.diagonal(found).any()
    assert np.array_equal(z, before), "the rows stay"
