"""CCA-SSG: its loss on the encoder's output, and an encoder without a last activation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from sfa.graph import random_views
from sfa.methods import CCASSG
from sfa.spectral import SpectralFeatureAugmentation, power_iteration


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("spectral", [False, True])
def test_the_loss_is_the_papers(spectral: bool, planted: Data) -> None:
    """‖Z̃_A − Z̃_B‖² + λ (‖Z̃_Aᵀ Z̃_A − I‖² + ‖Z̃_Bᵀ Z̃_B − I‖²) of the encoder's output, or of SFA's."""
    method = CCASSG(8, hidden=6, decorrelation=0.05, spectral=SpectralFeatureAugmentation() if spectral else None)
    generator = seeded(3)
    maps = [method.encoder(view) for view in random_views(planted, (0.4, 0.4), (0.1, 0.1), generator)]
    if spectral:
        maps = [power_iteration(h, 1, generator=generator) for h in maps]
    a, b = (h.detach().double().numpy() for h in maps)
    a, b = ((z - z.mean(0)) / (z.std(0, ddof=1) * np.sqrt(len(z))) for z in (a, b))
    decorrelation = sum(np.linalg.norm(z.T @ z - np.eye(6)) ** 2 for z in (a, b))
    expected = np.linalg.norm(a - b) ** 2 + 0.05 * decorrelation
    assert method(planted, seeded(3)).item() == pytest.approx(expected, rel=1e-4)


def test_the_last_layer_is_linear(planted: Data) -> None:
    """Twice the last layer's weights give twice the embeddings, below zero too; the first layer has an activation."""
    method = CCASSG(8, hidden=6)
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
    plain, augmented = CCASSG(8, hidden=6), CCASSG(8, hidden=6, spectral=SpectralFeatureAugmentation())
    augmented.load_state_dict(plain.state_dict())
    assert not torch.isclose(plain(planted, seeded(1)), augmented(planted, seeded(1)))
    assert torch.equal(plain.embed(planted), augmented.embed(planted))
