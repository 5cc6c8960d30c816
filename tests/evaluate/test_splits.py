"""Random splits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfa.errors import InputError
from sfa.evaluate.splits import random_splits


@settings(max_examples=40)
@given(classes=st.integers(2, 4), size=st.integers(30, 200), unknown=st.integers(0, 20), seed=st.integers(0, 99))
def test_three_disjoint_parts_of_the_labelled_nodes(classes: int, size: int, unknown: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.concatenate([np.arange(size) % classes, np.full(unknown, -1)]))
    for split in random_splits(y, train=0.2, validation=0.1, count=3, seed=seed):
        parts = (split.train, split.validation, split.test)
        together = np.concatenate(parts)
        assert sorted(together) == np.flatnonzero(y >= 0).tolist()
        assert (len(split.train), len(split.validation)) == (round(0.2 * size), round(0.1 * size))
        assert set(y[split.train]) == set(range(classes))


def test_splits_differ_from_each_other_and_are_the_same_every_time() -> None:
    y = np.arange(100) % 2
    first, second = random_splits(y, train=0.1, validation=0.1, count=2)
    assert set(first.train) != set(second.train)
    again = random_splits(y, train=0.1, validation=0.1, count=5)
    assert np.array_equal(first.test, again[0].test)
    assert np.array_equal(second.test, again[1].test)


def test_draws_are_uniform_over_nodes() -> None:
    splits = random_splits(np.arange(50) % 2, train=0.2, validation=0.2, count=2000)
    counts = np.bincount(np.concatenate([split.train for split in splits]), minlength=50)
    assert counts.min() > 320
    assert counts.max() < 480


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(50, int), "at least 2 classes"),
        (np.array([0] * 50 + [1] * 2), "Class 1 has 2 labeled nodes"),
        (np.full(20, -1), "there are 0"),
        (np.arange(12) % 4, "too few for 4 classes"),
        (np.array([0] * 5000 + list(range(1, 101)) * 3), "too rare"),
    ],
)
def test_labels_that_allow_no_split_are_named(y: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        random_splits(y, train=0.1, validation=0.1, count=2)
