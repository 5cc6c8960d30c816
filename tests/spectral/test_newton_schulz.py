"""Both roots against the eigendecomposition, their gradients, and matrices that could make the iteration diverge."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import sfa
from sfa.spectral import newton_schulz
from sfa.spectral.newton_schulz import _stretches
from tests.cases import each


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def with_eigenvalues(*values: float, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    size = len(values)
    v, _ = torch.linalg.qr(torch.randn(size, size, generator=seeded(seed), dtype=torch.float64))
    m = (v * torch.tensor(values, dtype=torch.float64)) @ v.T
    return ((m + m.T) / 2).to(dtype)


def eigen_power(m: Tensor, power: float) -> Tensor:
    values, vectors = torch.linalg.eigh(m)
    return (vectors * values.unsqueeze(-2) ** power) @ vectors.mT


@settings(max_examples=40)
@given(
    size=st.integers(1, 12), spread=st.floats(0, 8), scale=st.sampled_from([1e-8, 1.0, 1e8]), seed=st.integers(0, 1000)
)
def test_both_roots(size: int, spread: float, scale: float, seed: int) -> None:
    """Eigenvalues over ``spread`` decades."""
    m = scale * with_eigenvalues(*(10 ** (-spread * i / size) for i in range(size)), seed=seed)
    root, inverse_root, residual, _ = newton_schulz(m, ridge=0.0)
    assert residual < 1e-9
    torch.testing.assert_close(root / scale**0.5, eigen_power(m / scale, 0.5), rtol=0, atol=1e-9)
    error = inverse_root * scale**0.5 - eigen_power(m / scale, -0.5)
    assert error.abs().max() < 1e-7 * 10 ** (spread / 2)


def test_batches_and_float32() -> None:
    m = torch.stack([with_eigenvalues(3, 1, 0.1, seed=seed) for seed in range(6)]).reshape(2, 3, 3, 3)
    roots = newton_schulz(m)
    assert roots.residual.shape == (2, 3)
    torch.testing.assert_close(roots.root, eigen_power(m, 0.5))
    torch.testing.assert_close(roots.inverse_root, eigen_power(m, -0.5))
    single = newton_schulz(m.float())
    assert single.root.dtype == torch.float32
    torch.testing.assert_close(single.root.double(), roots.root, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(single.inverse_root.double(), roots.inverse_root, rtol=1e-3, atol=1e-3)


@each("output", ["root", "inverse_root"])
def test_gradient_is_that_of_the_eigendecomposition(output: str) -> None:
    m = with_eigenvalues(2.0, 1.0, 0.3, 0.01).requires_grad_()
    seen = torch.randn(4, 4, generator=seeded(1), dtype=torch.float64)
    seen = seen + seen.T
    roots = newton_schulz(m)
    (gradient,) = torch.autograd.grad((getattr(roots, output) * seen).sum(), m)
    reference = eigen_power(m, 0.5 if output == "root" else -0.5)
    (expected,) = torch.autograd.grad((reference * seen).sum(), m)
    torch.testing.assert_close(gradient, expected, rtol=1e-7, atol=1e-7)
    assert not roots.residual.requires_grad

    def of_symmetric(x: Tensor) -> Tensor:
        root: Tensor = getattr(newton_schulz((x + x.mT) / 2), output)
        return root

    assert torch.autograd.gradcheck(of_symmetric, m)


@each("dtype", [torch.float32, torch.float64])
@each("rank", [1, 3, 20])
def test_rounding_below_zero_does_not_diverge(rank: int, dtype: torch.dtype) -> None:
    """Gram matrices of low rank have tiny negative eigenvalues; without the ridge these explode."""
    h = torch.randn(200, rank, generator=seeded(0), dtype=dtype) @ torch.randn(
        rank, 40, generator=seeded(1), dtype=dtype
    )
    m = h.T @ h
    assert torch.linalg.eigvalsh(m)[0] < 0
    roots = newton_schulz(m)
    ridge = 10 * torch.finfo(dtype).eps
    assert roots.residual < 100 * torch.finfo(dtype).eps / ridge**0.5
    assert roots.root.isfinite().all()
    largest = 2 / (ridge * m.trace()) ** 0.5
    assert torch.linalg.matrix_norm(roots.inverse_root, 2) < largest, "an eigenvalue of zero counts as the ridge"
    relative = torch.linalg.matrix_norm(roots.root @ roots.root - m) / torch.linalg.matrix_norm(m)
    assert relative < 100 * torch.finfo(dtype).eps / ridge**0.5


def test_the_ridge_is_added_and_reported_against() -> None:
    m = with_eigenvalues(1.0, 0.5, 0.0)
    roots = newton_schulz(m, ridge=0.1)
    regularized = m + 0.15 * torch.eye(3)
    torch.testing.assert_close(roots.root, eigen_power(regularized, 0.5))
    torch.testing.assert_close(roots.inverse_root, eigen_power(regularized, -0.5))
    assert roots.residual < 1e-14


@each(("dtype", "most"), [(torch.float64, 24), (torch.float32, 12)])
def test_stretched_steps_lead_all_eigenvalues_to_one_in_half_the_plain_steps(dtype: torch.dtype, most: int) -> None:
    eps = torch.finfo(dtype).eps
    x = torch.logspace(0.5 * torch.tensor(10 * eps).log10(), 0, 1000, dtype=torch.float64)
    plain, steps = x.clone(), _stretches(10 * eps, eps)
    for rho in steps:
        x, plain = rho * x * (3 - (rho * x) ** 2) / 2, plain * (3 - plain**2) / 2
        assert x.max() <= 1 + 1e-12
    assert (x - 1).abs().max() < 2 * eps
    assert plain[0] < 0.2, "the paper's steps would be on their way still"
    assert len(steps) <= most


def algorithm_2(m: Tensor, iterations: int) -> tuple[Tensor, Tensor]:
    """The paper's Algorithm 2, literally but for its last line, which returns other matrices."""
    eye = torch.eye(len(m), dtype=m.dtype)
    p = (3 * eye - m / m.trace()) / 2
    y, z = m / m.trace() @ p, p
    for _ in range(iterations):
        p = (3 * eye - z @ y) / 2
        y, z = y @ p, p @ z
    return y * m.trace().sqrt(), z / m.trace().sqrt()


@each("iterations", [0, 1, 10])
def test_with_iterations_it_is_algorithm_2(iterations: int) -> None:
    m = with_eigenvalues(2.0, 0.7, 0.01, 1e-5)
    root, inverse_root, residual, inverse_residual = newton_schulz(m, ridge=0.0, iterations=iterations)
    expected, expected_inverse = algorithm_2(m, iterations)
    torch.testing.assert_close(root, expected)
    torch.testing.assert_close(inverse_root, expected_inverse)
    assert float(residual) == pytest.approx(float((expected @ expected - m).norm() / m.norm()), rel=1e-6)
    left = expected @ expected_inverse - torch.eye(4)
    assert float(inverse_residual) == pytest.approx(float(left.norm() / 2), rel=1e-6)


def test_the_residual_tells_what_has_not_converged() -> None:
    m = with_eigenvalues(2.0, 0.7, 0.01)
    assert newton_schulz(m, iterations=2).residual > 1e-2
    assert newton_schulz(m).residual < 1e-12


def test_the_inverse_root_tells_by_itself_whether_it_has_converged() -> None:
    """Small eigenvalues hardly count in the root, and are all of the inverse root."""
    early = newton_schulz(torch.tensor([1.0, 1e-3], dtype=torch.float64).diag(), iterations=3)
    assert early.residual < 2e-3
    assert early.inverse_residual > 0.5, "5 instead of 32"
    lost = newton_schulz(torch.tensor([1.0, 1e-30], dtype=torch.float64).diag(), ridge=0.0)
    assert lost.residual < 1e-14
    assert lost.inverse_residual > 0.5
    assert newton_schulz(with_eigenvalues(2.0, 0.7, 0.01)).inverse_residual < 1e-10


def test_autocast_is_left_outside() -> None:
    m = with_eigenvalues(2.0, 0.7, 0.01, dtype=torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = newton_schulz(m)
    torch.testing.assert_close(inside, newton_schulz(m))


def test_zero_matrix_has_a_zero_root() -> None:
    m = torch.zeros(2, 3, 3, requires_grad=True)
    roots = newton_schulz(m)
    assert not roots.root.any()
    assert roots.inverse_root.isfinite().all()
    (gradient,) = torch.autograd.grad(roots.root.sum() + roots.inverse_root.sum(), m)
    assert gradient.isfinite().all()


def test_nan_stays_within_its_matrix() -> None:
    m = torch.stack([with_eigenvalues(1, 2), torch.full((2, 2), torch.nan, dtype=torch.float64)])
    roots = newton_schulz(m)
    assert roots.root[0].isfinite().all()
    assert roots.root[1].isnan().all()
    assert roots.residual.isnan().tolist() == [False, True]


@each(
    ("m", "options", "message"),
    [
        (torch.ones(3), {}, "Square matrices"),
        (torch.ones(3, 2), {}, r"shape \(3, 2\)"),
        (torch.ones(2, 2, dtype=torch.long), {}, "int64"),
        (torch.eye(2), {"ridge": -1.0}, "ridge"),
        (torch.eye(2), {"iterations": -1}, "iterations"),
    ],
)
def test_wrong_arguments_are_named(m: Tensor, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sfa.InputError, match=message):
        newton_schulz(m, **options)
