"""SFA of a map whose rows lie in 2 and 3 real processes, against the same map in one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch import distributed as dist

from sfa import distributed
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from tests.cases import each
from tests.processes import run_in_processes

pytestmark = pytest.mark.multiprocess

ROUGH = {torch.float32: 1e-5, torch.float64: 1e-10}


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_map(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=seeded(seed), dtype=dtype)


def augment(h: Tensor, weights: Tensor, sizes: tuple[int, ...], options: dict[str, Any]) -> tuple[Tensor, Tensor]:
    """What one process sees of the map and of the gradient; only rank 0 has the seed that counts."""
    own = h.split(sizes, dim=-2)[distributed.rank()].clone().requires_grad_()
    h_tilde = power_iteration(own, **options, across_processes=True, generator=seeded(1 + distributed.rank()))
    assert h_tilde.dtype == h.dtype
    loss = (h_tilde * weights.split(sizes, dim=-2)[distributed.rank()]).sum()
    (gradient,) = torch.autograd.grad(loss, own)
    return h_tilde.detach(), gradient


def across(h: Tensor, sizes: tuple[int, ...], **options: Any) -> tuple[Tensor, Tensor]:
    weights = random_map(*h.shape, seed=9).to(h.dtype)
    parts = run_in_processes(augment, len(sizes), h, weights, sizes, options)
    h_tilde, gradient = (torch.cat(which, dim=-2) for which in zip(*parts, strict=True))
    return h_tilde, gradient


def alone(h: Tensor, **options: Any) -> tuple[Tensor, Tensor]:
    weights = random_map(*h.shape, seed=9).to(h.dtype)
    whole = h.clone().requires_grad_()
    h_tilde = power_iteration(whole, **options, generator=seeded(1))
    (gradient,) = torch.autograd.grad((h_tilde * weights).sum(), whole)
    return h_tilde.detach(), gradient


def assert_same(h: Tensor, sizes: tuple[int, ...], rough: float | None = None, **options: Any) -> None:
    """To rounding, which is of the size of the map even where all of it is subtracted."""
    rough = ROUGH[h.dtype] if rough is None else rough
    (h_tilde, gradient), (expected, expected_gradient) = across(h, sizes, **options), alone(h, **options)
    torch.testing.assert_close(h_tilde, expected, rtol=0, atol=rough * h.abs().max().item())
    torch.testing.assert_close(
        gradient, expected_gradient, rtol=0, atol=rough * max(1, expected_gradient.abs().max().item())
    )


@each("dtype", ROUGH, ids=str)
@each("detach", [True, False])
@each("directions", [1, 3])
@each("iterations", [0, 1, 2])
@each("sizes", [(9, 4), (7, 1, 6), (8, 0, 3)], ids=str)
def test_equals_one_process(
    sizes: tuple[int, ...], iterations: int, directions: int, detach: bool, dtype: torch.dtype
) -> None:
    h = random_map(sum(sizes), 5, dtype=dtype)
    assert_same(h, sizes, iterations=iterations, directions=directions, detach=detach, strength=0.7)


@each("detach", [True, False])
@each("directions", [1, 2])
def test_passes_equal_those_of_one_process(directions: int, detach: bool) -> None:
    h = random_map(13, 5)
    assert_same(h, (9, 4), iterations=1, directions=directions, detach=detach, strength=0.4, passes=4)


@settings(max_examples=25)
@given(
    sizes=st.lists(st.integers(0, 12), min_size=2, max_size=3).filter(sum),
    d=st.integers(1, 9),
    iterations=st.integers(0, 4),
    directions=st.integers(1, 3),
    batch=st.sampled_from([(), (2,), (2, 3)]),
    seed=st.integers(0, 1000),
)
def test_whatever_the_shape(
    sizes: list[int], d: int, iterations: int, directions: int, batch: tuple[int, ...], seed: int
) -> None:
    """Without the gradient through r: that of an all but dependent direction is large, and so is its rounding."""
    h = random_map(*batch, sum(sizes), d, seed=seed)
    assert_same(h, tuple(sizes), rough=1e-6, iterations=iterations, directions=1 if d < 4 else directions)


@each("detach", [True, False])
@each("directions", [1, 2])
@each("dtype", ROUGH, ids=str)
@each("size", [1e20, 1e-20])
def test_entries_of_any_size_and_many_iterations(
    size: float, dtype: torch.dtype, directions: int, detach: bool
) -> None:
    h = random_map(12, 4, dtype=dtype)
    small, _ = alone(h, iterations=40, directions=directions, detach=detach)
    h_tilde, gradient = across(h * size, (5, 0, 7), iterations=40, directions=directions, detach=detach)
    torch.testing.assert_close(h_tilde / size, small, rtol=0, atol=10 * ROUGH[dtype])
    assert gradient.isfinite().all()


def test_parts_of_very_different_size() -> None:
    h = random_map(12, 4, dtype=torch.float32) * torch.tensor([1e20] * 6 + [1e-20] * 6)[:, None]
    found, expected = across(h, (6, 6), iterations=2)[0], alone(h, iterations=2)[0]
    torch.testing.assert_close(found[:6] / 1e20, expected[:6] / 1e20, rtol=0, atol=1e-5)
    torch.testing.assert_close(found[6:] * 1e20, expected[6:] * 1e20, rtol=0, atol=1e-5)


@each("sizes", [(20, 10), (3, 26, 1)], ids=str)
def test_a_steep_spectrum_does_not_lose_directions(sizes: tuple[int, ...]) -> None:
    """Singular values of 1, 1e-3, 1e-5: after HᵀH they are 1e-10 apart, beyond float32."""
    u, _ = torch.linalg.qr(random_map(30, 4, dtype=torch.float32))
    h = u * torch.tensor([1.0, 1e-3, 1e-5, 1e-7])
    h_tilde, _ = across(h, sizes, iterations=2, directions=2)
    assert torch.linalg.svdvals(h_tilde)[0] < 2e-5


@each("dtype", ROUGH, ids=str)
@each("detach", [True, False])
def test_fewer_directions_than_asked_for_leave_zero_and_not_noise(detach: bool, dtype: torch.dtype) -> None:
    h = random_map(30, 2, dtype=dtype) @ random_map(2, 8, dtype=dtype, seed=1)
    h_tilde, gradient = across(h, (11, 19), iterations=2, directions=4, detach=detach)
    assert h_tilde.abs().max() < 1e3 * torch.finfo(dtype).eps
    _, expected = alone(h, iterations=2, directions=4, detach=detach)
    torch.testing.assert_close(gradient, expected, rtol=0, atol=1e2 * ROUGH[dtype])


@each("detach", [True, False])
@each("directions", [1, 2])
def test_a_zero_map_and_a_map_without_rows(directions: int, detach: bool) -> None:
    for rows in (5, 0):
        h_tilde, gradient = across(torch.zeros(rows, 4), (rows, 0), iterations=2, directions=directions, detach=detach)
        assert h_tilde.shape == (rows, 4)
        assert not h_tilde.any()
        assert gradient.isfinite().all()


def test_a_map_without_features_or_an_empty_batch() -> None:
    for shape in ((5, 0), (0, 5, 3)):
        h_tilde, _ = across(torch.zeros(shape), (3, 0, 2), iterations=2)
        assert h_tilde.shape == shape


@each("directions", [1, 2])
def test_bfloat16_is_the_wide_result_rounded(directions: int) -> None:
    h = random_map(12, 5).bfloat16()
    h_tilde, gradient = across(h, (3, 9), iterations=2, directions=directions)
    assert gradient.dtype == torch.bfloat16
    expected, _ = alone(h.float(), iterations=2, directions=directions)
    torch.testing.assert_close(h_tilde.float(), expected, rtol=2**-8, atol=2**-9)


def test_one_rows_in_two_processes_have_the_same_bits() -> None:
    """Every process has the r of the whole map, and not its own idea of it."""
    half = random_map(8, 5, dtype=torch.float32)
    h_tilde, _ = across(half.repeat(3, 1), (8, 8, 8), iterations=3, directions=2)
    assert torch.equal(h_tilde[:8], h_tilde[8:16])
    assert torch.equal(h_tilde[:8], h_tilde[16:])


@each(("iterations", "directions"), [(0, 1), (1, 1), (3, 2)])
def test_one_all_reduce_of_d_numbers_a_direction_and_step(iterations: int, directions: int) -> None:
    d = 7
    for reduced, broadcast, state in run_in_processes(sent, 2, d, iterations, directions):
        assert reduced == [d * directions] * iterations
        assert broadcast == [d * directions]
        generator = seeded(1)
        power_iteration(random_map(3, d), directions=directions, generator=generator)
        assert torch.equal(state, generator.get_state()), "every rank draws what one process alone would"


def sent(d: int, iterations: int, directions: int) -> tuple[list[int], list[int], Tensor]:
    reduced: list[int] = []
    broadcast: list[int] = []
    generator = seeded(1)
    with pytest.MonkeyPatch.context() as patch:
        for name, numbers in (("all_reduce", reduced), ("broadcast", broadcast)):
            patch.setattr(dist, name, counting(getattr(dist, name), numbers))
        h = random_map(30 * distributed.rank(), d)
        power_iteration(h, iterations, directions=directions, across_processes=True, generator=generator)
    return reduced, broadcast, generator.get_state()


def counting(function: Any, numbers: list[int]) -> Any:
    def call(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        numbers.append(x.numel())
        return function(x, *args, **kwargs)

    return call


def test_of_its_own_rows_alone_a_process_gets_another_map() -> None:
    h = random_map(14, 5)
    expected, _ = alone(h, iterations=2)
    parts = run_in_processes(augment_own_rows, 2, h)
    assert (torch.cat(parts) - expected).abs().max() > 0.1


def augment_own_rows(h: Tensor) -> Tensor:
    return power_iteration(h.split([9, 5])[distributed.rank()], 2, generator=seeded(1))


@each("dtype", ROUGH, ids=str)
@each("directions", [1, 3])
def test_without_other_processes_the_bits_are_those_of_one(directions: int, dtype: torch.dtype) -> None:
    h = random_map(14, 5, dtype=dtype)
    expected = power_iteration(h, 2, directions=directions, generator=seeded(1))
    assert torch.equal(
        power_iteration(h, 2, directions=directions, across_processes=True, generator=seeded(1)), expected
    )
    (in_a_group,) = run_in_processes(augment, 1, h, h, (14,), {"iterations": 2, "directions": directions})
    assert torch.equal(in_a_group[0], expected)


def test_the_module_acts_across_processes_once_told_to() -> None:
    h = random_map(14, 5)
    layer = SpectralFeatureAugmentation(2, strength=0.5, directions=2)
    expected = layer(h, seeded(1))
    parts = run_in_processes(synchronized, 2, layer, h, (4, 10))
    torch.testing.assert_close(torch.cat(parts), expected, rtol=1e-10, atol=1e-10)


def synchronized(layer: SpectralMap, h: Tensor, sizes: tuple[int, ...]) -> Tensor:
    distributed.enable_cross_rank(layer)
    own = h.split(sizes)[distributed.rank()]
    h_tilde: Tensor = layer(own, seeded(1 + distributed.rank()))
    if distributed.rank() == 0:
        assert layer.eval()(own) is own, "which takes nobody else"
    return h_tilde
