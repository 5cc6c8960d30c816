"""Noise on a map whose rows lie in several real processes: one size for all, and draws of their own."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sfa import distributed
from sfa.spectral import GaussianNoise, add_noise
from tests.cases import each
from tests.processes import run_in_processes

pytestmark = pytest.mark.multiprocess


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def noise_on(h: Tensor, sizes: tuple[int, ...], seed: int | None) -> tuple[Tensor, Tensor]:
    own = h.split(sizes, dim=-2)[distributed.rank()].clone().requires_grad_()
    layer = GaussianNoise(0.5)
    distributed.enable_cross_rank(layer)
    torch.manual_seed(4)
    h_tilde = layer(own, None if seed is None else seeded(seed))
    (gradient,) = torch.autograd.grad(h_tilde.sum(), own)
    assert h_tilde.dtype == h.dtype
    return h_tilde.detach() - own.detach(), gradient


@each("size", [1.0, 1e20, 1e-20])
@each("sizes", [(3000, 1000), (500, 3500, 0)], ids=str)
def test_its_size_is_that_of_the_whole_map(sizes: tuple[int, ...], size: float) -> None:
    """Rank 0 holds small entries and rank 1 large ones; each map of the batch has a size of its own."""
    h = torch.randn(2, sum(sizes), 8, generator=seeded(0)) * torch.tensor([1.0, 3.0])[:, None, None]
    h[:, sizes[0] :] *= 10
    h *= size
    rms = h.double().square().mean(dim=(1, 2)).sqrt()
    for (noise, gradient), rows in zip(run_in_processes(noise_on, len(sizes), h, sizes, 1), sizes, strict=True):
        assert noise.shape == (2, rows, 8)
        assert torch.equal(gradient, torch.ones_like(noise))
        if rows:
            # 4,000 entries or more: the deviation of what is drawn is right to about 1 %.
            torch.testing.assert_close(noise.double().std(dim=(1, 2)), 0.5 * rms, rtol=0.05, atol=0)
            assert (noise.double().mean(dim=(1, 2)).abs() < 0.05 * rms).all()


@each("seed", [1, None])
def test_each_process_draws_its_own_from_generators_that_are_alike(seed: int | None) -> None:
    h = torch.randn(3 * 500, 8, generator=seeded(0))
    noises = [noise for noise, _ in run_in_processes(noise_on, 3, h, (500, 500, 500), seed)]
    correlation = torch.corrcoef(torch.stack(noises).flatten(1))
    assert correlation.triu(1).abs().max() < 0.06
    again = [noise for noise, _ in run_in_processes(noise_on, 3, h, (500, 500, 500), seed)]
    assert all(torch.equal(a, b) for a, b in zip(noises, again, strict=True)), "a seed fixes the draws"


def test_two_calls_draw_twice() -> None:
    for first, second in run_in_processes(twice, 2):
        assert (first - second).abs().max() > 0.1


def twice() -> tuple[Tensor, Tensor]:
    h, generator = torch.ones(5, 4), seeded(0)
    first, second = (add_noise(h, 0.5, across_processes=True, generator=generator) for _ in range(2))
    return first, second


def test_without_other_processes_the_bits_are_those_of_one() -> None:
    h = torch.randn(9, 4, generator=seeded(0))
    assert torch.equal(add_noise(h, across_processes=True, generator=seeded(1)), add_noise(h, generator=seeded(1)))


def test_bfloat16() -> None:
    for noise, gradient in run_in_processes(noise_on, 2, torch.ones(6, 3).bfloat16(), (5, 1), 1):
        assert noise.dtype == gradient.dtype == torch.bfloat16
        assert noise.any()
