"""Weighted votes of the nearest, against loops over queries, rows and classes."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.probes import WeightedKNNProbe
from sfa.evaluate.probes import base as neighbours
from sfa.evaluate.probes.base import rank_votes
from sfa.evaluate.splits import Split, random_splits
from sfa.matrices import unit_rows


def votes(query: Tensor, rows: Tensor, labels: Tensor, k: int, temperature: float) -> dict[int, float]:
    """The sum of each class that one of the ``k`` nearest has, by the formula."""
    cosines = sorted(((float(query @ row), int(label)) for row, label in zip(rows, labels, strict=True)), reverse=True)
    sums: dict[int, float] = {}
    for cosine, label in cosines[:k]:
        sums[label] = sums.get(label, 0.0) + math.exp(cosine / temperature)
    return sums


@settings(max_examples=40)
@given(
    rows=st.integers(6, 40),
    classes=st.integers(1, 8),
    k=st.integers(1, 6),
    temperature=st.sampled_from([0.05, 0.07, 0.5]),
    together=st.integers(1, 99),
    seed=st.integers(0, 999),
)
def test_ranks_are_those_of_the_sums(
    rows: int, classes: int, k: int, temperature: float, together: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    x, queries = (unit_rows(torch.randn(n, 3, generator=generator, dtype=torch.float64)) for n in (rows, 13))
    y = 2 * torch.randint(classes, (rows,), generator=generator) + 1
    ks = sorted({1, k, 6})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "BATCH_NUMBERS", together * rows)
        found = rank_votes(queries, x, y, ks, temperature)
    assert found.shape == (len(ks), 13, min(5, len(torch.unique(y))))
    for ranked, count in zip(found, ks, strict=True):
        for query, labels in zip(queries, ranked.tolist(), strict=True):
            sums = votes(query, x, y, count, temperature)
            best = sorted(sums, key=lambda label: -sums[label])[: len(labels)]
            assert labels == best + [-1] * (len(labels) - len(best)), "classes without a vote are not ranked"


def test_a_close_one_outvotes_two_that_are_far() -> None:
    """The plain vote of 3 would go to the two."""
    rows = torch.tensor([[1.0, 0.0], [0.6, 0.8], [0.6, -0.8], [-1.0, 0.0]])
    query, labels = torch.tensor([[1.0, 0.0]]), torch.tensor([4, 2, 2, 9])
    assert rank_votes(query, rows, labels, [3], 0.07)[0, 0].tolist() == [4, 2, -1]
    assert rank_votes(query, rows, labels, [3], 10.0)[0, 0].tolist() == [2, 4, -1]
    assert rank_votes(query, rows, labels, [3], 1e-4)[0, 0, 0] == 4, "no overflow"


def test_nearness_is_of_direction_where_a_row_has_none() -> None:
    """By distance a row of zeros is nearer than one that points some 74 degrees away; by the cosine it is not."""
    rows, query = torch.tensor([[0.0, 0.0], [0.28, 0.96]]), torch.tensor([[1.0, 0.0]])
    assert rank_votes(query, rows, torch.tensor([0, 1]), [1]).tolist() == [[[0, -1]]]
    assert rank_votes(query, rows, torch.tensor([0, 1]), [1], 0.07).tolist() == [[[1, -1]]]


def test_k_is_chosen_on_validation_the_smallest_of_equals(blobs: Callable[..., Data]) -> None:
    graph, told = blobs(200), []
    z, y = unit_rows(graph.x), graph.y.numpy()
    splits = random_splits(y, train=0.2, validation=0.2, count=4)
    probe = WeightedKNNProbe(ks=(15, 1, 5, 400))
    chosen = set()
    for split, found in zip(splits, probe.predict(z, y, splits, lambda: told.append(1)), strict=True):
        rows, labels = z[split.train], torch.from_numpy(y[split.train])

        def label_of(item: int, k: int, rows: Tensor = rows, labels: Tensor = labels) -> int:
            sums = votes(z[item], rows, labels, k, 0.07)
            return max(sums, key=lambda label: sums[label])

        validation = {k: np.mean([label_of(i, k) == y[i] for i in split.validation]) for k in (1, 5, 15, 40)}
        best = min(validation, key=lambda k: (-validation[k], k))
        assert (found.chosen, found.validation) == (best, pytest.approx(100 * validation[best]))
        assert found.test.tolist() == [label_of(i, best) for i in split.test]
        assert found.ranked is not None
        assert np.array_equal(found.ranked[:, 0], found.test)
        chosen.add(best)
    assert len(told) == 4
    assert len(chosen) > 1, "splits choose for themselves"


def test_more_neighbours_than_training_images_are_all_of_them() -> None:
    y = np.arange(12) % 2
    split = Split(np.arange(4), np.arange(4, 8), np.arange(8, 12))
    (found,) = WeightedKNNProbe().predict(torch.eye(2)[y], y, [split], lambda: None)
    assert (found.chosen, found.validation) == (4, 100.0)
    assert np.array_equal(found.test, y[8:])


def test_temperatures_are_positive() -> None:
    with pytest.raises(InputError, match="be a number, above"):
        WeightedKNNProbe(temperature=0)
