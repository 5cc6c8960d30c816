"""Several spectral maps in one slot."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from sfa import distributed
from sfa.errors import InputError
from sfa.spectral import (
    PCA,
    Costa,
    GaussianNoise,
    PowerNorm,
    Sequential,
    SpectralFeatureAugmentation,
    SpectralMap,
    Whiten,
    add_noise,
    power_iteration,
)
from sfa.testing import CHECKS, check_half_precision
from tests.cases import each
from tests.processes import run_in_processes
from tests.spectral.maps import random_map, seeded


def chain() -> Sequential:
    return Sequential(GaussianNoise(0.3), SpectralFeatureAugmentation(2), Whiten())


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.slow
@each("check", [c for c in CHECKS if c is not check_half_precision], ids=lambda check: check.__name__)
@each(
    "layer",
    [Sequential(), chain(), Sequential(Costa(), SpectralFeatureAugmentation()), Sequential(Costa(), PCA(2))],
    ids=lambda layer: "-".join(type(one).__name__ for one in layer.maps),
)
def test_conforms(layer: Sequential, check: Callable[[SpectralMap], None]) -> None:
    """But for half precision, to which the result is rounded after every map."""
    check(layer)


def test_is_one_map_after_another_with_one_generator() -> None:
    maps = [random_map(12, 5), random_map(12, 5, seed=1)]
    generator = seeded(3)
    expected = tuple(maps)
    for one in chain().maps:
        expected = one.forward_all(*expected, generator=generator)  # type: ignore[operator]
    torch.testing.assert_close(chain().forward_all(*maps, generator=seeded(3)), expected, rtol=0, atol=0)
    generator = seeded(3)
    h = maps[0]
    for one in chain().maps:
        h = one(h, generator)
    assert torch.equal(chain()(maps[0], seeded(3)), h)


def test_maps_that_must_see_all_maps_of_a_step_do() -> None:
    h_alpha, h_beta = random_map(10, 4), random_map(10, 4, seed=1)
    generator = seeded(2)
    combined = Costa(0.3).forward_all(h_alpha, h_beta, generator=generator)
    expected = tuple(SpectralFeatureAugmentation()(h, generator) for h in combined)
    found = Sequential(Costa(0.3), SpectralFeatureAugmentation()).forward_all(h_alpha, h_beta, generator=seeded(2))
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
    assert found[0].shape == (3, 4)


def test_gradient() -> None:
    h = random_map(6, 4).requires_grad_()
    layer = Sequential(PCA(3), SpectralFeatureAugmentation(1, strength=0.5, detach=False))
    assert torch.autograd.gradcheck(lambda x: layer(x, seeded(1)), h)
    assert torch.autograd.gradcheck(lambda x: layer.forward_all(x, 2 * x, generator=seeded(1)), h)


def test_without_maps_and_in_eval_it_is_the_identity() -> None:
    h = random_map(5, 3)
    for layer in (Sequential(), chain().eval()):
        assert layer(h) is h
        assert layer.forward_all(h, h) == (h, h)
    assert not any(one.training for one in chain().eval().maps)
    assert all(one.training for one in chain().eval().train().maps)


def test_its_attributes_follow_from_those_of_its_maps() -> None:
    assert chain().keeps_rows
    assert not Sequential(GaussianNoise(), Costa()).keeps_rows
    assert Sequential(PCA(), Whiten()).deterministic
    assert not chain().deterministic
    assert (chain().homogeneity, Sequential(PowerNorm(), PCA()).homogeneity, Sequential().homogeneity) == (0, None, 1)
    assert Sequential(Costa(), PCA()).shares_draws
    assert not Sequential(Costa(), GaussianNoise()).shares_draws


def test_every_map_must_take_the_width() -> None:
    layer = Sequential(GaussianNoise(), SpectralFeatureAugmentation(directions=4))
    layer.check_width(5)
    with pytest.raises(InputError, match="below the number of features, 4"):
        layer.check_width(4)


def test_what_is_no_map_is_refused() -> None:
    with pytest.raises(InputError, match="instances of SpectralMap, not 'sfa'"):
        Sequential(GaussianNoise(), "sfa")  # type: ignore[arg-type]


@pytest.mark.multiprocess
def test_it_spans_processes_if_all_its_maps_do() -> None:
    layer = Sequential(GaussianNoise(0.3), SpectralFeatureAugmentation(2))
    assert layer.spans_processes
    assert run_in_processes(acts_as_its_maps, 2, layer, random_map(14, 5)) == [True, True]
    with pytest.raises(InputError, match="feature map in one"):
        distributed.enable_cross_rank(chain())


def acts_as_its_maps(layer: Sequential, h: Tensor) -> bool:
    distributed.enable_cross_rank(layer)
    own, generator = h.split([4, 10])[distributed.rank()], seeded(1)
    noisy = add_noise(own, 0.3, across_processes=True, generator=generator)
    expected = power_iteration(noisy, 2, across_processes=True, generator=generator)
    return torch.equal(layer(own, seeded(1)), expected)
