"""Names of spectral maps."""

import pytest
import torch

from sfa.errors import InputError
from sfa.spectral import SPECTRAL_MAPS, SpectralFeatureAugmentation, SpectralMap, resolve


def test_the_names_are_these() -> None:
    names = "none sfa expectation maxexp power-norm power-norm* grassmann precondition pca noise costa whiten"
    assert list(SPECTRAL_MAPS) == names.split()


def test_none_is_the_empty_slot() -> None:
    h = torch.randn(4, 3)
    assert resolve("none")()(h) is h
    assert resolve("sfa") is SpectralFeatureAugmentation


def test_all_maps_of_a_step_get_their_own_draw() -> None:
    h = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))
    alpha, beta = SpectralFeatureAugmentation(0).forward_all(h, h, generator=torch.Generator().manual_seed(1))
    assert not torch.allclose(alpha, beta)
    assert SpectralMap().forward_all(h, h) == (h, h)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'sfa'"):
        resolve("sfaa")
