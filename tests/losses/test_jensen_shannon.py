"""The Jensen–Shannon loss against the formulas of the papers that use it."""

import math
from unittest.mock import patch

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, softplus

from sfa import matrices
from sfa.errors import InputError
from sfa.losses import jensen_shannon, local_global_jensen_shannon, normalized_jensen_shannon
from tests.cases import each


def scores(n: int = 7, m: int = 7) -> tuple[Tensor, Tensor]:
    draw = 3 * torch.randn(n + m, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return draw[:n].clone().requires_grad_(), draw[n:].clone().requires_grad_()


@given(
    positive=st.lists(st.floats(-30, 30), min_size=1, max_size=6),
    negative=st.lists(st.floats(-30, 30), min_size=1, max_size=6),
)
def test_equals_the_formula(positive: list[float], negative: list[float]) -> None:
    """Also where there are more pairs of one kind: each kind has half the weight."""
    expected = 0.5 * sum(math.log1p(math.exp(-s)) for s in positive) / len(positive)
    expected += 0.5 * sum(math.log1p(math.exp(s)) for s in negative) / len(negative)
    given_scores = (torch.tensor(s, dtype=torch.float64) for s in (positive, negative))
    assert jensen_shannon(*given_scores).item() == pytest.approx(expected, rel=1e-12)


def test_is_the_binary_cross_entropy_of_dgi() -> None:
    positive, negative = scores()
    logits, labels = torch.cat([positive, negative]), torch.cat([torch.ones(7), torch.zeros(7)]).double()
    torch.testing.assert_close(jensen_shannon(positive, negative), binary_cross_entropy_with_logits(logits, labels))


def test_is_the_divergence_of_mvgrl_but_for_scale_and_constant() -> None:
    positive, negative = scores(7, 5)
    found = math.log(2) - softplus(-positive)
    expected = softplus(-negative) + negative - math.log(2)
    divergence = expected.mean() - found.mean()
    torch.testing.assert_close(2 * jensen_shannon(positive, negative) - 2 * math.log(2), divergence)


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(jensen_shannon, scores(4, 6))


def test_scores_that_say_nothing_and_scores_that_say_all() -> None:
    assert jensen_shannon(torch.zeros(3), torch.zeros(2, 2)).item() == pytest.approx(math.log(2))
    assert jensen_shannon(torch.full((3,), 200.0), torch.full((3,), -200.0)).item() == pytest.approx(0, abs=1e-30)


@each("size", [1e3, 1e10, 3e38])
def test_huge_scores_keep_value_and_gradient(size: float) -> None:
    """A pair that is wrong by so much costs so much, and pulls with the full weight of one pair."""
    wrong = torch.tensor([-size], requires_grad=True)
    loss = jensen_shannon(wrong, torch.tensor([-size]))
    assert loss.item() == pytest.approx(size / 2)
    (gradient,) = torch.autograd.grad(loss, wrong)
    assert gradient.item() == pytest.approx(-0.5)


def test_both_kinds_of_pairs_are_needed() -> None:
    with pytest.raises(InputError, match="not 0 positive and 3 negative"):
        jensen_shannon(torch.ones(0), torch.ones(3))


def parts_and_wholes(n: int = 9, b: int = 4) -> tuple[Tensor, Tensor, Tensor]:
    """Parts, wholes, and the whole of each part; the last whole has none."""
    generator = torch.Generator().manual_seed(1)
    local, summaries = (torch.randn(rows, 3, generator=generator, dtype=torch.float64) for rows in (n, b))
    return local.requires_grad_(), summaries.requires_grad_(), torch.randint(b - 1, (n,), generator=generator)


def test_local_and_global_is_infographs_divergence_but_for_scale_and_constant() -> None:
    """The formula of the authors' code, pair by pair."""
    local, summaries, owner = parts_and_wholes()
    positive = negative = 0.0
    for part, own in zip(local.tolist(), owner.tolist(), strict=True):
        for number, whole in enumerate(summaries.tolist()):
            u = sum(one * other for one, other in zip(part, whole, strict=True))
            if number == own:
                positive += math.log(2) - math.log1p(math.exp(-u))
            else:
                negative += math.log1p(math.exp(-u)) + u - math.log(2)
    divergence = negative / (9 * 3) - positive / 9
    found = local_global_jensen_shannon(local, summaries, owner).item()
    assert 2 * found - 2 * math.log(2) == pytest.approx(divergence, rel=1e-12)


def test_local_and_global_in_chunks_is_the_loss_of_all_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    local, summaries, owner = parts_and_wholes()
    scores, own = local @ summaries.mT, torch.arange(4) == owner[:, None]
    expected = jensen_shannon(scores[own], scores[~own])
    monkeypatch.setattr("sfa.matrices.CHUNK_BYTES", 4 * 4 * 2)  # two rows of four scores
    found = local_global_jensen_shannon(local, summaries, owner)
    torch.testing.assert_close(found, expected)
    gradients = [torch.autograd.grad(loss, (local, summaries)) for loss in (found, expected)]
    torch.testing.assert_close(*gradients)


def test_local_and_global_gradcheck() -> None:
    local, summaries, owner = parts_and_wholes(5, 3)
    assert torch.autograd.gradcheck(lambda *pair: local_global_jensen_shannon(*pair, owner), (local, summaries))


def test_local_and_global_keeps_huge_scores() -> None:
    """Parts that are far nearer to another whole cost so much, and one's own huge score adds nothing to negatives."""
    summaries, owner = torch.tensor([[1.0], [-1.0]]), torch.tensor([0])
    local = torch.tensor([[-1e10]], requires_grad=True)
    loss = local_global_jensen_shannon(local, summaries, owner)
    assert loss.item() == pytest.approx(1e10)
    assert torch.autograd.grad(loss, local)[0].item() == pytest.approx(-1)
    assert local_global_jensen_shannon(-local, summaries, owner).item() == 0


def test_local_and_global_widens_half_precision() -> None:
    local, summaries, owner = parts_and_wholes()
    halves = local.detach().bfloat16(), summaries.detach().bfloat16()
    found = local_global_jensen_shannon(*halves, owner)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, local_global_jensen_shannon(*(half.float() for half in halves), owner))


@each(("n", "b", "owners"), [(0, 2, 0), (3, 1, 3), (3, 2, 2)])
def test_local_and_global_needs_parts_two_wholes_and_an_owner_each(n: int, b: int, owners: int) -> None:
    with pytest.raises(InputError, match=r"Parts .* wholes"):
        local_global_jensen_shannon(torch.ones(n, 3), torch.ones(b, 3), torch.zeros(owners, dtype=torch.int64))


def slow_normalized_jensen_shannon(anchors: Tensor, positives: Tensor) -> Tensor:
    """Pair by pair, as in SIGNA's paper."""

    def share(one: Tensor, other: Tensor) -> Tensor:
        return (1 + one @ other / (one.norm() * other.norm())) / 2

    n, total = len(anchors), torch.zeros((), dtype=anchors.dtype)
    for i in range(n):
        total = total - (share(anchors[i], positives[i]) + 1e-6).log()
        for j in range(n):
            if j != i:
                total = total - (1 - share(anchors[i], anchors[j]) + 1e-6).log() / (n - 1)
    return total / n


def pair_of_rows(n: int, d: int = 4, seed: int = 0) -> tuple[Tensor, Tensor]:
    draw = torch.randn(2, n, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return draw[0].requires_grad_(), draw[1].requires_grad_()


class TestNormalized:
    @given(n=st.integers(2, 9), d=st.integers(1, 5), rows=st.integers(1, 10), seed=st.integers(0, 99))
    def test_value_and_gradients_equal_the_loops(self, n: int, d: int, rows: int, seed: int) -> None:
        """Whatever the chunks of rows are."""
        pair = pair_of_rows(n, d, seed)
        with patch.object(matrices, "CHUNK_BYTES", 4 * n * rows):
            loss = normalized_jensen_shannon(*pair)
            gradients = torch.autograd.grad(loss, pair)
        expected = slow_normalized_jensen_shannon(*pair)
        torch.testing.assert_close(loss, expected)
        if d > 1:  # in one dimension all rows are equal or opposite, where the gradient is rounding
            torch.testing.assert_close(gradients, torch.autograd.grad(expected, pair))

    def test_gradcheck(self) -> None:
        assert torch.autograd.gradcheck(normalized_jensen_shannon, pair_of_rows(5))

    def test_is_twice_the_jensen_shannon_loss_of_scores(self) -> None:
        a, b = pair_of_rows(6)
        unit = a / a.norm(dim=1, keepdim=True)
        positive = 2 * torch.atanh(torch.cosine_similarity(a, b))
        negative = 2 * torch.atanh((unit @ unit.T)[~torch.eye(6, dtype=torch.bool)])
        expected = 2 * jensen_shannon(positive, negative)
        torch.testing.assert_close(normalized_jensen_shannon(a, b), expected, rtol=0, atol=1e-4)

    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    @pytest.mark.parametrize(
        "rows",
        [torch.zeros(3, 4), torch.ones(3, 4), torch.tensor([[1.0], [-1.0]]), 1e30 * torch.eye(3), 1e-30 * torch.eye(3)],
    )
    def test_degenerate_rows_have_a_finite_loss_and_gradient(self, rows: Tensor, dtype: torch.dtype) -> None:
        for other in (rows, -rows):
            anchors, positives = (z.to(dtype, copy=True).requires_grad_() for z in (rows, other))
            loss = normalized_jensen_shannon(anchors, positives)
            assert loss.dtype == torch.float32
            gradients = torch.autograd.grad(loss, (anchors, positives))
            assert all(one.isfinite().all() for one in (loss, *gradients))

    def test_rows_of_another_length_count_the_same(self) -> None:
        a, b = pair_of_rows(5)
        torch.testing.assert_close(normalized_jensen_shannon(1e3 * a, 1e-3 * b), normalized_jensen_shannon(a, b))

    @each("shapes", [[(3, 4), (2, 4)], [(1, 4), (1, 4)], [(0, 4), (0, 4)], [(3, 4), (3, 5)]])
    def test_refuses_rows_without_negatives_or_of_two_shapes(self, shapes: list[tuple[int, int]]) -> None:
        with pytest.raises(InputError, match=r"of one shape \(n, d\) with n ≥ 2 are needed"):
            normalized_jensen_shannon(*(torch.zeros(shape) for shape in shapes))
