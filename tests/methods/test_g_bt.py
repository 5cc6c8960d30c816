"""G-BT: its loss on the encoder's output, and the authors' encoder."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment import UniformDrop
from sfa.losses import barlow_twins
from sfa.methods import GBT
from sfa.nn import GCN
from sfa.nn.layers import BatchNorm, PReLU
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, power_iteration
from tests.augment.dense_diffusion import dense_adjacency
from tests.augment.views import random_views

SHORT_RUN: dict[str, Any] = {"encoder.hidden": 64, "training.epochs": 50}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_barlow_twins_on_the_encoder_output(planted: Data, iterations: int | None) -> None:
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    method = GBT(GCN(8, 8), UniformDrop((0.1, 0.3), (0.2, 0.5)), off_diagonal=0.2, spectral=spectral)
    generator = seeded(3)
    maps = [method.encoder(view) for view in random_views(planted, (0.1, 0.3), (0.2, 0.5), generator)]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    torch.testing.assert_close(method(planted, seeded(3)), barlow_twins(*maps, off_diagonal=0.2))


def slow_encoder(encoder: GCN, matrix: Tensor, x: Tensor, training: bool) -> Tensor:
    """The authors' two layers, densely: convolution, batch normalization, PReLU; and a convolution alone."""
    (first, second), norm, slope = encoder.convolutions, encoder.norms[0], encoder.activations[0].weight
    h = matrix @ x @ first.weight + first.bias
    mean, variance = (h.mean(0), h.var(0, correction=0)) if training else (norm.running_mean, norm.running_var)
    h = (h - mean) / (variance + 1e-5).sqrt() * norm.weight + norm.bias
    return matrix @ torch.where(h > 0, h, slope * h) @ second.weight + second.bias


class TestTheDefaultEncoder:
    """``GCNConv – BatchNorm1d(momentum=0.01) – PReLU – GCNConv`` in the authors' code."""

    def build(self, hidden: int = 8) -> GBT:
        method = Recipe.parse({"method": "g-bt", "encoder": {"hidden": hidden}}).build(8)
        assert isinstance(method, GBT)
        with torch.no_grad():
            for weights in method.encoder.parameters():
                weights.add_(0.1 * torch.randn(weights.shape, generator=seeded()))
        return method

    def test_has_the_authors_layers(self) -> None:
        encoder = Recipe.parse({"method": "g-bt"}).build(8).encoder
        assert [tuple(layer.weight.shape) for layer in encoder.convolutions] == [(8, 512), (512, 256)]
        first, second = encoder.norms
        assert isinstance(first, BatchNorm)
        assert (first.num_features, first.momentum) == (512, 0.01)
        assert isinstance(second, nn.Identity)
        assert [type(activation) for activation in encoder.activations] == [PReLU, nn.Identity]
        assert len([part for part in encoder.modules() if isinstance(part, nn.BatchNorm1d | nn.PReLU)]) == 2

    @pytest.mark.parametrize("training", [True, False])
    def test_computes_what_the_layers_say(self, planted: Data, training: bool) -> None:
        encoder = self.build().encoder.double()
        planted.x = planted.x.double()
        matrix = dense_adjacency(planted)
        if not training:
            encoder(planted)  # so that the running statistics are not those of the beginning
        found = encoder.train(training)(planted)
        torch.testing.assert_close(found, slow_encoder(encoder, matrix, planted.x, training))
        assert (found < 0).any()
        if not training:
            torch.testing.assert_close(encoder.embed(planted), found.detach())

    def test_its_running_statistics_move_by_a_hundredth(self, planted: Data) -> None:
        encoder = self.build().encoder.double()
        planted.x = planted.x.double()
        h = dense_adjacency(planted) @ planted.x @ encoder.convolutions[0].weight + encoder.convolutions[0].bias
        encoder(planted)
        torch.testing.assert_close(encoder.norms[0].running_mean, 0.01 * h.mean(0).detach())
        torch.testing.assert_close(encoder.norms[0].running_var, 0.99 + 0.01 * h.var(0).detach())


def test_the_authors_settings() -> None:
    recipe = Recipe.parse({"method": "g-bt"})
    training = recipe.training
    assert (training.optimizer, training.epochs, training.warmup, training.cosine) == ("adamw", 1000, 100, True)
    assert recipe.method["off_diagonal"] is None
    old = Recipe.parse({"method": {"name": "g-bt", "hidden": 256}}).encoder
    assert isinstance(old, dict)
    assert (old["norm_momentum"], old["activate_last"]) == (0.1, True), "recipes of the old layout mean the old encoder"
