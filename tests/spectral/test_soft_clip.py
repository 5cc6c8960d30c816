"""Soft clipping against its formula, with a threshold found by bisection, and against the flow that it stands for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from sfa import distributed, theory
from sfa.spectral import SoftClip, power_iteration, soft_clip
from sfa.spectral.soft_clip import VOLUME
from tests.cases import each
from tests.processes import run_in_processes
from tests.spectral.maps import low_rank, random_map, seeded
from tests.spectral.operator_tests import OperatorTests


def removed(sigma: Tensor, c: float, order: float) -> float:
    """The logarithm of the volume that a threshold removes."""
    return float(torch.log1p((sigma / c) ** order).sum()) / order


def bisect(sigma: Tensor, order: float, volume: float) -> float:
    low, high = -60.0, 60.0
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if removed(sigma, math.exp(middle), order) > volume else (low, middle)
    return math.exp(low)


class TestVolume(OperatorTests):
    map = SoftClip
    options = {"order": 3.0, "volume": 2.5, "detach": False}  # noqa: RUF012

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        c = bisect(sigma[sigma > 1e-9 * sigma.max()], 3.0, 2.5)
        return (1 + (sigma / c) ** 3.0) ** (-1 / 3)


class TestThreshold(OperatorTests):
    map = SoftClip
    options = {"order": 4.0, "threshold": 1.7, "detach": False}  # noqa: RUF012

    def weights(self, sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
        return (1 + (sigma / 1.7) ** 4) ** -0.25


@each("volume", [1e-9, 1e-3, 0.1, VOLUME, 40.0, 700.0])
@each("order", [2.0, 3.6, 16.0, 200.0])
@each("spectrum", ["equal", "one above many", "steep", "one"])
def test_the_volume_is_removed(spectrum: str, order: float, volume: float) -> None:
    sigma = {
        "equal": torch.ones(300),
        "one above many": torch.cat([torch.full((1,), 1e3), torch.ones(999)]),
        "steep": torch.logspace(0, -6, 60),
        "one": torch.full((1,), 7.0),
    }[spectrum].double()
    clipped = soft_clip(torch.diag(sigma), order, volume=volume).diagonal()
    assert abs(float((sigma.log() - clipped.log()).sum()) - volume) < 1e-9 * max(1, volume)
    assert (clipped <= sigma).all()


def test_gentle_passes_remove_the_same_volume_and_end_nearby() -> None:
    h = random_map(200, 24) * torch.logspace(0.5, -1, 24, dtype=torch.float64)
    drawn = power_iteration(h.expand(40, 200, 24), 1, strength=0.125, passes=64, generator=seeded(0))
    spectra = torch.linalg.svdvals(drawn)
    torch.testing.assert_close(
        torch.linalg.svdvals(h).log().sum() - spectra.log().sum(-1), torch.full((40,), VOLUME).double()
    )
    u, _, vh = torch.linalg.svd(h, full_matrices=False)
    along = (u.mT @ drawn.mean(0) @ vh.mT).diagonal()
    assert (along / torch.linalg.svdvals(soft_clip(h)) - 1).abs().max() < 0.06


@each("iterations", [1, 2])
def test_the_flow_ends_within_a_few_percent(iterations: int) -> None:
    sigma = np.append(10.0, 1 / np.arange(1, 65) ** 0.7)
    flow = theory.leveled(sigma, iterations, strength=0.02, passes=300)
    volume = float(np.log(sigma / flow).sum())
    clipped = soft_clip(torch.diag(torch.from_numpy(sigma)), 3.6 * iterations, volume=volume).diagonal().numpy()
    assert np.abs(clipped / flow - 1).max() < 0.04


def test_a_large_order_clips_and_order_two_is_whitening_with_a_ridge() -> None:
    h = random_map(30, 6)
    u, sigma, vh = torch.linalg.svd(h, full_matrices=False)
    torch.testing.assert_close(soft_clip(h, 1e6, threshold=5.0), u * sigma.clamp(max=5) @ vh, rtol=1e-5, atol=1e-5)
    ridge = sigma / (sigma.square() / 25 + 1).sqrt()
    torch.testing.assert_close(soft_clip(h, 2, threshold=5.0), u * ridge @ vh)


@each("order", [2.0, 3.6])
def test_gradient_where_singular_values_repeat_or_vanish(order: float) -> None:
    repeated = torch.linalg.qr(random_map(7, 4)).Q * torch.tensor([2.0, 2.0, 1.0, 1.0]).double()
    for h in (repeated, repeated.mT.contiguous(), torch.eye(5).double() * 3):
        assert torch.autograd.gradcheck(lambda x: soft_clip(x, order, detach=False), h.clone().requires_grad_())
    h, seen = low_rank(9, 5, 2).requires_grad_(), random_map(9, 5, seed=3)
    (gradient,) = torch.autograd.grad((soft_clip(h, order, volume=1.0, detach=False) * seen).sum(), h)
    step, along = 1e-6, random_map(9, 2, seed=4) @ torch.linalg.qr(h.detach().mT).Q[:, :2].mT  # the rank stays
    with torch.no_grad():
        ahead, behind = (soft_clip(h + sign * step * along, order, volume=1.0) for sign in (1, -1))
    slope = ((ahead - behind) * seen).sum() / (2 * step)
    torch.testing.assert_close((gradient * along).sum(), slope, rtol=1e-5, atol=1e-5)


def parts(h: Tensor, sizes: tuple[int, ...], options: dict[str, Any]) -> tuple[Tensor, Tensor]:
    own = h.split(sizes)[distributed.rank()].clone().requires_grad_()
    h_tilde = soft_clip(own, **options, across_processes=True)
    (gradient,) = torch.autograd.grad((h_tilde * h_tilde.detach().cos()).sum(), own)
    return h_tilde.detach(), gradient


@pytest.mark.multiprocess
@each("options", [{}, {"detach": False}, {"threshold": 2.0, "detach": False}], ids=str)
@each("sizes", [(9, 4), (8, 0, 3)], ids=str)
def test_across_processes_equals_one(sizes: tuple[int, ...], options: dict[str, Any]) -> None:
    h = random_map(sum(sizes), 5)
    (expected, expected_gradient), *_ = [parts(h, (len(h),), options)]
    found = run_in_processes(parts, len(sizes), h, sizes, options)
    torch.testing.assert_close(torch.cat([one for one, _ in found]), expected)
    torch.testing.assert_close(torch.cat([one for _, one in found]), expected_gradient)


VARIANTS = [SoftClip(order=2.0), SoftClip(order=8.0, volume=0.5, detach=False)]
WRONG = [
    (SoftClip, {"order": 1.9}, "order .* 2 or more, not 1.9"),
    (SoftClip, {"volume": 0.0}, "volume .* above 0, not 0.0"),
    (SoftClip, {"threshold": -1.0}, "threshold .* above 0, not -1.0"),
]
