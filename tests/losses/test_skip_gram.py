"""Skip-gram with negative sampling against its formula, pair by pair."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfa.errors import InputError
from sfa.losses import skip_gram
from tests.cases import each


def draw(
    walks: int = 3, length: int = 7, d: int = 4, noise: int = 5, seed: int = 0, scale: float = 1.0
) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    shapes = (walks, length, d), (walks, length, d), (walks, noise, d)
    parts = [scale * torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return parts[0].requires_grad_(), parts[1].requires_grad_(), parts[2].requires_grad_()


def log_sigmoid(x: Tensor) -> Tensor:
    return -(1 + (-x).exp()).log()


def pair_by_pair(centres: Tensor, contexts: Tensor, noise: Tensor, window: int, negatives: float) -> Tensor:
    """Each centre with each context of its window, and with its walk's random nodes in place of the expectation."""
    walks, length, _ = centres.shape
    near = [(i, j) for i in range(length) for j in range(length) if 0 < abs(i - j) <= window]
    walk, i, j = torch.tensor([(walk, i, j) for walk in range(walks) for i, j in near]).T
    v, u, n = centres[walk, i], contexts[walk, j], noise[walk]
    expectation = log_sigmoid(-(n * v[:, None]).sum(2)).mean(1)
    return -(log_sigmoid((u * v).sum(1)) + negatives * expectation).mean()


@given(
    walks=st.integers(1, 4),
    length=st.integers(2, 14),
    window=st.integers(1, 16),
    noise=st.integers(1, 4),
    negatives=st.sampled_from([0.0, 1.0, 5.0]),
    seed=st.integers(0, 2**31),
)
def test_equals_the_formula_and_so_does_its_gradient(
    walks: int, length: int, window: int, noise: int, negatives: float, seed: int
) -> None:
    """Whatever the blocks: walks shorter than a window, as long as some blocks, or a little longer."""
    parts = draw(walks, length, 3, noise, seed)
    loss, expected = skip_gram(*parts, window=window, negatives=negatives), pair_by_pair(*parts, window, negatives)
    torch.testing.assert_close(loss, expected)
    gradients = torch.autograd.grad(loss, parts)
    references = torch.autograd.grad(expected, parts, allow_unused=True)
    for gradient, reference in zip(gradients, references, strict=True):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient) if reference is None else reference)


def test_gradcheck() -> None:
    assert torch.autograd.gradcheck(lambda *parts: skip_gram(*parts, window=2, negatives=3.0), draw(2, 6, 3, 2))


def test_shared_random_nodes_give_the_loss_of_own_ones_in_expectation() -> None:
    """K nodes drawn for every pair, as in word2vec, and a few for a whole walk: the same mean over many draws."""
    centres, contexts, _ = (part.detach() for part in draw(1, 5, 3))
    table = torch.randn(6, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    weight = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], dtype=torch.float64)
    drawn = torch.multinomial(weight, 40 * 100 * 4, replacement=True, generator=torch.Generator().manual_seed(2))
    copies = [part.expand(100, -1, -1) for part in (centres, contexts)]
    shared = torch.stack(
        [skip_gram(*copies, noise, window=2, negatives=5.0) for noise in table[drawn].reshape(40, 100, 4, 3)]
    )

    pairs = [(i, j) for i in range(5) for j in range(5) if 0 < abs(i - j) <= 2]
    expectation = [(weight / weight.sum() * log_sigmoid(-table @ centres[0, i])).sum() for i in range(5)]
    exact = -sum(log_sigmoid(contexts[0, j] @ centres[0, i]) + 5 * expectation[i] for i, j in pairs) / len(pairs)
    assert abs(shared.mean() - exact) < 4 * shared.std() / math.sqrt(len(shared))


def test_large_scores_stay_finite() -> None:
    parts = draw(scale=1e3)
    loss = skip_gram(*parts, window=3)
    loss.backward()
    assert loss.isfinite()
    assert all(part.grad is not None and part.grad.isfinite().all() for part in parts)


def test_memory_is_linear_in_the_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """No product of a walk with itself: the largest has a window's width, times the length."""
    sizes = []
    product = torch.Tensor.__matmul__

    def spy(one: Tensor, other: Tensor) -> Tensor:
        result = product(one, other)
        sizes.append(result.numel())
        return result

    monkeypatch.setattr(torch.Tensor, "__matmul__", spy)
    skip_gram(*draw(1, 400, 2, 1), window=3)
    assert sum(sizes) <= 400 * (4 * 3 + 2)


@each(
    "shapes",
    [
        ((2, 1, 3), (2, 1, 3), (2, 4, 3)),
        ((2, 5, 3), (2, 6, 3), (2, 4, 3)),
        ((2, 5, 3), (2, 5, 3), (1, 4, 3)),
        ((2, 5, 3), (2, 5, 3), (2, 4, 2)),
        ((2, 5, 3), (2, 5, 3), (2, 0, 3)),
        ((0, 5, 3), (0, 5, 3), (0, 4, 3)),
        ((5, 3), (5, 3), (4, 3)),
    ],
)
def test_shapes_that_do_not_fit_are_named(shapes: tuple[tuple[int, ...], ...]) -> None:
    with pytest.raises(InputError, match=r"length ≥ 2, d\)"):
        skip_gram(*(torch.zeros(shape) for shape in shapes), window=2)


def test_settings_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match=r"window .* not 0"):
        skip_gram(*draw(), window=0)
    with pytest.raises(InputError, match=r"negatives .* not -1"):
        skip_gram(*draw(), window=2, negatives=-1.0)
