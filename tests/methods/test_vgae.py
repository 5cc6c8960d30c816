"""VGAE: its loss against the dense formula, and what the spectral map sees; the rest is tested with GAE."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.methods import VGAE
from sfa.nn import GCN
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from tests.methods.auto_encoders import build, ones_of, seeded, take_all_zeros, weighted_cross_entropy

SHORT_RUN: dict[str, Any] = {"training.epochs": 50}


@pytest.mark.parametrize("spectral", [None, SpectralFeatureAugmentation(iterations=2)], ids=["none", "sfa"])
def test_the_loss_decodes_samples_and_keeps_near_the_prior(
    monkeypatch: pytest.MonkeyPatch, planted: Data, spectral: SpectralMap | None
) -> None:
    take_all_zeros(monkeypatch, planted)
    method, generator = build(VGAE, spectral), seeded(3)
    mu, log_sigma = method.encoder(planted).split(4, dim=1)
    if spectral is not None:
        mu = power_iteration(mu, 2, generator=generator)
    z = mu + log_sigma.exp() * torch.randn(60, 4, generator=generator)
    divergence = 0.5 * (mu**2 + log_sigma.exp() ** 2 - 1 - 2 * log_sigma).sum() / 60
    expected = weighted_cross_entropy(z, ones_of(planted)) + divergence / 60
    torch.testing.assert_close(method(planted, seeded(3)), expected)


def test_the_slot_holds_the_means_alone(planted: Data) -> None:
    seen: list[Tensor] = []

    class Recorder(SpectralMap):
        def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
            seen.append(h)
            return h

    method = build(VGAE, Recorder())
    method(planted, seeded())
    torch.testing.assert_close(*seen, method.encoder(planted)[:, :4])


def test_the_encoder_is_the_authors() -> None:
    """32 units, and 16 for the means and for the deviations, without an activation at the end."""
    encoder = Recipe.parse({"method": "vgae"}).build(1433).encoder
    assert [tuple(layer.weight.shape) for layer in encoder.convolutions] == [(1433, 32), (32, 32)]
    graph = Data(x=torch.randn(5, 1433, generator=seeded()), edge_index=torch.tensor([[0, 1], [1, 0]]))
    assert (encoder(graph) < 0).any()


def test_an_encoder_of_odd_width_is_refused() -> None:
    with pytest.raises(InputError, match="its width is even, not 5"):
        VGAE(GCN(8, 5))
