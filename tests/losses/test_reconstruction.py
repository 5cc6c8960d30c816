"""The losses of graph auto-encoders against the dense formulas of their authors."""

import math

import pytest
import torch
from torch import Tensor
from torch.distributions import Normal, kl_divergence

from sfa.errors import InputError
from sfa.losses import kl_to_standard_normal, reconstruction
from tests.cases import each


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_adjacency(n: int = 9) -> Tensor:
    """Symmetric, with ones on the diagonal."""
    upper = (torch.rand(n, n, generator=seeded(), dtype=torch.float64) < 0.2).triu(1)
    return (upper | upper.T | torch.eye(n, dtype=torch.bool)).double()


def random_map(n: int = 9, d: int = 3, seed: int = 1) -> Tensor:
    return torch.randn(n, d, generator=seeded(seed), dtype=torch.float64).requires_grad_()


def weighted_cross_entropy(z: Tensor, adjacency: Tensor) -> Tensor:
    """Over all n² entries: ones weighted by zeros over ones, the mean scaled by n² over twice the zeros."""
    n2, ones = adjacency.numel(), adjacency.sum()
    predicted = torch.sigmoid(z @ z.T)
    weight = (n2 - ones) / ones
    entries = -(weight * adjacency * predicted.log() + (1 - adjacency) * (1 - predicted).log())
    return n2 / (2 * (n2 - ones)) * entries.mean()


def test_on_all_pairs_it_is_the_authors_weighted_cross_entropy() -> None:
    z, adjacency = random_map(), random_adjacency()
    loss = reconstruction(z, adjacency.nonzero().T, (adjacency == 0).nonzero().T)
    expected = weighted_cross_entropy(z, adjacency)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(torch.autograd.grad(loss, z), torch.autograd.grad(expected, z))


def test_a_sample_of_the_zeros_is_unbiased() -> None:
    z, adjacency = random_map().detach(), random_adjacency()
    ones, zeros = adjacency.nonzero().T, (adjacency == 0).nonzero().T
    generator = seeded(3)
    losses = torch.stack(
        [
            reconstruction(z, ones, zeros[:, torch.randint(zeros.shape[1], (10,), generator=generator)])
            for _ in range(3000)
        ]
    )
    expected = weighted_cross_entropy(z, adjacency)
    assert losses.std() > 0
    assert abs(losses.mean() - expected) < 4 * losses.std() / math.sqrt(len(losses))


def test_gradcheck() -> None:
    ones, zeros = torch.tensor([[0, 1, 4], [1, 0, 4]]), torch.tensor([[2, 5], [3, 1]])
    assert torch.autograd.gradcheck(lambda z: reconstruction(z, ones, zeros), random_map(6))


def test_large_scores_stay_finite() -> None:
    z = (1e3 * random_map()).detach().requires_grad_()
    loss = reconstruction(z, torch.tensor([[0, 1], [1, 0]]), torch.tensor([[2, 3], [3, 4]]))
    loss.backward()
    assert loss.isfinite()
    assert z.grad is not None
    assert z.grad.isfinite().all()


def test_without_zeros_the_ones_alone_count() -> None:
    z = random_map(2).detach()
    ones = torch.ones(2, 2).nonzero().T
    loss = reconstruction(z, ones, torch.empty(2, 0, dtype=torch.int64))
    torch.testing.assert_close(loss, -torch.sigmoid(z @ z.T).log().mean() / 2)


@each(("edges", "non_edges"), [((2, 0), (2, 4)), ((3, 4), (2, 4)), ((2, 4), (3, 4)), ((4,), (2, 4))])
def test_pairs_of_other_shapes_are_named(edges: tuple[int, ...], non_edges: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match=r"not \(9, 3\)"):
        reconstruction(random_map(), *(torch.zeros(shape, dtype=torch.int64) for shape in (edges, non_edges)))


def test_the_divergence_is_that_of_torch_distributions() -> None:
    mu, log_sigma = random_map(seed=4), random_map(seed=5)
    expected = kl_divergence(Normal(mu, log_sigma.exp()), Normal(0.0, 1.0)).sum(1).mean()
    torch.testing.assert_close(kl_to_standard_normal(mu, log_sigma), expected)
    assert torch.autograd.gradcheck(kl_to_standard_normal, (mu, log_sigma))


def test_the_divergence_of_the_prior_itself_is_0() -> None:
    assert kl_to_standard_normal(torch.zeros(4, 2), torch.zeros(4, 2)) == 0
