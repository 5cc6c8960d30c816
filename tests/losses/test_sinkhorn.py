"""Sinkhorn's assignments against the authors' three iterations and against the fixed point."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.losses import sinkhorn
from tests.cases import each
from tests.processes import run_in_processes


def random_scores(rows: int, prototypes: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Cosines of random directions, as SwAV has them."""
    generator = torch.Generator().manual_seed(seed)
    z, c = (torch.randn(n, 5, generator=generator, dtype=torch.float64) for n in (rows, prototypes))
    return (torch.nn.functional.normalize(z) @ torch.nn.functional.normalize(c).mT).to(dtype)


def as_in_the_paper(scores: Tensor, epsilon: float, iterations: int) -> list[list[float]]:
    """The listing in the paper's appendix, entry by entry: sums of 1 in all, then of 1/K a prototype and 1/B a row."""
    rows, prototypes = scores.shape
    q = [[math.exp(s / epsilon) for s in row] for row in scores.tolist()]
    total = sum(map(sum, q))
    q = [[entry / total for entry in row] for row in q]
    for _ in range(iterations):
        columns = [sum(row[k] for row in q) for k in range(prototypes)]
        q = [[row[k] / columns[k] / prototypes for k in range(prototypes)] for row in q]
        q = [[entry / sum(row) / rows for entry in row] for row in q]
    return [[entry * rows for entry in row] for row in q]


@given(rows=st.integers(1, 9), prototypes=st.integers(1, 7), iterations=st.integers(1, 5), seed=st.integers(0, 99))
def test_equals_the_papers_listing(rows: int, prototypes: int, iterations: int, seed: int) -> None:
    scores = random_scores(rows, prototypes, seed)
    expected = torch.tensor(as_in_the_paper(scores, 0.05, iterations), dtype=torch.float64)
    torch.testing.assert_close(sinkhorn(scores, iterations=iterations), expected, rtol=1e-9, atol=1e-12)


def test_by_default_three_iterations_with_an_epsilon_of_a_twentieth() -> None:
    scores = random_scores(6, 4)
    assert torch.equal(sinkhorn(scores), sinkhorn(scores, epsilon=0.05, iterations=3))
    assert (sinkhorn(scores) - sinkhorn(scores, iterations=2)).abs().max() > 1e-3
    assert (sinkhorn(scores) - sinkhorn(scores, epsilon=0.06)).abs().max() > 1e-3


@each(("rows", "prototypes"), [(12, 4), (4, 12), (7, 7)])
@each("epsilon", [0.2, 1.0])
def test_many_iterations_reach_the_fixed_point(rows: int, prototypes: int, epsilon: float) -> None:
    """It has both marginals, and is the kernel with rows and columns scaled: no other matrix is and has."""
    scores = random_scores(rows, prototypes)
    q = sinkhorn(scores, epsilon=epsilon, iterations=500)
    assert (q.sum(1) - 1).abs().max() < 1e-6
    assert (q.sum(0) - rows / prototypes).abs().max() < 1e-6
    factors = q.log() - scores / epsilon  # log a_i + log b_k
    of_rows, of_columns = factors.mean(1, keepdim=True), factors.mean(0, keepdim=True)
    torch.testing.assert_close(factors, of_rows + of_columns - factors.mean(), rtol=0, atol=1e-9)
    expected = torch.tensor(as_in_the_paper(scores, epsilon, 500), dtype=torch.float64)
    torch.testing.assert_close(q, expected, rtol=0, atol=1e-9)


def test_the_fixed_point_is_the_best_assignment() -> None:
    """No other matrix with these marginals has a larger objective: moves that keep them all lower it."""
    scores, epsilon = random_scores(6, 4), 0.3
    q = sinkhorn(scores, epsilon=epsilon, iterations=500)

    def objective(q: Tensor) -> float:
        return float((q * scores).sum() - epsilon * (q * q.log()).sum())

    generator = torch.Generator().manual_seed(1)
    for _ in range(50):
        i, j = torch.randperm(6, generator=generator)[:2].tolist()
        k, m = torch.randperm(4, generator=generator)[:2].tolist()
        other, moved = q.clone(), 0.1 * float(torch.stack([q[i, k], q[j, m]]).min())
        other[i, k] -= moved
        other[i, m] += moved
        other[j, m] -= moved
        other[j, k] += moved
        assert objective(other) < objective(q)


@each("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_widened(dtype: torch.dtype) -> None:
    scores = random_scores(40, 30, dtype=dtype)
    q = sinkhorn(scores)
    assert q.dtype == torch.float32
    torch.testing.assert_close(q, sinkhorn(scores.double()).float(), rtol=1e-4, atol=1e-6)
    assert (q.sum(1) - 1).abs().max() < 1e-6


@given(
    entries=st.lists(st.floats(allow_nan=False, allow_infinity=False, width=32), min_size=12, max_size=12),
    shape=st.sampled_from([(1, 12), (3, 4), (6, 2), (12, 1)]),
    epsilon=st.sampled_from([1e-3, 0.05, 10.0]),
)
@example(entries=[3e38] * 6 + [-3e38] * 6, shape=(6, 2), epsilon=0.05)
def test_any_finite_scores_give_finite_assignments(
    entries: list[float], shape: tuple[int, int], epsilon: float
) -> None:
    q = sinkhorn(torch.tensor(entries).reshape(shape), epsilon=epsilon)
    assert q.isfinite().all()
    assert (q >= 0).all()
    assert (q.sum(1) - 1).abs().max() < 1e-5


@each("dtype", [torch.float32, torch.float16], ids=str)
def test_rows_far_below_the_others_are_assigned_as_well(dtype: torch.dtype) -> None:
    """Where the kernel itself would vanish, against logarithms in float64."""
    scores = 10 * random_scores(8, 5)
    scores[3] -= 1000
    scores[:, 2] += 500
    x = scores.to(dtype).double() / 0.05
    of_rows = torch.zeros(8, 1, dtype=torch.float64)
    for _ in range(3):
        of_columns = -(x + of_rows).logsumexp(0, keepdim=True)
        of_rows = -(x + of_columns).logsumexp(1, keepdim=True)
    expected = (x + of_rows + of_columns).exp().float()
    torch.testing.assert_close(sinkhorn(scores.to(dtype)), expected, rtol=0, atol=1e-3)


def test_one_row_and_one_prototype() -> None:
    torch.testing.assert_close(sinkhorn(random_scores(1, 4)), torch.full((1, 4), 0.25, dtype=torch.float64))
    torch.testing.assert_close(sinkhorn(random_scores(4, 1)), torch.ones(4, 1, dtype=torch.float64))


def test_rows_that_all_look_alike_use_all_prototypes_alike() -> None:
    """What keeps SwAV from a collapse: the softmax of the same scores has one favourite."""
    scores = random_scores(1, 6).expand(9, 6)
    torch.testing.assert_close(sinkhorn(scores), torch.full((9, 6), 1 / 6, dtype=torch.float64))
    assert (scores / 0.05).softmax(1).max() > 0.7


def test_no_gradient_and_the_scores_stay() -> None:
    scores = random_scores(6, 4).requires_grad_()
    before = scores.detach().clone()
    assert not sinkhorn(scores).requires_grad
    assert torch.equal(scores, before)


@each("value", [math.nan, math.inf])
def test_what_is_no_number_shows(value: float) -> None:
    scores = random_scores(6, 4)
    scores[2, 1] = value
    assert sinkhorn(scores).isnan().all()


@each(
    ("scores", "options", "message"),
    [
        (torch.ones(3), {}, r"\(B, K\)"),
        (torch.ones(0, 3), {}, "B ≥ 1"),
        (torch.ones(3, 0), {}, "K ≥ 1"),
        (torch.ones(3, 2, dtype=torch.int64), {}, "numbers"),
        (torch.ones(3, 2), {"epsilon": 0.0}, "epsilon"),
        (torch.ones(3, 2), {"iterations": 0}, "iterations"),
    ],
)
def test_wrong_input_is_named(scores: Tensor, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        sinkhorn(scores, **options)


def own_assignments(scores: Tensor, sizes: tuple[int, ...], across: bool) -> Tensor:
    return sinkhorn(scores.split(sizes)[distributed.rank()], across_processes=across)


@pytest.mark.multiprocess
@each("sizes", [(5, 2), (0, 7), (3, 1, 3)], ids=str)
@each("far", [0.0, 1e4])
def test_rows_of_several_processes_are_one_batch(sizes: tuple[int, ...], far: float) -> None:
    scores = random_scores(7, 4)
    scores[-1] -= far
    parts = run_in_processes(own_assignments, len(sizes), scores, sizes, True)
    torch.testing.assert_close(torch.cat(parts), sinkhorn(scores), rtol=1e-9, atol=1e-9)


@pytest.mark.multiprocess
def test_each_process_alone_has_others() -> None:
    scores = random_scores(7, 4)
    parts = run_in_processes(own_assignments, 2, scores, (5, 2), False)
    assert (torch.cat(parts) - sinkhorn(scores)).abs().max() > 0.01


def refused() -> bool:
    with pytest.raises(InputError, match="0 rows in all"):
        sinkhorn(torch.ones(0, 3), across_processes=True)
    return True


@pytest.mark.multiprocess
def test_no_rows_in_any_process() -> None:
    assert run_in_processes(refused, 2) == [True, True]


def test_without_other_processes_the_bits_are_those_of_one() -> None:
    scores = random_scores(7, 4)
    assert torch.equal(sinkhorn(scores, across_processes=True), sinkhorn(scores))
