"""CCA-SSG: its loss on the encoder's output, and an encoder without a last activation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.augment.node import random_views
from sfa.methods import CCASSG
from sfa.nn import GCN
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, power_iteration

SHORT_RUN: dict[str, Any] = {"encoder.hidden": 64, "training.lr": 5e-3, "training.epochs": 10}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(**options: Any) -> CCASSG:
    return CCASSG(GCN(8, 6, widths="constant", activate_last=False), **options)


@pytest.mark.parametrize("spectral", [False, True])
def test_the_loss_is_the_papers(spectral: bool, planted: Data) -> None:
    """‖Z̃_A − Z̃_B‖² + λ (‖Z̃_Aᵀ Z̃_A − I‖² + ‖Z̃_Bᵀ Z̃_B − I‖²) of the encoder's output, or of SFA's."""
    method = make(decorrelation=0.05, spectral=SpectralFeatureAugmentation() if spectral else None)
    generator = seeded(3)
    maps = [method.encoder(view) for view in random_views(planted, (0.4, 0.4), (0.1, 0.1), generator)]
    if spectral:
        maps = [power_iteration(h, 1, generator=generator) for h in maps]
    a, b = (h.detach().double().numpy() for h in maps)
    a, b = ((z - z.mean(0)) / (z.std(0, ddof=1) * np.sqrt(len(z))) for z in (a, b))
    decorrelation = sum(np.linalg.norm(z.T @ z - np.eye(6)) ** 2 for z in (a, b))
    expected = np.linalg.norm(a - b) ** 2 + 0.05 * decorrelation
    assert method(planted, seeded(3)).item() == pytest.approx(expected, rel=1e-4)


def test_the_last_layer_of_the_default_encoder_is_linear(planted: Data) -> None:
    """Twice the last layer's weights give twice the embeddings, below zero too; the first layer has an activation."""
    method = Recipe.parse({"method": "cca-ssg", "encoder": {"hidden": 6}}).build(8)
    first, last = method.encoder.convolutions
    z = method.embed(planted)
    assert (z < 0).any()
    with torch.no_grad():
        last.weight *= -2
        last.bias *= -2
    torch.testing.assert_close(method.embed(planted), -2 * z)
    with torch.no_grad():
        first.weight *= -1
        first.bias *= -1
    assert not torch.allclose(method.embed(planted), 2 * z, atol=1e-3)


def test_sfa_changes_the_loss_and_not_the_embeddings(planted: Data) -> None:
    plain, augmented = make(), make(spectral=SpectralFeatureAugmentation())
    augmented.load_state_dict(plain.state_dict())
    assert not torch.isclose(plain(planted, seeded(1)), augmented(planted, seeded(1)))
    assert torch.equal(plain.embed(planted), augmented.embed(planted))


def test_the_authors_settings() -> None:
    recipe = Recipe.parse({"method": "cca-ssg"})
    encoder, augmentation, training = recipe.encoder, recipe.augmentation, recipe.training
    assert isinstance(encoder, dict)
    assert isinstance(augmentation, dict)
    assert (encoder["hidden"], encoder["layers"], encoder["widths"]) == (512, 2, "constant")
    assert (augmentation["edge_drop"], augmentation["feature_drop"]) == ((0.4, 0.4), (0.1, 0.1))
    assert (training.lr, training.epochs, training.weight_decay, recipe.method["decorrelation"]) == (1e-3, 50, 0, 2e-3)
