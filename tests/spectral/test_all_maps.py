"""What every spectral map keeps to, whichever it is; a new name in the resolver is tested here without more ado."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor

import sfa
from sfa.recipes import Recipe
from sfa.spectral import PCA, SPECTRAL_MAPS, Grassmann, SpectralFeatureAugmentation, SpectralMap, power_norm, resolve

VARIANTS: dict[str, SpectralMap] = {
    **{name: made() for name, made in SPECTRAL_MAPS.items()},
    "sfa, 3 passes": SpectralFeatureAugmentation(2, strength=0.5, passes=3),
    "sfa, 2 directions": SpectralFeatureAugmentation(2, directions=2),
    "sfa, 2 directions, gradient through": SpectralFeatureAugmentation(2, directions=2, detach=False),
    "grassmann, randomised": Grassmann(method="randomised"),
    "grassmann, 2 kept": Grassmann(kappa=2),
    "pca, 2 kept": PCA(kappa=2),
}
for _name, _made in SPECTRAL_MAPS.items():
    if "detach" in inspect.signature(_made).parameters:
        VARIANTS[f"{_name}, detached"] = _made(detach=True)  # type: ignore[call-arg]
ACTIVE = [name for name in VARIANTS if name != "none"]
RANDOM = [name for name in ACTIVE if name.split(",")[0] not in ("expectation", "precondition", "pca", "whiten")]


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_map(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(*shape, generator=seeded(0), dtype=torch.float64).to(dtype)


DEGENERATE = {
    "zero": torch.zeros(6, 4),
    "zero-batch": torch.zeros(2, 6, 4),
    "one-row": random_map(1, 4),
    "one-column": random_map(6, 1),
    "one-by-one": torch.ones(1, 1),
    "rank-one": torch.outer(torch.arange(1.0, 8), torch.tensor([1.0, -2.0, 0.5, 3.0])),
    "rank-two": random_map(9, 2) @ random_map(2, 5),
    "rank-two-wide": random_map(5, 2) @ random_map(2, 9),
    "identity": torch.eye(5),
    "orthonormal-columns": torch.linalg.qr(random_map(9, 4)).Q,
    "orthonormal-rows": torch.linalg.qr(random_map(9, 4)).Q.T,
    "equal-rows": torch.full((7, 4), 0.1),
    "equal-rows-not-entries": random_map(1, 4).expand(7, 4),
    "one-zero-column": random_map(7, 4) * torch.tensor([1.0, 0, 1, 1]),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name in VARIANTS for case in DEGENERATE if DEGENERATE[case].shape[-1] > 2 or "direc" not in name],
)
def test_degenerate_maps_have_finite_values_and_gradients(name: str, case: str, dtype: torch.dtype) -> None:
    h = DEGENERATE[case].to(dtype).clone().requires_grad_()
    h_tilde = VARIANTS[name](h, seeded(1))
    (gradient,) = torch.autograd.grad((h_tilde.float() * torch.randn(h_tilde.shape, generator=seeded(2))).sum(), h)
    assert h_tilde.dtype == dtype
    assert h_tilde.isfinite().all()
    assert gradient.isfinite().all()
    assert gradient.abs().max() < 1e6, "and of a size that a float32 optimiser survives"
    if case.startswith("zero"):
        assert not h_tilde.any()


@pytest.mark.parametrize("shape", [(12, 5), (5, 12), (2, 3, 6, 4)])
@pytest.mark.parametrize("name", VARIANTS)
def test_half_precision_is_the_wide_result_rounded(name: str, shape: tuple[int, ...]) -> None:
    for dtype in (torch.bfloat16, torch.float16):
        h = random_map(*shape, dtype=dtype)
        h_tilde = VARIANTS[name](h, seeded(1))
        assert h_tilde.dtype == dtype
        torch.testing.assert_close(h_tilde.float(), VARIANTS[name](h.float(), seeded(1)), rtol=2**-8, atol=2**-9)


@pytest.mark.parametrize("name", VARIANTS)
def test_autocast_does_not_reach_inside(name: str) -> None:
    h = random_map(12, 5)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        inside = VARIANTS[name](h, seeded(1))
    assert torch.equal(inside, VARIANTS[name](h, seeded(1)))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_seed_fixes_the_draw(name: str) -> None:
    h = random_map(12, 5)
    first = VARIANTS[name](h, seeded(1))
    torch.manual_seed(12)
    assert torch.equal(first, VARIANTS[name](h, seeded(1)))
    others = [VARIANTS[name](h, seeded(seed)) for seed in range(2, 8)]
    assert any(not torch.allclose(first, other) for other in others) == (name in RANDOM)


@pytest.mark.parametrize("name", RANDOM)
def test_without_a_generator_the_global_one_is_used(name: str) -> None:
    h = random_map(12, 5)
    torch.manual_seed(5)
    first = VARIANTS[name](h)
    torch.manual_seed(5)
    assert torch.equal(first, VARIANTS[name](h))
    assert any(not torch.allclose(first, VARIANTS[name](h)) for _ in range(6))


@pytest.mark.parametrize("name", RANDOM)
def test_maps_of_a_batch_and_views_of_a_pair_get_their_own_draws(name: str) -> None:
    h = random_map(12, 5).expand(8, 12, 5)
    batch = VARIANTS[name](h, seeded(1))
    assert any(not torch.allclose(batch[0], one) for one in batch[1:])
    pairs = [VARIANTS[name].forward_all(h[0], h[0], generator=seeded(seed)) for seed in range(8)]
    assert any(not torch.allclose(alpha, beta) for alpha, beta in pairs) == (name != "costa")


# Degree of homogeneity: what a factor on the map does to the result.
DEGREES = {
    "sfa": 1,
    "expectation": 1,
    "pca": 1,
    "noise": 1,
    "costa": 1,
    "maxexp": 0,
    "grassmann": 0,
    "precondition": 0,
    "whiten": 0,
}


@pytest.mark.parametrize("scale", [1e-20, 1e20])
@pytest.mark.parametrize("name", ACTIVE)
def test_tiny_and_huge_entries(name: str, scale: float) -> None:
    h = (random_map(30, 8) * scale).requires_grad_()
    h_tilde = VARIANTS[name](h, seeded(1))
    (gradient,) = torch.autograd.grad(h_tilde.sum(), h)
    assert h_tilde.isfinite().all()
    assert gradient.isfinite().all()
    if not name.startswith("power-norm"):
        ordinary = VARIANTS[name](random_map(30, 8), seeded(1))
        factor = scale ** DEGREES[name.split(",")[0]]
        torch.testing.assert_close(h_tilde / factor, ordinary, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_power_norm_of_tiny_and_huge_entries(scale: float) -> None:
    h = random_map(30, 8) * scale
    u, sigma, vh = torch.linalg.svd(h.double(), full_matrices=False)
    expected = u * (0.25 * sigma**0.5 + 0.75 * sigma**0.75) @ vh
    torch.testing.assert_close(power_norm(h, 0.75, noise=0.0).double() / expected.max(), expected / expected.max())


@pytest.mark.parametrize("wrong", [torch.nan, torch.inf])
@pytest.mark.parametrize("name", ACTIVE)
def test_what_is_not_finite_is_passed_on_and_raises_nothing(name: str, wrong: float) -> None:
    h = random_map(2, 9, 5)
    h[0, 2, 1] = wrong
    h.requires_grad_()
    h_tilde = VARIANTS[name](h, seeded(1))
    assert not h_tilde[0].isfinite().all()
    assert h_tilde[1].isfinite().all(), "the other map of the batch is not touched"
    torch.autograd.grad(h_tilde.sum(), h)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 3, 4), (2, 0, 4)])
@pytest.mark.parametrize("name", VARIANTS)
def test_empty_maps_pass_through(name: str, shape: tuple[int, ...]) -> None:
    assert VARIANTS[name](torch.empty(shape)).shape == shape


@pytest.mark.parametrize("h", [torch.ones(4), torch.ones(4, 3, dtype=torch.long)])
@pytest.mark.parametrize("name", ACTIVE)
def test_what_is_no_feature_map_is_refused(name: str, h: Tensor) -> None:
    with pytest.raises(sfa.InputError, match="A feature map is a floating-point tensor"):
        VARIANTS[name](h)


@pytest.mark.parametrize("name", VARIANTS)
def test_features_stay_rows_are_those_of_both_views_and_eval_is_the_identity(name: str) -> None:
    layer, h = VARIANTS[name], random_map(60, 30)
    alpha, beta = layer.forward_all(h, h, generator=seeded(1))
    assert alpha.shape == beta.shape == layer(h).shape
    assert alpha.shape == ((30, 30) if name == "costa" else (60, 30))
    assert name == "none" or not torch.allclose(alpha[:30], h[:30])
    layer.eval()
    assert layer(h) is h
    assert layer.forward_all(h, h) == (h, h)
    layer.train()


@pytest.mark.parametrize("name", SPECTRAL_MAPS)
def test_a_layer_shows_all_its_settings_and_has_no_state(name: str) -> None:
    layer = resolve(name)()
    for argument, parameter in inspect.signature(type(layer)).parameters.items():
        assert f"{argument}={parameter.default!r}" in repr(layer)
        assert getattr(layer, argument) == parameter.default
    assert not layer.state_dict()


def test_every_name_is_listed_with_a_sentence_of_its_own() -> None:
    sentences = {(made.__doc__ or "").splitlines()[0] for made in SPECTRAL_MAPS.values()}
    assert len(sentences) == len(SPECTRAL_MAPS)
    assert all(sentence.endswith((".", ";", "``none``.")) and len(sentence) > 40 for sentence in sentences)


@pytest.mark.parametrize("name", SPECTRAL_MAPS)
def test_a_recipe_builds_it_and_checks_its_options(name: str) -> None:
    recipe = Recipe.parse({"spectral": {"name": name}})
    layer = recipe.build(8).spectral
    assert type(layer) is SPECTRAL_MAPS[name]
    assert set(recipe.spectral) == {"name", *inspect.signature(type(layer)).parameters}
    with pytest.raises(sfa.InputError, match="Unknown spectral key 'ettta'"):
        Recipe.parse({"spectral": {"name": name, "ettta": 1}})


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("sfa", "directions", 0),
        ("sfa", "passes", 0),
        ("expectation", "strength", 1.5),
        ("maxexp", "eta", 0),
        ("maxexp", "noise", -1),
        ("power-norm", "beta", 1.1),
        ("power-norm*", "ridge", 0),
        ("grassmann", "method", "lapack"),
        ("pca", "kappa", 0),
        ("costa", "ratio", 0),
        ("whiten", "ridge", -1),
        ("noise", "strength", -1),
    ],
)
def test_a_recipe_refuses_what_the_layer_refuses(name: str, key: str, value: object) -> None:
    with pytest.raises(sfa.InputError, match=key):
        Recipe.parse({"spectral": {"name": name, key: value}})


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # dynamo's own business
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # and its graph breaks'
@pytest.mark.parametrize("name", [name for name in SPECTRAL_MAPS if name not in ("none", "sfa")])
def test_compiled_equals_eager(name: str) -> None:
    """As one graph, but for COSTA, as no generator can be made within one, and for what NumPy computes."""
    torch._dynamo.reset()
    layer = resolve(name)()
    compiled = torch.compile(layer, fullgraph=name not in ("costa", "expectation"), backend="aot_eager")
    h = random_map(12, 5, dtype=torch.float64).requires_grad_()
    results = []
    for call in (compiled, layer):
        torch.manual_seed(3)
        h_tilde = call(h)
        (gradient,) = torch.autograd.grad((h_tilde * torch.linspace(-1, 1, 5)).square().sum(), h)
        results.append((h_tilde, gradient))
    torch.testing.assert_close(results[0], results[1])


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
def test_one_compilation_serves_maps_of_all_lengths() -> None:
    torch._dynamo.reset()
    layer = resolve("whiten")()
    graphs = []

    def counting(graph: torch.fx.GraphModule, inputs: list[Tensor]) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(layer, fullgraph=True, backend=counting, dynamic=True)
    for n in (12, 20, 31):
        h = random_map(n, 5, dtype=torch.float64)
        torch.testing.assert_close(compiled(h), layer(h))
    assert len(graphs) == 1


@pytest.mark.parametrize("name", ["precondition", "whiten"])
@pytest.mark.parametrize("ridge", [1e-9, 1e-16, 1e-30])
def test_a_tiny_ridge_does_not_make_noise_of_zeros(name: str, ridge: float) -> None:
    h = random_map(20, 3, dtype=torch.float64) @ random_map(3, 8, dtype=torch.float64)
    h_tilde = resolve(name)(ridge=ridge)(h)
    limit = 20**0.5 if name == "whiten" else 1
    sigma = torch.linalg.svdvals(h_tilde) / limit
    torch.testing.assert_close(sigma[:3], torch.ones(3, dtype=torch.float64), rtol=1e-3, atol=0)
    assert (sigma[3:] < 1e-2).all()


def test_numbers_of_numpy_are_numbers() -> None:
    import numpy as np

    assert resolve("maxexp")(eta=np.int64(3), noise=np.float32(0.5)).eta == 3
    assert resolve("sfa")(iterations=np.int64(2)).iterations == 2
    for wrong in ({"iterations": True}, {"iterations": 1.0}, {"strength": float("nan")}, {"strength": float("inf")}):
        with pytest.raises(sfa.InputError, match=next(iter(wrong))):
            resolve("sfa")(**wrong)
