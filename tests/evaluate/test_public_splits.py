"""Splits that come with the data, in the shapes of Planetoid and of WikiCS."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.splits import PublicSplits


def masked(columns: int | None = None, *, nodes: int = 30) -> Data:
    """Nodes in turn are for training, validation and test; with columns, the parts move on by one a column."""
    y = torch.arange(nodes) // 3 % 2
    part = torch.arange(nodes) % 3
    graph = Data(x=torch.zeros(nodes, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), y=y)
    if columns is None:
        graph.train_mask, graph.val_mask, graph.test_mask = (part == i for i in range(3))
        return graph
    swap = torch.arange(columns) % 2 == 1  # of every other split, training and validation change places
    graph.train_mask = torch.where(swap, (part == 1)[:, None], (part == 0)[:, None])
    graph.val_mask = torch.where(swap, (part == 0)[:, None], (part == 1)[:, None])
    graph.test_mask = part == 2
    return graph


def test_one_split_as_of_planetoid() -> None:
    (split,) = PublicSplits().of(masked(), 20)
    for i, part in enumerate((split.train, split.validation, split.test)):
        assert part.tolist() == list(range(i, 30, 3))


def test_many_splits_with_one_test_part_as_of_wikics() -> None:
    splits = PublicSplits().of(masked(20), 20)
    assert len(splits) == 20
    for number, split in enumerate(splits):
        first, second = (split.train, split.validation) if number % 2 == 0 else (split.validation, split.train)
        assert first.tolist() == list(range(0, 30, 3))
        assert second.tolist() == list(range(1, 30, 3))
        assert split.test.tolist() == list(range(2, 30, 3))
    assert len(PublicSplits().of(masked(20), 3)) == 3


def test_nodes_without_a_label_are_left_out() -> None:
    graph = masked()
    graph.y[[0, 1, 2]] = -1
    (split,) = PublicSplits().of(graph, 1)
    assert not {0, 1, 2} & {*split.train, *split.validation, *split.test}
    assert len(split.train) == len(split.validation) == len(split.test) == 9


def spoilt(how: str) -> Data:
    graph = masked(3) if how == "columns" else masked()
    if how == "missing":
        del graph.val_mask
    elif how == "columns":
        graph.val_mask = graph.val_mask[:, :2]
    elif how == "numbers":
        graph.test_mask = graph.test_mask.long()
    elif how == "short":
        graph.test_mask = graph.test_mask[:-1]
    elif how == "overlap":
        graph.val_mask[0] = True
    elif how == "empty":
        graph.test_mask[:] = False
    elif how == "class":
        graph.y[graph.train_mask] = 0
    elif how == "labels":
        del graph.y
    return graph


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("missing", "no public split here: the graph has no `val_mask`"),
        ("columns", "not of the same splits: train_mask 3, val_mask 2, test_mask 1"),
        ("numbers", "`test_mask` is a mask of 30 booleans"),
        ("short", "`test_mask` is a mask of 30 booleans"),
        ("overlap", "public split 0 overlap"),
        ("empty", "`test_mask` of public split 0 has no labeled node"),
        ("class", "Class 1 has nodes in `val_mask` of public split 0 but no labeled training nodes"),
        ("labels", "needs labels"),
    ],
)
def test_masks_that_are_no_split_are_named(how: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        PublicSplits().of(spoilt(how), 20)


def test_parts_are_sorted_whole_numbers() -> None:
    (split,) = PublicSplits().of(masked(), 1)
    assert split.test.dtype == np.int64
