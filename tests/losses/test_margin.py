"""The multiplet loss against its formulas, node by node and negative by negative."""

from __future__ import annotations

import math
from typing import get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from sfa.errors import InputError
from sfa.losses import multiplet
from sfa.losses.negative_sampling import Form, distances
from tests.cases import each

FORMS = get_args(Form)


def random_maps(n: int = 6, d: int = 3, k: int = 2, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    anchor, structural, neighbour = torch.randn(3, n, d, generator=generator, dtype=torch.float64)
    return anchor, structural, neighbour, torch.stack([torch.randperm(n, generator=generator) for _ in range(k)])


def terms(
    anchor: Tensor, structural: Tensor, neighbour: Tensor, shuffles: Tensor, alpha: float, beta: float, power: int
) -> list[list[list[float]]]:
    """The three braces of every node and negative; ``power`` 2 squares the distances."""

    def d(one: Tensor, other: Tensor) -> float:
        return math.dist(one.tolist(), other.tolist()) ** power

    losses: list[list[list[float]]] = [[], [], []]
    for i in range(len(anchor)):
        negatives = [d(anchor[i], anchor[rows[i]]) for rows in shuffles]
        to_structural, to_neighbour = d(anchor[i], structural[i]), d(anchor[i], neighbour[i])
        losses[0].append([max(to_structural - far + alpha, 0) for far in negatives])
        losses[1].append([max(to_neighbour - far + alpha, 0) for far in negatives])
        losses[2].append([-min(to_structural - far + alpha + beta, 0) for far in negatives])
    return losses


@given(n=st.integers(2, 7), k=st.integers(1, 4), seed=st.integers(0, 99), alpha=st.floats(0, 2), beta=st.floats(0, 2))
def test_equals_the_paper(n: int, k: int, seed: int, alpha: float, beta: float) -> None:
    """L_S, L_N and L_U of Mo et al., averaged over the nodes."""
    maps = random_maps(n, k=k, seed=seed)
    means = [sum(map(sum, term)) / (n * k) for term in terms(*maps, alpha, beta, power=2)]
    expected = 3 * means[0] + 5 * means[1] + 0.5 * means[2]
    found = multiplet(*maps, alpha=alpha, beta=beta, weights=(3, 5, 0.5), form="paper")
    assert found.item() == pytest.approx(expected, abs=1e-9)


@given(n=st.integers(2, 7), k=st.integers(1, 4), seed=st.integers(0, 99), alpha=st.floats(0, 2), beta=st.floats(0, 2))
def test_equals_the_authors_code(n: int, k: int, seed: int, alpha: float, beta: float) -> None:
    """Distances as they are; sums over the negatives of means over the nodes; the last the other way round."""
    maps = random_maps(n, k=k, seed=seed)
    sums = [sum(map(sum, term)) for term in terms(*maps, alpha, beta, power=1)]
    expected = 3 * sums[0] / n + 5 * sums[1] / n + 0.5 * sums[2] / k
    found = multiplet(*maps, alpha=alpha, beta=beta, weights=(3, 5, 0.5))
    assert found.item() == pytest.approx(expected, abs=1e-9)


def test_the_published_weights_and_margins_are_the_defaults() -> None:
    maps = random_maps()
    assert torch.equal(multiplet(*maps), multiplet(*maps, alpha=0.8, beta=0.2, weights=(10, 10, 1), form="code"))
    assert not torch.isclose(multiplet(*maps), multiplet(*maps, form="paper"))


@each("weights", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (3.0, 5.0, 0.5)])
def test_gradcheck_as_printed(weights: tuple[float, float, float]) -> None:
    *maps, shuffles = random_maps()
    inputs = [h.requires_grad_() for h in maps]
    assert torch.autograd.gradcheck(lambda *h: multiplet(*h, shuffles, weights=weights, form="paper"), inputs)


@each("weights", [(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (3.0, 5.0, 0.0)])
def test_gradcheck_of_the_code(weights: tuple[float, float, float]) -> None:
    *maps, shuffles = random_maps()
    shuffles = torch.stack([torch.arange(6).roll(1), torch.arange(6).roll(2)])  # a distance of 0 has a kink
    inputs = [h.requires_grad_() for h in maps]
    assert torch.autograd.gradcheck(lambda *h: multiplet(*h, shuffles, weights=weights), inputs)


def test_in_the_code_the_upper_bound_leaves_the_positive_alone() -> None:
    """It draws negatives in: its gradient is that with the distance to the positive held fixed."""
    anchor, structural, neighbour, _ = random_maps()
    shuffles = torch.stack([torch.arange(6).roll(1)])
    anchor = (5 * anchor).requires_grad_()
    structural.requires_grad_()
    loss = multiplet(anchor, structural, neighbour, shuffles, weights=(0, 0, 1))
    held = distances(anchor, structural, squared=False).detach()
    by_hand = (distances(anchor, anchor[shuffles[0]], squared=False) - held - 1.0).clamp_min(0).sum()
    torch.testing.assert_close(loss, by_hand)
    (found, none), (expected,) = (
        torch.autograd.grad(loss, [anchor, structural], allow_unused=True, materialize_grads=True),
        torch.autograd.grad(by_hand, [anchor]),
    )
    torch.testing.assert_close(found, expected)
    assert found.abs().max() > 0
    assert not none.any()


@each("form", FORMS)
def test_nothing_is_left_to_do_within_the_band(form: Form) -> None:
    """Positives where the anchors are, negatives at a distance between alpha and alpha + beta."""
    anchor = torch.tensor([[0.0], [1.0]])
    shuffles = torch.tensor([[1, 0]])
    assert multiplet(anchor, anchor, anchor, shuffles, alpha=0.9, beta=0.2, form=form).item() == 0
    assert multiplet(anchor, anchor, anchor, shuffles, alpha=1.1, beta=0.2, form=form).item() > 0
    assert multiplet(anchor, anchor, anchor, shuffles, alpha=0.9, beta=0.05, form=form).item() > 0


@each("form", FORMS)
def test_a_node_that_is_its_own_negative_and_positive_stays_finite(form: Form) -> None:
    anchor = torch.randn(4, 3, generator=torch.Generator().manual_seed(0), requires_grad=True)
    loss = multiplet(anchor, anchor, anchor, torch.arange(4)[None], form=form)
    loss.backward()
    assert loss.isfinite()
    assert anchor.grad is not None
    assert anchor.grad.isfinite().all()


def test_wrong_input_is_named() -> None:
    anchor, structural, neighbour, shuffles = random_maps()
    with pytest.raises(InputError, match=r"\(6, 3\), \(5, 3\)"):
        multiplet(anchor, structural[1:], neighbour, shuffles)
    with pytest.raises(InputError, match=r"numbers \(k, 6\)"):
        multiplet(anchor, structural, neighbour, shuffles[:, 1:])
    with pytest.raises(InputError, match="did you mean 'paper'"):
        multiplet(anchor, structural, neighbour, shuffles, form="papers")  # type: ignore[arg-type]
