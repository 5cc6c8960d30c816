"""Checks that every spectral map must pass, the package's own and yours.

>>> from sfa.spectral import GaussianNoise
>>> check_spectral_map(GaussianNoise(0.2))
"""

import inspect
from collections.abc import Callable

import torch
from torch import Tensor

from sfa.errors import InputError
from sfa.spectral import SpectralMap


def check_spectral_map(layer: SpectralMap) -> None:
    """Raise an ``AssertionError`` that says what to change unless a spectral map passes all :data:`CHECKS`.

    What a map should do is read off its attributes, such as :attr:`~sfa.spectral.SpectralMap.deterministic`. Its values
    are for a test of its own.
    """
    for check in CHECKS:
        check(layer)


def check_degenerate_maps(layer: SpectralMap) -> None:
    """Check that values and gradients are finite for maps that are zero, of low rank, or a single row or column."""
    orthonormal = torch.linalg.qr(_random_map(9, 4)).Q
    cases = {
        "zero": torch.zeros(2, 6, 4),
        "one row": _random_map(1, 4),
        "one column": _random_map(6, 1),
        "one number": torch.ones(1, 1),
        "of rank one": torch.outer(torch.arange(1.0, 8), torch.tensor([1.0, -2.0, 0.5, 3.0])),
        "of rank two": _random_map(9, 2) @ _random_map(2, 5),
        "of rank two and wide": _random_map(5, 2) @ _random_map(2, 9),
        "the identity": torch.eye(5),
        "of orthonormal columns": orthonormal,
        "of orthonormal rows": orthonormal.T,
        "of equal entries": torch.full((7, 4), 0.1),
        "of equal rows": _random_map(1, 4).expand(7, 4),
        "zero in one column": _random_map(7, 4) * torch.tensor([1.0, 0, 1, 1]),
    }
    for case, narrow in cases.items():
        if narrow.shape[-2] < layer.min_rows:
            continue
        try:
            layer.check_width(narrow.shape[-1])
        except InputError:
            continue
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            h = narrow.to(dtype).clone().requires_grad_()
            h_tilde = layer(h, _seeded(1))
            seen = torch.randn(h_tilde.shape, generator=_seeded(2))
            (gradient,) = torch.autograd.grad((h_tilde.float() * seen).sum(), h)
            assert h_tilde.dtype == dtype, f"{layer} makes {h_tilde.dtype} of {dtype}."
            assert h_tilde.isfinite().all(), f"{layer} of a map that is {case}, {dtype}, is not finite."
            # Of a size that a float32 optimizer survives; NaN fails this too.
            assert gradient.abs().max() < 1e6, f"The gradient of {layer} explodes on a map that is {case}, {dtype}."
            assert case != "zero" or not h_tilde.any(), f"{layer} makes something of nothing."


def check_half_precision(layer: SpectralMap) -> None:
    """Check that half precision is the result in float32, rounded, also under autocast."""
    for dtype in (torch.bfloat16, torch.float16):
        for shape in ((12, 5), (5, 12), (2, 3, 6, 4)):
            h = _random_map(*shape).to(dtype)
            h_tilde = layer(h, _seeded(1))
            assert h_tilde.dtype == dtype, f"{layer} makes {h_tilde.dtype} of {dtype}."
            torch.testing.assert_close(h_tilde.float(), layer(h.float(), _seeded(1)), rtol=2**-8, atol=2**-9)
    h = _random_map(12, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = layer(h, _seeded(1))
    assert torch.equal(inside, layer(h, _seeded(1))), f"Autocast reaches inside {layer}: disable it there."


def check_draws(layer: SpectralMap) -> None:
    """Check that draws come from the generator, or the global one without, if the map is not ``deterministic``."""
    h = _random_map(12, 5)
    first = layer(h, _seeded(1))
    torch.manual_seed(12)
    assert torch.equal(first, layer(h, _seeded(1))), f"{layer} draws from elsewhere than the generator it is given."
    random = any(not torch.allclose(first, layer(h, _seeded(seed))) for seed in range(2, 8))
    assert random != layer.deterministic, f"Set `deterministic = {not random}` on the class of {layer}."
    if layer.deterministic:
        return
    torch.manual_seed(5)
    first = layer(h)
    torch.manual_seed(5)
    assert torch.equal(first, layer(h)), f"Without a generator {layer} does not use the global one."
    assert any(not torch.allclose(first, layer(h)) for _ in range(6)), f"{layer} draws once and for all."
    batch = layer(h.expand(8, 12, 5), _seeded(1))
    assert any(not torch.allclose(batch[0], one) for one in batch[1:]), f"{layer} has one draw for a whole batch."
    pairs = [layer.forward_all(h, h, generator=_seeded(seed)) for seed in range(8)]
    shared = all(torch.allclose(alpha, beta) for alpha, beta in pairs)
    assert shared == layer.shares_draws, f"Set `shares_draws = {shared}` on the class of {layer}."


def check_scale(layer: SpectralMap) -> None:
    """Check entries of ``1e±20``: values and gradients are finite, and scale by the map's ``homogeneity``."""
    ordinary = layer(_random_map(30, 8), _seeded(1))
    for scale in (1e-20, 1e20):
        h = (_random_map(30, 8) * scale).requires_grad_()
        h_tilde = layer(h, _seeded(1))
        (gradient,) = torch.autograd.grad(h_tilde.sum(), h)
        assert h_tilde.isfinite().all(), f"{layer} is not finite for entries of {scale}."
        assert gradient.isfinite().all(), f"The gradient of {layer} is not finite for entries of {scale}."
        if (degree := layer.homogeneity) is not None:
            scaled = torch.allclose(h_tilde.double() / scale**degree, ordinary.double(), rtol=1e-4, atol=1e-4)
            assert scaled, f"The `homogeneity` of {layer} is not {degree:g}: set its degree on the class, or None."


def check_not_finite(layer: SpectralMap) -> None:
    """Check that NaN and infinity are passed on and do not reach the other maps of a batch."""
    for wrong in (torch.nan, torch.inf):
        h = _random_map(2, 9, 5)
        h[0, 2, 1] = wrong
        h_tilde = layer(h.requires_grad_(), _seeded(1))
        assert not h_tilde[0].isfinite().all(), f"{layer} hides {wrong}."
        assert h_tilde[1].isfinite().all(), f"{layer} spreads {wrong} to another map of the batch."
        torch.autograd.grad(h_tilde.sum(), h)


def check_interface(layer: SpectralMap) -> None:
    """Check shapes, refusals of what is no feature map, stored arguments, and that ``eval()`` is the identity."""
    h = _random_map(60, 30)
    alpha, beta = layer.forward_all(h, h, generator=_seeded(1))
    assert alpha.shape == beta.shape == layer(h).shape, f"{layer} gives two views different shapes."
    assert alpha.shape[-1] == 30, f"{layer} changes the number of features."
    assert not layer.keeps_rows or alpha.shape == h.shape, f"Set `keeps_rows = False` on the class of {layer}."
    for shape in ((0, 4), (4, 0), (0, 3, 4), (2, 0, 4)):
        assert layer(torch.empty(shape)).shape == shape, f"{layer} does not return an empty map as it is."
    for wrong in (torch.ones(4), torch.ones(4, 3, dtype=torch.long)):
        try:
            layer(wrong)
        except InputError:
            continue
        raise AssertionError(f"{layer} takes {wrong.dtype} of shape {tuple(wrong.shape)}: raise an InputError.")
    for name, parameter in inspect.signature(type(layer)).parameters.items():
        if parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            assert hasattr(layer, name), f"{type(layer).__name__} does not store its argument `{name}`."
            assert f"{name}={getattr(layer, name)!r}" in repr(layer), f"{layer} does not show `{name}`."
    layer.eval()
    try:
        assert layer(h) is h, f"{layer} is not the identity in eval()."
        assert layer.forward_all(h, h) == (h, h), f"{layer}.forward_all is not the identity in eval()."
    finally:
        layer.train()


def check_compiles(layer: SpectralMap) -> None:
    """Check that ``torch.compile`` changes neither values nor gradients, as one graph if the map says so."""
    torch._dynamo.reset()
    compiled = torch.compile(layer, fullgraph=layer.fullgraph, backend="aot_eager")
    h = _random_map(12, 5, dtype=torch.float64).requires_grad_()
    results = []
    for call in (compiled, layer):
        torch.manual_seed(3)
        h_tilde = call(h)
        (gradient,) = torch.autograd.grad((h_tilde * torch.linspace(-1, 1, 5)).square().sum(), h)
        results.append((h_tilde, gradient))
    torch.testing.assert_close(results[0], results[1])


CHECKS: tuple[Callable[[SpectralMap], None], ...] = (
    *(check_degenerate_maps, check_half_precision, check_draws, check_scale),
    *(check_not_finite, check_interface, check_compiles),
)


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _random_map(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=_seeded(0), dtype=torch.float64).to(dtype)
