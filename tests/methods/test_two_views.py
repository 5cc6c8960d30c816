"""The paper's framework, and the losses of GRACE and G-BT in it."""

import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph import random_views
from sfa.losses import barlow_twins, nt_xent
from sfa.methods import TwoViewMethod
from sfa.methods.base import FeatureMaps
from sfa.methods import GBT, GRACE
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("kind", [GRACE, GBT])
class TestTwoViews:
    def build(self, kind: type, spectral: SpectralMap | None = None) -> TwoViewMethod:
        torch.manual_seed(0)
        built: TwoViewMethod = kind(8, hidden=8, spectral=spectral)
        return built

    def test_the_loss_is_that_of_the_augmented_maps(self, kind: type, planted: Data) -> None:
        """Put together by hand from the parts, with the same draws."""
        method = self.build(kind, SpectralFeatureAugmentation(iterations=2))
        generator = seeded(5)
        views = method.views(planted, generator)
        maps = [method.encoder(view, generator) for view in views]
        augmented = [power_iteration(h, 2, generator=generator) for h in maps]
        expected = method.loss(*(method.head(h) for h in augmented))
        torch.testing.assert_close(method(planted, seeded(5)), expected)

    def test_an_observer_sees_both_views(self, kind: type, planted: Data) -> None:
        method = self.build(kind, SpectralFeatureAugmentation(iterations=2))
        seen: list[FeatureMaps] = []
        method(planted, seeded(5), observe=seen.append)
        (maps,) = seen
        generator = seeded(5)
        views = method.views(planted, generator)
        for h, view in zip(maps[:2], views, strict=True):
            torch.testing.assert_close(h, method.encoder(view, generator).detach())
        for h_tilde, h in zip(maps[2:], maps[:2], strict=True):
            torch.testing.assert_close(h_tilde, power_iteration(h, 2, generator=generator))

    def test_only_the_roots_of_a_batch_count(self, kind: type, planted: Data) -> None:
        method = self.build(kind)
        everyone = [method.encoder(view) for view in method.views(planted, seeded())]
        planted.roots = 12
        expected = method.loss(*(method.head(h[:12]) for h in everyone))
        torch.testing.assert_close(method(planted, seeded()), expected)


def test_grace_is_nt_xent_on_projected_views(planted: Data) -> None:
    method = GRACE(8, hidden=8, projection=5, tau=0.7, intraview=False, edge_drop=(0.1, 0.3), feature_drop=(0.2, 0.5))
    generator = seeded(3)
    alpha, beta = random_views(planted, (0.1, 0.3), (0.2, 0.5), generator)
    z = [method.head(method.encoder(view)) for view in (alpha, beta)]
    torch.testing.assert_close(method(planted, seeded(3)), nt_xent(*z, tau=0.7, intraview=False))
    assert [layer.out_features for layer in method.head if hasattr(layer, "out_features")] == [5, 8]


def test_g_bt_is_barlow_twins_on_the_encoder_output(planted: Data) -> None:
    method = GBT(8, hidden=8, batch_norm=False, off_diagonal=0.2)
    alpha, beta = random_views(planted, method.edge_drop, method.feature_drop, seeded(3))
    expected = barlow_twins(method.encoder(alpha), method.encoder(beta), off_diagonal=0.2)
    torch.testing.assert_close(method(planted, seeded(3)), expected)


def test_grace_with_bfloat16_similarities(planted: Data) -> None:
    full, half = (GRACE(8, hidden=8, precision=precision) for precision in ("full", "bfloat16"))  # type: ignore[arg-type]
    half.load_state_dict(full.state_dict())
    losses = full(planted, seeded(3)).item(), half(planted, seeded(3)).item()
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=5e-3)


def test_grace_refuses_a_temperature_that_its_loss_cannot_take() -> None:
    with pytest.raises(InputError, match=r"at least 0\.0017"):
        GRACE(6, tau=0.001)
    with pytest.raises(InputError, match=r"below 0\.2"):
        GRACE(6, tau=0.05, precision="bfloat16")
