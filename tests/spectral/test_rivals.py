"""Every rival of SFA against its formula written out with a float64 SVD: value, gradient, operator, draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor

import sfa
from sfa.spectral import SPECTRAL_MAPS, SpectralMap, costa, grassmann, maxexp, resolve
from sfa.spectral.spectral_function import spectral_function

SHAPES = [(9, 5), (5, 9), (6, 6)]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_map(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=seeded(seed), dtype=torch.float64)


@dataclass(frozen=True)
class Operator:
    """A rival that multiplies the map, or the centred map, by ``W = V diag(weights) Vᵀ``.

    ``weights(sigma, h, draw)``: ``sigma`` are all ``d`` right singular values of the (centred) map ``h``, zeros too.
    ``draw_shape(n, d)`` is the shape of the noise that one map gets; none without noise.
    """

    weights: Callable[[Tensor, Tensor, Tensor], Tensor]
    options: dict[str, Any] = field(default_factory=dict)
    draw_shape: Callable[[int, int], tuple[int, ...]] | None = None
    centred: bool = False
    mean_added: bool = False

    def matrix(self, h: Tensor, draw: Tensor) -> Tensor:
        _, sigma, vh = torch.linalg.svd(self.centre(h))
        padded = torch.zeros(h.shape[-1], dtype=h.dtype)
        padded[: len(sigma)] = sigma
        return vh.T @ torch.diag(self.weights(padded, self.centre(h), draw)) @ vh

    def centre(self, h: Tensor) -> Tensor:
        return h - h.mean(0) if self.centred else h

    def value(self, h: Tensor, draw: Tensor) -> Tensor:
        return self.centre(h) @ self.matrix(h, draw) + (h.mean(0) if self.mean_added else 0)

    def draws(self, shape: tuple[int, ...], seed: int) -> Tensor:
        if self.draw_shape is None:
            return torch.zeros(shape[:-2])
        return torch.randn(*shape[:-2], *self.draw_shape(*shape[-2:]), generator=seeded(seed), dtype=torch.float64)


def maxexp_weights(sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
    count = max(1, round(4 + 2 * float(draw)))
    share = sigma / sigma.sum()
    return torch.where(sigma > 1e-12, (1 - (1 - share) ** count) / share, count) / sigma.sum()


def power_norm_weights(beta: float, sigma: Tensor, h: Tensor) -> Tensor:
    squared = sigma**2 + 1e-6 * sigma.square().sum()
    return (1 - beta) * squared**-0.25 + beta * squared**-0.125


def grassmann_weights(sigma: Tensor, h: Tensor, draw: Tensor) -> Tensor:
    weights = torch.zeros_like(sigma)
    weights[:3] = (1 + 0.5 * draw) / sigma[:3]
    return weights


def inverse_root(sigma: Tensor, h: Tensor, per: int) -> Tensor:
    variance = sigma**2 / per
    return (variance + 0.01 * variance.sum() / h.shape[-1]) ** -0.5


OPERATORS = {
    "maxexp": Operator(maxexp_weights, {"eta": 4, "noise": 2.0}, lambda n, d: (1, 1)),
    "power-norm": Operator(
        lambda sigma, h, draw: power_norm_weights(min(1, max(0, 0.4 + 0.5 * float(draw))), sigma, h),
        {"beta": 0.4, "noise": 0.5, "ridge": 1e-6},
        lambda n, d: (1, 1),
    ),
    "power-norm*": Operator(
        lambda sigma, h, draw: min(2, max(0, 1 + 0.9 * float(draw))) * power_norm_weights(0.4, sigma, h),
        {"beta": 0.4, "noise": 0.9, "ridge": 1e-6},
        lambda n, d: (1, 1),
    ),
    "grassmann": Operator(grassmann_weights, {"kappa": 3, "noise": 0.5}, lambda n, d: (3,)),
    "precondition": Operator(lambda sigma, h, draw: inverse_root(sigma, h, 1), {"ridge": 0.01}),
    "pca": Operator(
        lambda sigma, h, draw: (torch.arange(len(sigma)) < 3).double(), {"kappa": 3}, centred=True, mean_added=True
    ),
    "whiten": Operator(lambda sigma, h, draw: inverse_root(sigma, h, len(h)), {"ridge": 0.01}, centred=True),
}
NOISY = [name for name, operator in OPERATORS.items() if operator.draw_shape]


def layer(name: str, **options: Any) -> SpectralMap:
    return resolve(name)(**{**OPERATORS[name].options, **options})


def test_every_map_has_a_reference() -> None:
    elsewhere = {"none", "sfa", "expectation"}
    assert set(OPERATORS) | {"noise", "costa"} | elsewhere == set(SPECTRAL_MAPS)


@pytest.mark.parametrize("detach", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_value(name: str, shape: tuple[int, int], detach: bool) -> None:
    operator = OPERATORS[name]
    for seed in range(6):  # Several draws, so that the clamps and the rounding of the exponent are met.
        h = random_map(*shape, seed=seed)
        expected = operator.value(h, operator.draws(shape, seed))
        torch.testing.assert_close(layer(name, detach=detach)(h, seeded(seed)), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("detach", [False, True])
def test_a_batch_is_its_maps_one_by_one_each_with_its_own_draw(name: str, detach: bool) -> None:
    operator = OPERATORS[name]
    h = random_map(2, 4, 7, 5)
    h_tilde = layer(name, detach=detach)(h, seeded(1))
    draws = operator.draws(tuple(h.shape), seed=1)
    for i in range(2):
        for j in range(4):
            torch.testing.assert_close(h_tilde[i, j], operator.value(h[i, j], draws[i, j]), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("shape", [*SHAPES, (2, 5, 4), (1, 3), (3, 1)])
@pytest.mark.parametrize("name", OPERATORS)
def test_gradient(name: str, shape: tuple[int, ...]) -> None:
    options = {"kappa": min(3, *shape[-2:])} if name == "grassmann" else {}
    h = random_map(*shape).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: layer(name, **options)(x, seeded(3)), h)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", OPERATORS)
def test_detached_gradient_is_that_of_a_constant_operator(name: str, shape: tuple[int, int]) -> None:
    operator = OPERATORS[name]
    h, seen = random_map(*shape).requires_grad_(), random_map(*shape, seed=2)
    (gradient,) = torch.autograd.grad((layer(name, detach=True)(h, seeded(1)) * seen).sum(), h)
    constant = operator.matrix(h.detach(), operator.draws(shape, seed=1))
    (expected,) = torch.autograd.grad(
        ((operator.centre(h) @ constant + (h.mean(0) if operator.mean_added else 0)) * seen).sum(), h
    )
    torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-7)
    (flowing,) = torch.autograd.grad((layer(name)(h, seeded(1)) * seen).sum(), h)
    assert not torch.allclose(gradient, flowing)


@pytest.mark.parametrize("name", NOISY)
def test_without_noise_nothing_is_random(name: str) -> None:
    h = random_map(8, 5)
    generator = seeded(0)
    before = generator.get_state()
    first, second = (layer(name, noise=0.0)(h, generator) for _ in range(2))
    assert torch.equal(first, second)
    assert torch.equal(before, generator.get_state()), "and nothing is drawn"
    operator = OPERATORS[name]
    draws = torch.zeros(operator.draw_shape(8, 5))  # type: ignore[misc]
    torch.testing.assert_close(first, operator.value(h, draws), rtol=1e-8, atol=1e-8)


def low_rank(n: int, d: int, rank: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return (random_map(n, rank) @ random_map(rank, d, seed=1)).to(dtype)


@pytest.mark.parametrize("shape", [(40, 12), (12, 40)])
@pytest.mark.parametrize("name", OPERATORS)
def test_value_on_maps_without_full_rank(name: str, shape: tuple[int, int]) -> None:
    """The roots lose digits on singular Gram matrices: no more than float32 has anyway."""
    operator, h = OPERATORS[name], low_rank(*shape, rank=4)
    expected = operator.value(h, operator.draws(shape, seed=1))
    torch.testing.assert_close(layer(name)(h, seeded(1)), expected, rtol=1e-7, atol=1e-7)


def test_default_power_norm_on_a_map_without_full_rank() -> None:
    h = low_rank(40, 12, rank=4)
    u, sigma, vh = torch.linalg.svd(h, full_matrices=False)
    sigma[4:] = 0
    h_tilde = resolve("power-norm")(noise=0.0)(h)
    torch.testing.assert_close(h_tilde, u * (0.5 * sigma**0.5 + 0.5 * sigma**0.75) @ vh, rtol=1e-7, atol=1e-7)


class TestMaxExp:
    @pytest.mark.parametrize("eta", [1, 2, 3, 7, 8, 15, 100])
    def test_every_exponent(self, eta: int) -> None:
        h = random_map(12, 4)
        u, sigma, vh = torch.linalg.svd(h, full_matrices=False)
        expected = u * (1 - (1 - sigma / sigma.sum()) ** eta) @ vh
        torch.testing.assert_close(maxexp(h, eta, noise=0.0), expected)

    def test_a_huge_exponent_is_a_polar_factor(self) -> None:
        u, _, vh = torch.linalg.svd(h := random_map(12, 4), full_matrices=False)
        torch.testing.assert_close(maxexp(h, 10_000, noise=0.0), u @ vh)

    def test_the_exponent_is_one_at_least(self) -> None:
        h = random_map(12, 4)
        weakest = h / torch.linalg.svdvals(h).sum()
        draws = torch.stack([maxexp(h, 1, noise=5.0, generator=seeded(seed)) for seed in range(20)])
        assert (draws - weakest).abs().amax((-2, -1)).min() < 1e-12
        assert (torch.linalg.svdvals(draws)[:, 0] >= torch.linalg.svdvals(weakest)[0] - 1e-12).all()


class TestGrassmann:
    def test_singular_values_at_rounding_become_zero_though_among_the_leading(self) -> None:
        for dtype in (torch.float32, torch.float64):
            h_tilde = grassmann(low_rank(30, 12, rank=4, dtype=dtype), kappa=9, noise=0.0)
            values = torch.linalg.svdvals(h_tilde.double())
            torch.testing.assert_close(values, (torch.arange(12) < 4).double(), rtol=1e-5, atol=1e-5)

    def test_more_than_there_are_keeps_all(self) -> None:
        u, _, vh = torch.linalg.svd(h := random_map(9, 5), full_matrices=False)
        torch.testing.assert_close(grassmann(h, kappa=40, noise=0.0), u @ vh)

    def randomised(self, h: Tensor, seed: int, **options: Any) -> Tensor:
        return grassmann(h, 3, method="randomised", generator=seeded(seed), **options)

    def test_randomised_finds_the_subspace_when_iterated(self) -> None:
        h = random_map(30, 12) * 0.8 ** torch.arange(12)
        exact = grassmann(h, 3, noise=0.0)
        rough = self.randomised(h, 0, noise=0.0, oversampling=0, power_iterations=0)
        close = self.randomised(h, 0, noise=0.0, power_iterations=60)
        torch.testing.assert_close(close, exact, rtol=1e-6, atol=1e-6)
        assert (rough - exact).abs().max() > 1e-2
        torch.testing.assert_close(torch.linalg.svdvals(rough)[:4], torch.tensor([1.0, 1, 1, 0]).double())

    def test_randomised_is_random_and_fixed_by_the_seed(self) -> None:
        h = random_map(30, 12)
        first = self.randomised(h, 0, noise=0.0)
        assert torch.equal(first, self.randomised(h, 0, noise=0.0))
        assert not torch.allclose(first, self.randomised(h, 1, noise=0.0))
        batch = self.randomised(h.expand(2, 30, 12), 0, noise=0.0)
        assert not torch.allclose(batch[0], batch[1])

    @pytest.mark.parametrize("shape", [(20, 8), (8, 20)])
    def test_randomised_gradient_takes_the_basis_as_constant(self, shape: tuple[int, int]) -> None:
        h, seen = random_map(*shape).requires_grad_(), random_map(*shape, seed=2)
        (gradient,) = torch.autograd.grad(
            (self.randomised(h, 5, noise=0.0, oversampling=2, power_iterations=1) * seen).sum(), h
        )
        start = torch.randn(shape[1], 5, generator=seeded(5), dtype=torch.float64)
        basis, _ = torch.linalg.qr(h.detach() @ h.detach().T @ h.detach() @ start)
        fixed = lambda x: basis @ grassmann(basis.T @ x, 3, noise=0.0)  # noqa: E731
        assert torch.autograd.gradcheck(fixed, h)
        (expected,) = torch.autograd.grad((fixed(h) * seen).sum(), h)
        torch.testing.assert_close(gradient, expected, rtol=1e-6, atol=1e-8)


class TestSpectralFunction:
    """The gradient of ``U f(Σ) Vᵀ`` where SVD's own is infinite."""

    @staticmethod
    def unchanged(sigma: Tensor) -> tuple[Tensor, Tensor]:
        return sigma, torch.ones_like(sigma)

    @pytest.mark.parametrize("h", [torch.eye(4), torch.zeros(5, 3), torch.ones(3, 5), low_rank(6, 4, 2)])
    def test_the_identity_has_the_identity_as_gradient_also_on_degenerate_maps(self, h: Tensor) -> None:
        h = h.double().requires_grad_()
        seen = random_map(*h.shape, seed=3)
        (gradient,) = torch.autograd.grad((spectral_function(h, self.unchanged) * seen).sum(), h)
        torch.testing.assert_close(gradient, seen)

    @pytest.mark.parametrize("shape", [(7, 4), (4, 7)])
    def test_a_smooth_function_on_repeated_singular_values(self, shape: tuple[int, int]) -> None:
        """σ³ is H HᵀH: its gradient is known everywhere."""
        u, _ = torch.linalg.qr(random_map(shape[0], 4))
        v, _ = torch.linalg.qr(random_map(shape[1], 4, seed=1))
        h = (u * torch.tensor([2.0, 2, 1, 0]) @ v.T).requires_grad_()
        seen = random_map(*shape, seed=3)
        cube = spectral_function(h, lambda sigma: (sigma**3, 3 * sigma**2))
        torch.testing.assert_close(cube, h @ h.mT @ h)
        (gradient,) = torch.autograd.grad((cube * seen).sum(), h)
        (expected,) = torch.autograd.grad((h @ h.mT @ h * seen).sum(), h)
        torch.testing.assert_close(gradient, expected)

    def test_second_derivatives_are_refused_and_not_wrong(self) -> None:
        h = random_map(5, 3).requires_grad_()
        (gradient,) = torch.autograd.grad(spectral_function(h, self.unchanged).square().sum(), h, create_graph=True)
        with pytest.raises(RuntimeError, match="once_differentiable"):
            gradient.sum().backward()


class TestNoise:
    def test_value_and_gradient(self) -> None:
        h = random_map(2, 9, 5).requires_grad_()
        draw = torch.randn(2, 9, 5, generator=seeded(1), dtype=torch.float64)
        h_tilde = resolve("noise")(strength=0.3)(h, seeded(1))
        torch.testing.assert_close(h_tilde, h + 0.3 * h.square().mean((1, 2), keepdim=True).sqrt() * draw)
        seen = random_map(2, 9, 5, seed=2)
        torch.testing.assert_close(torch.autograd.grad((h_tilde * seen).sum(), h)[0], seen)


class TestCosta:
    @staticmethod
    def random_matrix(rows: int, columns: int, generator: torch.Generator) -> Tensor:
        """The matrix that a generator in this state gives one map."""
        return costa(torch.eye(columns, dtype=torch.float64), rows / columns, generator=generator)

    @pytest.mark.parametrize(
        ("n", "ratio", "rows"), [(9, 0.5, 4), (300, 0.5, 150), (5, 0.01, 1), (1, 0.5, 1), (7, 1, 7)]
    )
    def test_value_and_number_of_rows(self, n: int, ratio: float, rows: int) -> None:
        """Also beyond one block of rows."""
        h = random_map(n, 4)
        h_tilde = costa(h, ratio, generator=seeded(1))
        torch.testing.assert_close(h_tilde, self.random_matrix(rows, n, seeded(1)) @ h)
        assert h_tilde.shape == (rows, 4)

    def test_entries_are_independent_normals_of_variance_one_over_rows(self) -> None:
        p = self.random_matrix(200, 400, seeded(0)) * 200**0.5
        assert float(p.mean()) == pytest.approx(0, abs=0.02)
        assert float(p.std()) == pytest.approx(1, abs=0.02)
        assert float((p.abs() < 1).double().mean()) == pytest.approx(0.6827, abs=0.01)
        correlations = torch.corrcoef(p) - torch.eye(200)
        assert correlations.abs().max() < 0.3, "no block repeats another"

    def test_keeps_the_gram_matrix_on_average(self) -> None:
        h = random_map(30, 3)
        h_tilde = costa(h.expand(4000, 30, 3), generator=seeded(0))
        torch.testing.assert_close((h_tilde.mT @ h_tilde).mean(0), h.T @ h, rtol=0.05, atol=0.5)

    @pytest.mark.parametrize("shape", [(6, 3), (2, 70, 2), (2, 2, 5, 3)])
    def test_gradient_and_second_derivative(self, shape: tuple[int, ...]) -> None:
        h = random_map(*shape).requires_grad_()
        assert torch.autograd.gradcheck(lambda x: costa(x, 1.0, generator=seeded(1)), h)
        assert torch.autograd.gradgradcheck(lambda x: costa(x, generator=seeded(1)).square(), h)

    def test_a_batch_has_a_matrix_for_every_map(self) -> None:
        generator = seeded(1)
        h = random_map(3, 8, 4)
        h_tilde = costa(h, generator=seeded(1))
        seeds = torch.randint(2**62, (3,), generator=generator).tolist()
        for one, expected_of, seed in zip(h_tilde, h, seeds, strict=True):
            p = torch.randn(4, 8, generator=seeded(seed), dtype=torch.float64) / 2
            torch.testing.assert_close(one, p @ expected_of)

    def test_both_views_get_the_same_matrix(self) -> None:
        h_alpha, h_beta = random_map(10, 4), random_map(10, 3, seed=1)
        alpha, beta = resolve("costa")().forward_all(h_alpha, h_beta, generator=seeded(1))
        p = self.random_matrix(5, 10, seeded(1))
        torch.testing.assert_close(alpha, p @ h_alpha)
        torch.testing.assert_close(beta, p @ h_beta)

    def test_views_of_different_rows_are_refused(self) -> None:
        with pytest.raises(sfa.InputError, match=r"same rows.*\(10, 4\) and \(9, 4\)"):
            resolve("costa")().forward_all(random_map(10, 4), random_map(9, 4))

    def test_eval_leaves_both_views_alone(self) -> None:
        h_alpha, h_beta = random_map(10, 4), random_map(9, 4)
        assert resolve("costa")().eval().forward_all(h_alpha, h_beta) == (h_alpha, h_beta)

    def test_memory_is_linear_in_the_number_of_rows(self) -> None:
        """The whole random matrix would be 32 MB, a block of it 1 MB."""
        h = torch.randn(4000, 8, generator=seeded(0), requires_grad=True)
        with torch.profiler.profile(profile_memory=True) as profile:
            costa(h, generator=seeded(1)).sum().backward()
        allocations = [event.cpu_memory_usage for event in profile.events()]
        assert max(allocations) < 4e6


WRONG = [
    ("maxexp", {"eta": 0}, "eta must be a whole number, 1 or more, not 0"),
    ("maxexp", {"eta": 2.5}, "eta must be a whole number"),
    ("maxexp", {"noise": -1.0}, "noise must be a number, 0 or more, not -1.0"),
    ("power-norm", {"beta": 1.5}, "beta must be a number, 0 or more and at most 1, not 1.5"),
    ("power-norm", {"ridge": 0.0}, "ridge must be a number, above 0, not 0.0"),
    ("power-norm*", {"noise": float("nan")}, "noise must be a number"),
    ("grassmann", {"kappa": 0}, "kappa"),
    ("grassmann", {"noise": float("inf")}, "noise"),
    ("grassmann", {"method": "randomized"}, "did you mean 'randomised'"),
    ("grassmann", {"oversampling": -1}, "oversampling"),
    ("grassmann", {"power_iterations": -1}, "power_iterations"),
    ("precondition", {"ridge": -1e-3}, "ridge"),
    ("pca", {"kappa": -3}, "kappa"),
    ("whiten", {"ridge": "much"}, "ridge must be a number, above 0, not 'much'"),
    ("noise", {"strength": -0.1}, "strength"),
    ("costa", {"ratio": 0}, "ratio must be a number, above 0 and at most 1, not 0"),
    ("costa", {"ratio": 1.1}, "ratio"),
    ("sfa", {"directions": 0}, "directions must be a whole number, 1 or more, not 0"),
]


@pytest.mark.parametrize(("name", "options", "message"), WRONG)
def test_wrong_arguments_are_named_by_layer_and_function(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(sfa.InputError, match=message):
        resolve(name)(**options)
    changed = resolve(name)()
    for key, value in options.items():
        setattr(changed, key, value)
    with pytest.raises(sfa.InputError, match=message):
        changed(random_map(6, 4))
