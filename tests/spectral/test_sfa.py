"""The layer against Algorithm 1 written out in NumPy, its gradients, and every input that could break it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sfa
from sfa.spectral import SpectralFeatureAugmentation, power_iteration
from sfa.spectral.passes import orthonormal
from tests.cases import each

VARIANTS = [
    SpectralFeatureAugmentation(2, strength=0.5, passes=3),
    SpectralFeatureAugmentation(2, directions=2),
    SpectralFeatureAugmentation(2, directions=2, detach=False),
]
WRONG = [
    (SpectralFeatureAugmentation, {"iterations": 1.5}, "iterations .* whole number, .* not 1.5"),
    (SpectralFeatureAugmentation, {"strength": float("nan")}, "strength .* not nan"),
    (SpectralFeatureAugmentation, {"strength": float("inf")}, "strength"),
    (SpectralFeatureAugmentation, {"directions": 0}, "directions .* 1 or more, not 0"),
    (SpectralFeatureAugmentation, {"passes": 0}, "passes"),
]


def algorithm_1(h: Tensor, r: Tensor, iterations: int, strength: float = 1.0) -> Tensor:
    """The paper's Algorithm 1, literally: the Gram matrix, no normalization, one map at a time."""
    r = r.double()
    for _ in range(iterations):
        r = h.double().T @ h.double() @ r
    return h.double() - strength * torch.outer(h.double() @ r, r) / r.dot(r)


def start_vectors(shape: tuple[int, ...], dtype: torch.dtype, seed: int) -> Tensor:
    """The directions that a generator with this seed gives maps of this shape."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape[:-2], shape[-1], 1, generator=generator, dtype=dtype).squeeze(-1)


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@settings(max_examples=60)
@given(
    n=st.integers(1, 40),
    d=st.integers(1, 20),
    iterations=st.integers(0, 4),
    strength=st.sampled_from([0.0, 0.3, 1.0]),
    seed=st.integers(0, 1000),
)
def test_value_is_that_of_algorithm_1(n: int, d: int, iterations: int, strength: float, seed: int) -> None:
    h = torch.randn(n, d, generator=seeded(seed), dtype=torch.float64)
    h_tilde = power_iteration(h, iterations, strength=strength, generator=seeded(seed + 1))
    expected = algorithm_1(h, start_vectors((n, d), torch.float64, seed + 1), iterations, strength)
    torch.testing.assert_close(h_tilde, expected, rtol=1e-9, atol=1e-9)


@each("detach", [True, False])
def test_a_batch_is_its_maps_one_by_one_each_with_its_own_direction(detach: bool) -> None:
    h = torch.randn(2, 3, 7, 5, generator=seeded(0), dtype=torch.float64)
    h_tilde = power_iteration(h, 2, detach=detach, generator=seeded(1))
    directions = start_vectors(h.shape, torch.float64, 1)
    for i in range(2):
        for j in range(3):
            torch.testing.assert_close(h_tilde[i, j], algorithm_1(h[i, j], directions[i, j], 2))
    same = h[:1, :1].expand(2, 3, 7, 5)
    views = power_iteration(same, 0, detach=detach, generator=seeded(1))
    assert not torch.allclose(views[0, 0], views[1, 2])


def test_two_calls_draw_two_directions_and_a_seed_fixes_them() -> None:
    h = torch.randn(30, 8, generator=seeded(0))
    generator = seeded(1)
    first, second = (power_iteration(h, generator=generator) for _ in range(2))
    assert not torch.equal(first, second)
    assert torch.equal(first, power_iteration(h, generator=seeded(1)))


@each("detach", [True, False])
@each("iterations", [0, 1, 3])
@each("shape", [(6, 4), (2, 5, 3)])
def test_gradient(shape: tuple[int, ...], iterations: int, detach: bool) -> None:
    """Finite differences see r depend on h; where r is a constant they must be taken with r held fixed."""
    h = torch.randn(*shape, generator=seeded(0), dtype=torch.float64, requires_grad=True)
    if not detach:
        assert torch.autograd.gradcheck(
            lambda x: power_iteration(x, iterations, strength=0.7, detach=False, generator=seeded(1)), h
        )
        return
    weights = torch.randn(*shape, generator=seeded(2), dtype=torch.float64)
    (gradient,) = torch.autograd.grad(
        (power_iteration(h, iterations, strength=0.7, generator=seeded(1)) * weights).sum(), h
    )
    r = fixed_direction(h.detach(), iterations, seed=1)
    projector = torch.eye(shape[-1], dtype=torch.float64) - 0.7 * r @ r.mT
    assert torch.autograd.gradcheck(lambda x: x @ projector, h)
    torch.testing.assert_close(gradient, weights @ projector)


def fixed_direction(h: Tensor, iterations: int, seed: int) -> Tensor:
    r = start_vectors(tuple(h.shape), h.dtype, seed).unsqueeze(-1)
    for _ in range(iterations):
        r = h.mT @ (h @ r)
    return r / torch.linalg.vector_norm(r, dim=-2, keepdim=True)


def test_gradcheck_and_second_derivative_of_the_constant_direction() -> None:
    """With k = 0 the direction does not depend on h at all, so the constant form is the whole derivative."""
    h = torch.randn(5, 4, generator=seeded(0), dtype=torch.float64, requires_grad=True)

    def layer(x: Tensor) -> Tensor:
        return power_iteration(x, 0, strength=0.6, generator=seeded(1))

    assert torch.autograd.gradcheck(layer, h)
    assert torch.autograd.gradgradcheck(lambda x: layer(x).square(), h)


def test_gradient_through_r_differs_from_r_constant() -> None:
    h = torch.randn(9, 5, generator=seeded(0), dtype=torch.float64, requires_grad=True)
    gradients = [
        torch.autograd.grad(power_iteration(h, 1, detach=detach, generator=seeded(1)).square().sum(), h)[0]
        for detach in (True, False)
    ]
    assert not torch.allclose(*gradients)


@each("detach", [True, False])
@each("dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16])
@each(
    "h",
    [
        torch.zeros(5, 3),
        torch.zeros(2, 5, 3),
        torch.randn(1, 4, generator=seeded(0)),
        torch.randn(6, 1, generator=seeded(0)),
        torch.ones(1, 1),
        torch.outer(torch.arange(1.0, 7), torch.tensor([1.0, -2.0, 0.5])),
        torch.eye(4),
    ],
    ids=["zero", "zero-batch", "one-row", "one-column", "one-by-one", "rank-one", "equal-singular-values"],
)
def test_degenerate_maps_stay_finite(h: Tensor, dtype: torch.dtype, detach: bool) -> None:
    h = h.to(dtype).requires_grad_()
    for iterations in (0, 1, 8):
        h_tilde = power_iteration(h, iterations, detach=detach, generator=seeded(1))
        (gradient,) = torch.autograd.grad(h_tilde.float().square().sum(), h)
        assert h_tilde.dtype == dtype
        assert h_tilde.isfinite().all()
        assert gradient.isfinite().all()


@each("detach", [True, False])
@each("scale", [1e-20, 1e20])
def test_tiny_and_huge_entries_are_scaled_copies_of_ordinary_ones(scale: float, detach: bool) -> None:
    h = torch.randn(50, 8, generator=seeded(0))
    ordinary = power_iteration(h, 4, detach=detach, generator=seeded(1))
    scaled = (h * scale).requires_grad_()
    extreme = power_iteration(scaled, 4, detach=detach, generator=seeded(1))
    torch.testing.assert_close(extreme / scale, ordinary, rtol=1e-4, atol=1e-4)
    (gradient,) = torch.autograd.grad(extreme.sum(), scaled)
    assert gradient.isfinite().all()


def test_one_map_with_entries_of_both_sizes() -> None:
    h = torch.randn(20, 6, generator=seeded(0))
    h[:, :3] *= 1e20
    h[:, 3:] *= 1e-20
    h.requires_grad_()
    h_tilde = power_iteration(h, 2, generator=seeded(1))
    assert h_tilde.isfinite().all()
    assert torch.autograd.grad(h_tilde[:, 0].sum(), h)[0].isfinite().all()


def test_one_direction_is_gone_and_nothing_is_added() -> None:
    """H~ has the null direction r, and every singular value is at most the one it came from."""
    h = torch.randn(40, 6, generator=seeded(0), dtype=torch.float64)
    before = torch.linalg.svdvals(h)
    after = torch.linalg.svdvals(power_iteration(h, 1, generator=seeded(1)))
    assert after[-1] < 1e-12
    assert (after <= before + 1e-12).all()


def test_many_iterations_remove_the_leading_singular_value_alone() -> None:
    u, _ = torch.linalg.qr(torch.randn(30, 4, generator=seeded(0), dtype=torch.float64))
    v, _ = torch.linalg.qr(torch.randn(4, 4, generator=seeded(1), dtype=torch.float64))
    sigma = torch.tensor([3.0, 1.5, 0.9, 0.2], dtype=torch.float64)
    h_tilde = power_iteration(u * sigma @ v.T, 64, generator=seeded(2))
    torch.testing.assert_close(torch.linalg.svdvals(h_tilde)[:3], sigma[1:])


def test_early_stopping_balances_the_spectrum_on_average() -> None:
    """Prop. 1 for the paper's toy spectrum: E[u₁ᵀ H~ v₁] = σ₁(1-λ₁), with λ₁ = 0.595 at σ₁ = 2, k = 1."""
    sigma = torch.tensor([2.0, 1.5, 0.9, 0.2, 0.01], dtype=torch.float64)
    draws = power_iteration(sigma.diag().expand(40_000, 5, 5), 1, generator=seeded(0))
    assert float(1 - draws[:, 0, 0].mean() / 2) == pytest.approx(0.595, abs=0.006)


def test_bfloat16_is_accumulated_in_float32() -> None:
    h = torch.randn(20_000, 16, generator=seeded(0)).bfloat16()
    result = power_iteration(h, 2, generator=seeded(1))
    expected = algorithm_1(h, start_vectors((20_000, 16), torch.float32, 1), 2)
    assert result.dtype == torch.bfloat16
    error = (result.double() - expected).abs().max() / expected.abs().max()
    assert error < 2**-8, "no worse than rounding the result"


def test_autocast_does_not_reach_inside() -> None:
    h = torch.randn(500, 16, generator=seeded(0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = power_iteration(h, 2, generator=seeded(1))
    assert torch.equal(inside, power_iteration(h, 2, generator=seeded(1)))


@each("shape", [(0, 4), (4, 0), (0, 3, 4), (2, 0, 4)])
def test_empty_maps_pass_through(shape: tuple[int, ...]) -> None:
    assert power_iteration(torch.empty(shape)).shape == shape


def test_nan_is_passed_on_and_not_hidden() -> None:
    h = torch.randn(5, 3, generator=seeded(0))
    h[2, 1] = torch.nan
    assert power_iteration(h).isnan().any()


@each(
    ("h", "iterations", "message"),
    [
        (torch.randn(4), 1, "feature map"),
        (torch.ones(4, 3, dtype=torch.long), 1, "floating-point"),
        (torch.randn(4, 3), -1, "0 or more"),
        (torch.randn(4, 3), 1.5, "whole number"),
    ],
)
def test_wrong_arguments_are_named(h: Tensor, iterations: Any, message: str) -> None:
    with pytest.raises(sfa.InputError, match=message):
        power_iteration(h, iterations)


class TestDirections:
    """The block form: several directions at a time."""

    @staticmethod
    def reference(h: Tensor, start: Tensor, iterations: int, strength: float = 1.0) -> Tensor:
        """An orthonormal basis of ``(HᵀH)^k R`` by QR, and its part of ``h`` subtracted."""
        for _ in range(iterations):
            start, _ = torch.linalg.qr(h.T @ h @ start)
        q, _ = torch.linalg.qr(start)
        return h - strength * h @ q @ q.T

    @each("detach", [True, False])
    @each("iterations", [0, 1, 4])
    @each("shape", [(12, 7), (5, 9), (2, 3, 8, 5)])
    def test_value(self, shape: tuple[int, ...], iterations: int, detach: bool) -> None:
        h = torch.randn(*shape, generator=seeded(0), dtype=torch.float64)
        h_tilde = power_iteration(h, iterations, strength=0.7, directions=3, detach=detach, generator=seeded(1))
        starts = torch.randn(*shape[:-2], shape[-1], 3, generator=seeded(1), dtype=torch.float64)
        for index in np.ndindex(*shape[:-2]):
            expected = self.reference(h[index], starts[index], iterations, 0.7)
            torch.testing.assert_close(h_tilde[index], expected, rtol=1e-9, atol=1e-9)

    @each("detach", [True, False])
    @each("iterations", [0, 1, 2])
    @each("dtype", [torch.float32, torch.float64, torch.bfloat16])
    def test_one_direction_is_the_same_to_the_bit_as_before_there_were_more(
        self, dtype: torch.dtype, iterations: int, detach: bool
    ) -> None:
        def unit(vector: Tensor) -> Tensor:
            vector = vector / vector.abs().amax(dim=-2, keepdim=True)
            return vector / torch.linalg.vector_norm(vector, dim=-2, keepdim=True)

        h = torch.randn(3, 20, 6, generator=seeded(0)).to(dtype)
        wide = h.to(torch.float64 if dtype == torch.float64 else torch.float32)
        r = torch.randn(3, 6, 1, generator=seeded(1), dtype=wide.dtype)
        for _ in range(iterations):
            r = unit(wide.mT @ unit(wide @ unit(r)))
        r = unit(r)
        expected = torch.addcmul(wide, wide @ r, r.mT, value=-0.7).to(dtype)
        result = power_iteration(h, iterations, strength=0.7, detach=detach, directions=1, generator=seeded(1))
        assert torch.equal(result, expected)

    @each("iterations", [0, 1, 3])
    def test_so_many_directions_are_gone(self, iterations: int) -> None:
        h = torch.randn(40, 6, generator=seeded(0), dtype=torch.float64)
        values = torch.linalg.svdvals(power_iteration(h, iterations, directions=4, generator=seeded(1)))
        assert (values[2:] < 1e-12).all()
        assert values[1] > 1e-2

    def test_many_iterations_remove_the_leading_singular_values(self) -> None:
        u, _ = torch.linalg.qr(torch.randn(30, 5, generator=seeded(0), dtype=torch.float64))
        v, _ = torch.linalg.qr(torch.randn(5, 5, generator=seeded(1), dtype=torch.float64))
        sigma = torch.tensor([9.0, 3.0, 1.5, 0.9, 0.2], dtype=torch.float64)
        h_tilde = power_iteration(u * sigma @ v.T, 64, directions=2, generator=seeded(2))
        torch.testing.assert_close(torch.linalg.svdvals(h_tilde)[:3], sigma[2:])

    @each("iterations", [0, 1, 3])
    @each("shape", [(6, 5), (4, 6)])
    def test_gradient(self, shape: tuple[int, int], iterations: int) -> None:
        h = torch.randn(*shape, generator=seeded(0), dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(
            lambda x: power_iteration(x, iterations, detach=False, directions=2, generator=seeded(1)), h
        )
        seen = torch.randn(*shape, generator=seeded(2), dtype=torch.float64)
        h_tilde = power_iteration(h, iterations, directions=2, generator=seeded(1))
        (gradient,) = torch.autograd.grad((h_tilde * seen).sum(), h)
        start = torch.randn(shape[1], 2, generator=seeded(1), dtype=torch.float64)
        for _ in range(iterations):
            start = h.detach().T @ h.detach() @ start
        q, _ = torch.linalg.qr(start)
        torch.testing.assert_close(gradient, seen - seen @ q @ q.T)

    @each("dtype", [torch.float32, torch.float64])
    def test_fewer_directions_than_asked_for_leave_zero_and_not_noise(self, dtype: torch.dtype) -> None:
        """Rank 2 and four directions: what they span is the row space, and the whole map goes."""
        h = torch.randn(30, 2, generator=seeded(0), dtype=dtype) @ torch.randn(2, 8, generator=seeded(1), dtype=dtype)
        h.requires_grad_()
        for detach in (True, False):
            h_tilde = power_iteration(h, 2, directions=4, detach=detach, generator=seeded(2))
            assert h_tilde.abs().max() < 1e3 * torch.finfo(dtype).eps
            (gradient,) = torch.autograd.grad(h_tilde.square().sum(), h)
            assert gradient.abs().max() < 1e-3

    def test_a_steep_spectrum_does_not_lose_directions(self) -> None:
        """Singular values of 1, 1e-3, 1e-5: after HᵀH they are 1e-10 apart, beyond float32."""
        u, _ = torch.linalg.qr(torch.randn(30, 4, generator=seeded(0)))
        h = u * torch.tensor([1.0, 1e-3, 1e-5, 1e-7])
        h_tilde = power_iteration(h, 2, directions=2, generator=seeded(1))
        assert torch.linalg.svdvals(h_tilde)[0] < 2e-5

    @each("dtype", [torch.float32, torch.float64])
    def test_almost_parallel_columns_become_orthonormal_and_dependent_ones_zero(self, dtype: torch.dtype) -> None:
        one, two, three = torch.randn(3, 20, generator=seeded(0), dtype=dtype)
        step = 1e4 * torch.finfo(dtype).eps
        columns = torch.stack([one, one + step * two, 3 * one, three, one - three], dim=-1) * 1e20
        basis = orthonormal(columns)
        expected = torch.diag(torch.tensor([1, 1, 0, 1, 0], dtype=dtype))
        torch.testing.assert_close(basis.mT @ basis, expected, rtol=0, atol=10 * torch.finfo(dtype).eps)

    @each("directions", [4, 5])
    def test_all_directions_or_more_are_refused(self, directions: int) -> None:
        with pytest.raises(sfa.InputError, match=f"below the number of features, 4, not {directions}"):
            power_iteration(torch.randn(9, 4), directions=directions)


class TestPasses:
    """Algorithm 1 done several times in turn."""

    @staticmethod
    def one_by_one(h: Tensor, iterations: int, generator: torch.Generator, **options: Any) -> Tensor:
        """Every pass a call of its own, on what the one before left."""
        passes = options.pop("passes")
        for _ in range(passes):
            h = power_iteration(h, iterations, generator=generator, **options)
        return h

    @each("detach", [True, False])
    @each("directions", [1, 3])
    @each("iterations", [0, 1, 3])
    @each("shape", [(12, 7), (5, 9), (2, 3, 8, 5)])
    def test_are_calls_one_after_another(
        self, shape: tuple[int, ...], iterations: int, directions: int, detach: bool
    ) -> None:
        h = torch.randn(*shape, generator=seeded(0), dtype=torch.float64)
        options = {"strength": 0.4, "directions": directions, "detach": detach, "passes": 5}
        together = power_iteration(h, iterations, generator=seeded(1), **options)  # type: ignore[arg-type]
        torch.testing.assert_close(together, self.one_by_one(h, iterations, seeded(1), **options), rtol=1e-9, atol=1e-9)

    @each("passes", [2, 4])
    @each("directions", [1, 2])
    def test_gradient_through_the_directions(self, passes: int, directions: int) -> None:
        h = torch.randn(6, 5, generator=seeded(0), dtype=torch.float64, requires_grad=True)
        options = {"strength": 0.6, "directions": directions, "passes": passes, "detach": False}
        assert torch.autograd.gradcheck(lambda x: power_iteration(x, 1, generator=seeded(1), **options), h)  # type: ignore[arg-type]

    @each("shape", [(6, 5), (2, 4, 3)])
    def test_gradient_with_constant_directions_is_that_of_the_calls(self, shape: tuple[int, ...]) -> None:
        h = torch.randn(*shape, generator=seeded(0), dtype=torch.float64, requires_grad=True)
        seen = torch.randn(*shape, generator=seeded(2), dtype=torch.float64)
        options = {"strength": 0.6, "passes": 4}
        fast, slow = (
            torch.autograd.grad((h_tilde * seen).sum(), h)[0]
            for h_tilde in (
                power_iteration(h, 2, generator=seeded(1), **options),  # type: ignore[arg-type]
                self.one_by_one(h, 2, seeded(1), **options),
            )
        )
        torch.testing.assert_close(fast, slow)
        assert not torch.allclose(fast, seen)

    def test_second_derivative(self) -> None:
        h = torch.randn(5, 4, generator=seeded(0), dtype=torch.float64, requires_grad=True)

        def layer(x: Tensor) -> Tensor:
            return power_iteration(x, 0, strength=0.6, passes=3, generator=seeded(1))

        assert torch.autograd.gradcheck(layer, h)
        assert torch.autograd.gradgradcheck(lambda x: layer(x).square(), h)

    def test_many_gentle_ones_level_the_top_of_the_spectrum_and_leave_the_rest(self) -> None:
        u, _ = torch.linalg.qr(torch.randn(60, 6, generator=seeded(0), dtype=torch.float64))
        sigma = torch.tensor([8.0, 4.0, 2.0, 1.0, 0.1, 0.01], dtype=torch.float64)
        values = torch.linalg.svdvals(power_iteration(u * sigma, 2, strength=0.05, passes=60, generator=seeded(1)))
        assert values[0] / values[1] < 1.3
        assert 1.5 < values[0] < 2.5
        torch.testing.assert_close(values[3:], sigma[3:], rtol=0.05, atol=0)

    def test_gentle_passes_have_less_noise_than_one_harsh_one(self) -> None:
        sigma = torch.tensor([2.0, 1.5, 0.9, 0.2, 0.01], dtype=torch.float64)
        maps = sigma.diag().expand(4000, 5, 5)
        harsh = power_iteration(maps, 1, generator=seeded(0))[:, 0, 0]
        gentle = power_iteration(maps, 1, strength=0.05, passes=20, generator=seeded(0))[:, 0, 0]
        assert gentle.std() < harsh.std() / 2

    @each("detach", [True, False])
    @each("dtype", [torch.float32, torch.float64, torch.bfloat16])
    @each("strength", [0.5, 1.0])
    @each(
        "h",
        [torch.zeros(5, 3), torch.ones(6, 4), torch.randn(1, 4, generator=seeded(0)), torch.eye(4), torch.ones(1, 1)],
        ids=["zero", "rank-one", "one-row", "equal-singular-values", "one-by-one"],
    )
    def test_more_passes_than_there_are_directions(
        self, h: Tensor, strength: float, dtype: torch.dtype, detach: bool
    ) -> None:
        h = h.to(dtype).requires_grad_()
        h_tilde = power_iteration(h, 1, strength=strength, passes=9, detach=detach, generator=seeded(1))
        (gradient,) = torch.autograd.grad(h_tilde.float().square().sum(), h)
        assert h_tilde.isfinite().all()
        assert gradient.isfinite().all()
        assert torch.linalg.matrix_norm(h_tilde.float(), 2) <= torch.linalg.matrix_norm(h.float(), 2) * 1.01

    @each("scale", [1e-20, 1e20])
    def test_tiny_and_huge_entries(self, scale: float) -> None:
        h = torch.randn(50, 8, generator=seeded(0))
        ordinary = power_iteration(h, 2, strength=0.5, passes=6, generator=seeded(1))
        extreme = power_iteration(h * scale, 2, strength=0.5, passes=6, generator=seeded(1))
        torch.testing.assert_close(extreme / scale, ordinary, rtol=1e-4, atol=1e-4)

    @each("passes", [0, -1, 1.5, True])
    def test_other_numbers_are_refused(self, passes: Any) -> None:
        with pytest.raises(sfa.InputError, match="passes"):
            power_iteration(torch.randn(9, 4), passes=passes)
        with pytest.raises(sfa.InputError, match="passes"):
            sfa.SpectralFeatureAugmentation(passes=passes)


class TestModule:
    def test_trains_and_is_the_identity_in_eval(self) -> None:
        layer = sfa.SpectralFeatureAugmentation(iterations=2, strength=0.5)
        h = torch.randn(20, 4, generator=seeded(0))
        assert torch.equal(layer(h, seeded(1)), power_iteration(h, 2, strength=0.5, generator=seeded(1)))
        assert layer.eval()(h) is h

    def test_has_no_state_and_shows_its_settings(self) -> None:
        layer = sfa.SpectralFeatureAugmentation(3, detach=False)
        assert not layer.state_dict()
        assert (
            repr(layer)
            == "SpectralFeatureAugmentation(iterations=3, strength=1.0, detach=False, directions=1, passes=1)"
        )

    def test_refuses_negative_iterations(self) -> None:
        with pytest.raises(sfa.InputError, match="-2"):
            sfa.SpectralFeatureAugmentation(-2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # dynamo's own business
@each(("directions", "passes"), [(1, 1), (2, 1), (1, 3), (2, 3)])
@each("detach", [True, False])
def test_compiles_as_one_graph(detach: bool, directions: int, passes: int) -> None:
    """The compiled layer projects one direction out, as the eager one does, and has the same kind of gradient."""
    torch._dynamo.reset()
    layer = sfa.SpectralFeatureAugmentation(iterations=1, detach=detach, directions=directions, passes=passes)
    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    h = torch.randn(64, 8, generator=seeded(0), dtype=torch.float64, requires_grad=True)
    torch.manual_seed(3)
    fast = compiled(h)
    torch.manual_seed(3)
    slow = layer(h)
    torch.testing.assert_close(fast, slow)
    (fast_gradient,) = torch.autograd.grad(fast.square().sum(), h)
    (slow_gradient,) = torch.autograd.grad(slow.square().sum(), h)
    torch.testing.assert_close(fast_gradient, slow_gradient)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_one_compilation_serves_maps_of_all_shapes() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(power_iteration, fullgraph=True, backend="aot_eager", dynamic=True)
    for shape in [(7, 8), (9, 8), (9, 6), (30, 11)]:
        h = torch.randn(shape, generator=seeded(0), dtype=torch.float64)
        assert torch.linalg.svdvals(compiled(h))[-1] < 1e-12, "one direction is gone"
        assert torch.linalg.svdvals(h)[-1] > 1e-3


def test_memory_is_of_the_order_of_the_output() -> None:
    """No d × d Gram matrix: with n = 4 and d = 20,000 that alone would be 1.6 GB."""
    h = torch.randn(4, 20_000, generator=seeded(0), requires_grad=True)
    with torch.profiler.profile(profile_memory=True) as profile:
        power_iteration(h, 2, generator=seeded(1)).sum().backward()
    largest = max(event.cpu_memory_usage for event in profile.key_averages())
    assert largest <= 12 * h.numel() * h.element_size()


def test_numpy_reference_agrees_with_the_torch_one() -> None:
    """The reference itself, checked once more without torch."""
    rng = np.random.default_rng(0)
    h, r = rng.normal(size=(12, 5)), rng.normal(size=5)
    q = np.linalg.matrix_power(h.T @ h, 2) @ r
    expected = h - h @ np.outer(q, q) / (q @ q)
    torch.testing.assert_close(algorithm_1(torch.tensor(h), torch.tensor(r), 2), torch.tensor(expected))
