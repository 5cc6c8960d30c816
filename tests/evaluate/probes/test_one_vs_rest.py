"""The probe of GRACE and BGRL, against scikit-learn's grid search over one-vs-rest classifiers."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.multiclass import OneVsRestClassifier
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.probes import OneVsRestProbe
from sfa.evaluate.probes import linear as module
from sfa.evaluate.splits import Split, random_splits
from sfa.matrices import unit_rows

CS = (0.05, 1.0, 20.0)


def quiet() -> None:
    pass


@pytest.mark.slow
@pytest.mark.parametrize("selection", ["5 folds", "5 halves"])
@pytest.mark.parametrize("classes", [2, 4])
def test_is_the_grid_search_with_labels_as_indicators(blobs: Callable[..., Data], selection: str, classes: int) -> None:
    graph = blobs(200, noise=0.8, classes=classes)
    z, y = unit_rows(graph.x), graph.y.numpy()
    splits = random_splits(y, train=0.2, validation=0, count=3)
    probe = OneVsRestProbe(cs=CS, selection=selection)  # type: ignore[arg-type]
    for number, (split, found) in enumerate(zip(splits, probe.predict(z, y, splits, quiet), strict=True)):
        folds = KFold(5) if selection == "5 folds" else ShuffleSplit(5, test_size=0.5, random_state=number)
        search = GridSearchCV(
            OneVsRestClassifier(LogisticRegression(solver="liblinear")), {"estimator__C": CS}, cv=folds
        )
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Label not")  # a fold without a class
            search.fit(z.numpy()[split.train], np.eye(classes, dtype=bool)[y[split.train]])
        assert found.chosen == search.best_params_["estimator__C"]
        assert found.validation == pytest.approx(100 * search.best_score_)
        assert np.array_equal(found.test, search.predict_proba(z.numpy()[split.test]).argmax(1))


def test_sparse_rows_are_what_they_are_dense(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, y = np.random.default_rng(0), np.arange(60) % 3
    z = torch.from_numpy(np.where(rng.random((60, 40)) < 0.08, rng.random((60, 40)) + np.eye(3, 40)[y], 0))
    splits = random_splits(y, train=0.5, validation=0, count=2)
    kept_sparse = list(OneVsRestProbe(cs=CS).predict(z, y, splits, quiet))
    monkeypatch.setattr(module, "SPARSE", 0)
    for found, dense in zip(kept_sparse, OneVsRestProbe(cs=CS).predict(z, y, splits, quiet), strict=True):
        assert (found.chosen, found.validation) == (dense.chosen, dense.validation)
        assert np.array_equal(found.test, dense.test)


def test_a_fold_without_a_class_counts_its_rows_as_wrong() -> None:
    """Three of four rows are of class 0; the fold that looks at the other has no class 1 to learn from."""
    rows, split = torch.tensor([[0.0], [0.1], [0.2], [0.3], [9.0]]), Split(np.arange(5), np.arange(0), np.arange(5))
    (found,) = OneVsRestProbe(cs=(100.0,)).predict(rows, np.array([0, 0, 0, 0, 1]), [split], quiet)
    assert (found.chosen, found.validation) == (100.0, pytest.approx(80))


def test_a_training_part_too_small_for_folds_is_named() -> None:
    splits, y = [Split(np.arange(4), np.arange(0), np.arange(4, 9))], np.arange(9) % 2
    with pytest.raises(InputError, match="4 nodes is too small"):
        OneVsRestProbe().check(splits, y)
    with pytest.raises(InputError, match="4 graphs is too small"):
        OneVsRestProbe().check(splits, y, "graphs")
