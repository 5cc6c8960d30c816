"""GRACE: its loss on projected views, and the temperatures and precisions that it takes."""

from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.augment import UniformDrop
from sfa.errors import InputError
from sfa.losses import nt_xent
from sfa.methods import GRACE
from sfa.nn import GCN
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, power_iteration
from tests.augment.views import random_views

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 64,
    "method.intraview": False,
    "training.lr": 2e-3,
    "training.epochs": 15,
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_nt_xent_on_projected_views(planted: Data, iterations: int | None) -> None:
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    augmentation = UniformDrop(edge_drop=(0.1, 0.3), feature_drop=(0.2, 0.5))
    method = GRACE(GCN(8, 8), augmentation, projection=5, tau=0.7, intraview=False, spectral=spectral)
    generator = seeded(3)
    maps = [method.encoder(view) for view in random_views(planted, (0.1, 0.3), (0.2, 0.5), generator)]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    z = [method.head(h) for h in maps]
    torch.testing.assert_close(method(planted, seeded(3)), nt_xent(*z, tau=0.7, intraview=False))
    assert [layer.out_features for layer in method.head if hasattr(layer, "out_features")] == [5, 8]


def test_similarities_in_bfloat16(planted: Data) -> None:
    full, half = (GRACE(GCN(8, 8), precision=precision) for precision in ("full", "bfloat16"))  # type: ignore[arg-type]
    half.load_state_dict(full.state_dict())
    losses = full(planted, seeded(3)), half(planted, seeded(3))
    for loss in losses:
        loss.backward()
    exact, rounded = (torch.cat([one.grad.flatten() for one in each.parameters()]) for each in (full, half))
    assert not torch.equal(exact, rounded)
    assert losses[1].item() == pytest.approx(losses[0].item(), rel=5e-3)


def test_a_temperature_that_the_loss_cannot_take_is_refused() -> None:
    with pytest.raises(InputError, match=r"at least 0\.0017"):
        GRACE(GCN(6), tau=0.001)
    with pytest.raises(InputError, match=r"below 0\.2"):
        GRACE(GCN(6), tau=0.05, precision="bfloat16")


def test_the_authors_settings() -> None:
    recipe = Recipe.parse({"method": "grace"})
    encoder, augmentation = recipe.encoder, recipe.augmentation
    assert isinstance(encoder, dict)
    assert isinstance(augmentation, dict)
    assert (encoder["name"], encoder["hidden"], encoder["layers"], encoder["widths"]) == ("gcn", 128, 2, "halving")
    assert (augmentation["edge_drop"], augmentation["feature_drop"]) == ((0.2, 0.4), (0.3, 0.4))
    assert (recipe.method["projection"], recipe.method["tau"], recipe.method["intraview"]) == (128, 0.4, True)
    assert (recipe.training.lr, recipe.training.weight_decay, recipe.training.epochs) == (5e-4, 1e-5, 200)
