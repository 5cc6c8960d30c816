"""Splits with as many labels of every class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.splits import FewPerClass


def labeled(y: np.ndarray) -> Data:
    return Data(x=torch.ones(len(y), 1), y=torch.from_numpy(y), edge_index=torch.empty(2, 0, dtype=torch.int64))


@settings(max_examples=40)
@given(
    members=st.lists(st.integers(9, 60), min_size=2, max_size=5),
    train=st.integers(1, 5),
    validation=st.integers(1, 3),
    unknown=st.integers(0, 20),
    seed=st.integers(0, 99),
)
def test_so_many_of_every_class_and_all_others_are_tested(
    members: list[int], train: int, validation: int, unknown: int, seed: int
) -> None:
    labels = np.repeat(np.arange(-1, len(members)), [unknown, *members])
    y = np.random.default_rng(seed).permutation(labels)
    for split in FewPerClass(train, validation, seed).of(labeled(y), 3):
        parts = (split.train, split.validation, split.test)
        assert np.array_equal(np.sort(np.concatenate(parts)), np.flatnonzero(y >= 0)), "each once"
        assert np.bincount(y[split.train]).tolist() == [train] * len(members)
        assert np.bincount(y[split.validation]).tolist() == [validation] * len(members)


def test_splits_differ_from_each_other_and_are_the_same_every_time() -> None:
    graph = labeled(np.arange(100) % 4)
    splits = FewPerClass().of(graph, 20)
    assert len({tuple(split.train) for split in splits}) == len({tuple(split.validation) for split in splits}) == 20
    for split, again in zip(splits, FewPerClass().of(graph, 2), strict=False):
        assert np.array_equal(split.train, again.train)
        assert np.array_equal(split.validation, again.validation)
    assert not np.array_equal(splits[0].train, FewPerClass(seed=1).of(graph, 1)[0].train)


def test_every_item_of_a_class_is_as_likely() -> None:
    y = np.repeat([0, 1], [20, 80])
    splits = FewPerClass(5, 5).of(labeled(y), 2000)
    for part in ("train", "validation"):
        counts = np.bincount(np.concatenate([getattr(split, part) for split in splits]), minlength=100)
        for label, members in enumerate((20, 80)):
            share = counts[y == label] / 2000
            assert abs(share - 5 / members).max() < 6 * np.sqrt(5 / members / 2000)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.zeros(50, int), "at least 2 classes are needed to evaluate; there are 1"),
        (np.full(20, -1), "there are 0"),
        (
            np.repeat([0, 1], [50, 10]),
            "Class 1 has 10 labeled nodes; a split needs at least 11 of every class, 5 to train on, 5 to validate on "
            "and 1 to test.",
        ),
        (np.repeat([0, 1], [1, 50]), "Class 0 has 1 labeled node; a split"),
    ],
)
def test_labels_that_allow_no_split_are_named(y: np.ndarray, message: str) -> None:
    with pytest.raises(InputError, match=message):
        FewPerClass().of(labeled(y), 2)


def test_a_class_is_called_by_its_name_and_graphs_are_graphs(blob_set: Callable[..., Data]) -> None:
    graphs = blob_set(60)
    graphs.y = torch.tensor([0] * 55 + [1] * 5)
    graphs.class_names = ["inert", "active"]
    with pytest.raises(InputError, match=r"^Class 'active' has 5 labeled graphs;"):
        FewPerClass().of(graphs, 1)


def test_a_class_of_just_enough() -> None:
    (split,) = FewPerClass().of(labeled(np.repeat([0, 1], [50, 11])), 1)
    assert (split.test >= 50).sum() == 1


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0), (2.5, 5)])
def test_sizes_are_whole_numbers(sizes: tuple[int, int]) -> None:
    with pytest.raises(InputError, match="number, 1 or more"):
        FewPerClass(*sizes)
