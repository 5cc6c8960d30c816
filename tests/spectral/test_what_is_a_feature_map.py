"""Every spectral map says in one sentence what it cannot take, and makes finite numbers of finite ones."""

from __future__ import annotations

import math
import pydoc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import sfa
from sfa.registry import registered
from sfa.spectral import Costa, Sequential, SpectralFeatureAugmentation, SpectralMap, newton_schulz, schatten_penalty
from tests.cases import each
from tests.spectral.maps import random_map, seeded

MAPS: dict[str, type[SpectralMap]] = dict(registered("spectral"))
CALLS: dict[str, Callable[..., Any]] = {
    **{name: made() for name, made in MAPS.items()},
    **{f"{name} in eval()": made().eval() for name, made in MAPS.items()},
    **{f"the function of {name}": made._function for name, made in MAPS.items() if made._function is not None},
    "several maps": Sequential(SpectralFeatureAugmentation(), Costa()),
    "COSTA on two views": lambda h: Costa().forward_all(h, h),
    "several maps on two views": lambda h: Sequential(SpectralFeatureAugmentation(), Costa()).forward_all(h, h),
    "the penalty": schatten_penalty,
    "the roots": newton_schulz,
}
WRONG: dict[str, tuple[Any, str]] = {
    "an array": (np.ones((4, 4), dtype=np.float32), "ndarray.*torch.as_tensor"),
    "a list": ([[1.0, 2.0], [3.0, 4.0]], "list.*torch.as_tensor"),
    "nothing": (None, "NoneType"),
    "a sparse tensor": (torch.eye(4).to_sparse(), "sparse.*to_dense"),
    "compressed rows": (torch.eye(4).to_sparse_csr(), "sparse.*to_dense"),
    "a meta tensor": (torch.ones(4, 4, device="meta"), "meta"),
    "integers": (torch.ones(4, 4, dtype=torch.long), "torch.int64"),
    "booleans": (torch.ones(4, 4, dtype=torch.bool), "torch.bool"),
    "complex numbers": (torch.ones(4, 4, dtype=torch.complex64), "torch.complex64"),
    "a number": (torch.tensor(1.0), r"\(\)"),
    "a vector": (torch.ones(4), r"\(4,\)"),
}


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support is in beta")
@each(("name", "given"), [(name, wrong) for name in CALLS for wrong in WRONG])
def test_what_is_no_feature_map_is_refused_in_one_sentence(name: str, given: str) -> None:
    value, words = WRONG[given]
    with pytest.raises(sfa.InputError, match=f"is a floating-point tensor.*{words}"):
        CALLS[name](value)


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(sorted(MAPS)),
    shape=st.sampled_from([(12, 5), (5, 12), (2, 6, 4)]),
    largest=st.floats(1, torch.finfo(torch.float16).max),
    spread=st.floats(0, 6),
    seed=st.integers(0, 1000),
)
def test_finite_half_precision_stays_finite(
    name: str, shape: tuple[int, ...], largest: float, spread: float, seed: int
) -> None:
    for dtype in (torch.float16, torch.bfloat16):
        scale = largest if dtype == torch.float16 else largest * 1e25  # the range of bfloat16 is that of float32
        size = 10 ** (-spread * torch.rand(shape, generator=seeded(seed), dtype=torch.float64))
        h = (random_map(*shape, seed=seed).sign() * size * scale).to(dtype)
        assert h.isfinite().all()
        assert MAPS[name]()(h, seeded(seed)).isfinite().all(), (name, dtype)


@each("name", ["sfa", "costa", "noise", "pca", "soft-clip"])
def test_the_largest_halves_stay_finite_and_infinity_is_not_hidden(name: str) -> None:
    h = torch.where(random_map(40, 6) > 0, 6.4e4, -6.4e4).half()
    for layer in (MAPS[name](), *([SpectralFeatureAugmentation.gentle()] if name == "sfa" else [])):
        alpha, beta = layer.forward_all(h, h, generator=seeded(0))
        assert alpha.isfinite().all()
        assert beta.isfinite().all()
        h_inf = h.clone()
        h_inf[0, 0] = math.inf
        assert not layer(h_inf).isfinite().all()


@each("name", [name for name in MAPS if name != "none"])
@each("shape", [(40, 6), (6, 40), (2, 12, 5)])
def test_the_gradient_at_the_largest_halves_is_finite(name: str, shape: tuple[int, ...]) -> None:
    spread = 10 ** (-6 * torch.rand(shape, generator=seeded(1), dtype=torch.float64))
    for size in (torch.ones(shape), spread):
        h = (random_map(*shape).sign() * size * 6.5e4).half().requires_grad_()
        h_tilde = MAPS[name]()(h, seeded(0))
        h_tilde.backward(random_map(*h_tilde.shape).half())
        assert h_tilde.isfinite().all()
        assert h.grad is not None
        assert h.grad.isfinite().all()


def test_the_roots_of_the_largest_halves_are_finite() -> None:
    m = (random_map(6, 6) @ random_map(6, 6).T * 4e3).half()
    assert m.isfinite().all()
    roots = newton_schulz(m)
    assert all(one.isfinite().all() for one in roots)
    torch.testing.assert_close(
        (roots.root.float() @ roots.root.float()) / m.float().norm(), m.float() / m.float().norm(), rtol=0, atol=1e-2
    )


@each("name", ["sfa", "expectation", "soft-clip", "whiten"])
def test_a_single_row_is_refused_in_training_where_nothing_would_be_left(name: str) -> None:
    for shape in ((1, 5), (3, 1, 5)):
        layer = MAPS[name]()
        with pytest.raises(sfa.InputError, match=r"two rows or more in training.*single rows"):
            layer(torch.ones(shape))
        with pytest.raises(sfa.InputError, match="two rows or more"):
            Sequential(layer).forward_all(torch.ones(shape), torch.ones(shape))
        assert layer.eval()(torch.ones(shape)).sum() == math.prod(shape)


@each("name", [name for name in MAPS if name != "none"])
def test_the_output_of_a_convolution_is_refused_in_training(name: str) -> None:
    with pytest.raises(sfa.InputError, match=r"not \(8, 5, 1, 1\).*flatten\(1\)"):
        MAPS[name]()(torch.ones(8, 5, 1, 1))


def test_the_presets_are_the_recommended_layer_and_the_layer_of_the_paper() -> None:
    h = random_map(30, 8)
    for preset, options in (
        (SpectralFeatureAugmentation.gentle(), {"strength": 0.125, "passes": 64}),
        (SpectralFeatureAugmentation.paper(), {"iterations": 1}),
    ):
        assert torch.equal(preset(h, seeded(3)), SpectralFeatureAugmentation(**options)(h, seeded(3)))


def test_help_lists_the_arguments_with_plain_types() -> None:
    text = pydoc.plain(pydoc.render_doc(SpectralFeatureAugmentation))
    assert "(iterations: int = 1, strength: float = 1.0, detach: bool = True, directions: int = 1" in text
    assert "Annotated" not in text.split("Methods inherited")[0]
    for argument in ("iterations", "strength", "detach", "directions", "passes"):
        assert f"{argument}: " in text.split("Args:")[1]
