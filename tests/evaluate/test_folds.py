"""Stratified folds, against scikit-learn's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.splits import StratifiedFolds


def folds_of(y: np.ndarray, *, folds: int = 10, seed: int = 0) -> list[np.ndarray]:
    """Return the items of each fold."""
    data = Data(x=torch.ones(len(y), 1), y=torch.from_numpy(y))
    return [split.test for split in StratifiedFolds(folds, seed).of(data, folds)]


@settings(max_examples=60)
@given(
    members=st.lists(st.integers(6, 40), min_size=2, max_size=4),
    unknown=st.integers(0, 20),
    folds=st.integers(2, 6),
    seed=st.integers(0, 99),
)
def test_folds_are_dealt_as_scikit_learn_deals_them(members: list[int], unknown: int, folds: int, seed: int) -> None:
    """The same number of each class in each fold; scikit-learn numbers classes by their first item."""
    first = np.arange(len(members))
    rest = np.repeat(np.append(first, -1), [*np.array(members) - 1, unknown])
    y = np.concatenate([first, np.random.default_rng(seed).permutation(rest)])
    found = folds_of(y, folds=folds, seed=seed)
    labeled = np.flatnonzero(y >= 0)
    assert np.array_equal(np.sort(np.concatenate(found)), labeled), "every labeled item once, and no other"
    known = y[labeled]
    for fold, (_, test) in zip(found, StratifiedKFold(folds).split(known, known), strict=True):
        assert np.array_equal(np.bincount(y[fold], minlength=4), np.bincount(known[test], minlength=4))


def test_items_are_shuffled_and_the_same_every_time() -> None:
    y = np.arange(200) % 2
    folds = folds_of(y)
    assert [fold.tolist() for fold in folds] == [fold.tolist() for fold in folds_of(y)]
    assert all(np.array_equal(fold, np.sort(fold)) for fold in folds)
    assert folds[0].tolist() != folds_of(y, seed=1)[0].tolist()
    together = np.zeros((200, 200))
    for seed in range(400):
        for fold in folds_of(y, seed=seed):
            together[np.ix_(fold, fold)] += 1
    same, other = together[0, 2::2], together[0, 1::2]  # 9 of 99 others of its class, 10 of 100 of the other class
    for counts, share in ((same, 9 / 99), (other, 10 / 100)):
        assert abs(counts.mean() / 400 - share) < 1e-9
        assert 0.02 < counts.min() / 400 < counts.max() / 400 < 0.18


def test_each_split_tests_one_fold_and_trains_on_the_others(blob_set: Callable[..., Data]) -> None:
    graphs = blob_set(123)
    graphs.y[[5, 50]] = -1
    splits, folds = StratifiedFolds(seed=3).of(graphs, 10), folds_of(graphs.y.numpy(), seed=3)
    assert len(splits) == 10
    labeled = set(np.flatnonzero(graphs.y.numpy() >= 0).tolist())
    for split, fold in zip(splits, folds, strict=True):
        assert np.array_equal(split.test, fold)
        assert split.train.tolist() == sorted(labeled - set(fold.tolist()))
        assert len(split.validation) == 0
    for count in (3, 99):
        some = StratifiedFolds(seed=3).of(graphs, count)
        assert len(some) == min(count, 10)
        assert all(np.array_equal(one.test, other.test) for one, other in zip(some, splits, strict=False))


@pytest.mark.parametrize(
    ("y", "names", "message"),
    [
        (np.zeros(50, int), None, "Labels of at least 2 classes are needed to evaluate; there are 1."),
        (np.full(50, -1), None, "Labels of at least 2 classes are needed to evaluate; there are 0."),
        (
            np.repeat([0, 1, -1], [30, 4, 16]),
            ["sweet", "sour"],
            "Class 'sour' has 4 labeled graphs; 10 folds need at least 10 of each class.",
        ),
        (np.repeat([0, 1], [9, 41]), None, "Class 0 has 9 labeled graphs; 10 folds need at least 10 of each class."),
    ],
)
def test_labels_that_allow_no_folds_are_named(
    y: np.ndarray, names: list[str] | None, message: str, blob_set: Callable[..., Data]
) -> None:
    graphs = blob_set(50)
    graphs.y, graphs.class_names = torch.from_numpy(y), names
    with pytest.raises(InputError) as raised:
        StratifiedFolds().of(graphs, 10)
    assert str(raised.value) == message


@pytest.mark.parametrize("folds", [1, 0, 2.5])
def test_fewer_than_two_folds_are_none(folds: int) -> None:
    with pytest.raises(InputError, match="number, 2 or more"):
        StratifiedFolds(folds=folds)
