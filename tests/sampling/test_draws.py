"""Uniform draws against the chances that they must have; seeds are fixed, so a test that passes keeps passing."""

from itertools import combinations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from sfa.sampling.draws import below, distinct_below

REPEATS = 20_000


@pytest.mark.parametrize("bound", [1, 2, 7])
def test_each_number_below_is_as_likely(bound: int, generator: torch.Generator) -> None:
    drawn = below(torch.full((REPEATS,), bound), generator)
    counts = drawn.bincount(minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or chisquare(counts).pvalue > 0.001


def test_bounds_of_any_shape_and_size(generator: torch.Generator) -> None:
    bounds = torch.tensor([[1, 2, 3], [2**40, 2**62, 2**63 - 1]])
    drawn = torch.stack([below(bounds, generator) for _ in range(200)])
    assert bool((drawn >= 0).all())
    assert bool((drawn < bounds).all())
    assert bool((drawn.amax(0)[1] > bounds[1] // 10 * 9).all())


@pytest.mark.parametrize(("bound", "count"), [(6, 1), (6, 3), (5, 4), (4, 4)])
def test_each_set_is_as_likely(bound: int, count: int, generator: torch.Generator) -> None:
    picks = distinct_below(torch.full((REPEATS,), bound), count, generator).sort(0).values
    number = {subset: i for i, subset in enumerate(combinations(range(bound), count))}
    seen = torch.tensor([number[tuple(subset)] for subset in picks.T.tolist()]).bincount(minlength=len(number))
    assert len(number) == 1 or chisquare(seen).pvalue > 0.001


@given(bounds=st.lists(st.integers(5, 9) | st.integers(2**40, 2**50), min_size=1, max_size=6), seed=st.integers(0, 99))
def test_distinct_whatever_the_bounds_and_at_no_cost_of_theirs(bounds: list[int], seed: int) -> None:
    picks = distinct_below(torch.tensor(bounds), 5, torch.Generator().manual_seed(seed))
    assert picks.shape == (5, len(bounds))
    for bound, column in zip(bounds, picks.T.tolist(), strict=True):
        assert len(set(column)) == 5
        assert all(0 <= pick < bound for pick in column)
