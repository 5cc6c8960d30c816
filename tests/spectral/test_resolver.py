"""Names of spectral maps."""

import pytest
import torch

from sfa.errors import InputError
from sfa.spectral import SPECTRAL_MAPS, SpectralFeatureAugmentation, SpectralMap, resolve


def test_every_name_is_a_map_that_keeps_shape_and_is_the_identity_in_eval() -> None:
    h = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))
    for name in SPECTRAL_MAPS:
        spectral = resolve(name)()
        assert spectral(h).shape == h.shape
        assert spectral.eval()(h) is h


def test_none_is_the_empty_slot() -> None:
    h = torch.randn(4, 3)
    assert resolve("none")()(h) is h
    assert resolve("sfa") is SpectralFeatureAugmentation


def test_both_views_of_a_pair_get_their_own_draw() -> None:
    h = torch.randn(12, 5, generator=torch.Generator().manual_seed(0))
    alpha, beta = SpectralFeatureAugmentation(0).forward_pair(h, h, torch.Generator().manual_seed(1))
    assert not torch.allclose(alpha, beta)
    assert SpectralMap().forward_pair(h, h) == (h, h)


def test_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'sfa'"):
        resolve("sfaa")
