"""Projectors and predictors against the layers that were published, one by one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from sfa.nn.batch_norm import BatchNorm
from sfa.methods.barlow_twins import BarlowTwins
from sfa.methods.byol import BYOL
from sfa.nn.heads import mlp
from sfa.methods.simclr import SimCLR
from sfa.methods.simsiam import SimSiam


def parameters(*heads: nn.Module) -> int:
    return sum(weight.numel() for head in heads for weight in head.parameters())


def published() -> dict[str, tuple[nn.Sequential, nn.Sequential]]:
    """Each head, narrow, beside the layers of its paper written out."""
    return {
        "simclr": (mlp((5, 7, 3), batch_norm=False), nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))),
        "barlow-twins": (
            mlp((5, 7, 7, 3)),
            nn.Sequential(
                *(nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()),
                *(nn.Linear(7, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()),
                nn.Linear(7, 3),
            ),
        ),
        "simsiam": (
            mlp((5, 7, 7, 3), last_norm=True),
            nn.Sequential(
                *(nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()),
                *(nn.Linear(7, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()),
                *(nn.Linear(7, 3, bias=False), nn.BatchNorm1d(3, affine=False)),
            ),
        ),
        "predictor": (
            mlp((5, 7, 5)),
            nn.Sequential(*(nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7), nn.ReLU()), nn.Linear(7, 5)),
        ),
    }


@pytest.mark.parametrize("name", published())
def test_a_head_is_what_its_paper_says(name: str) -> None:
    torch.manual_seed(0)
    head, layers = published()[name]
    layers.load_state_dict(head.state_dict())
    x = torch.randn(4, 5, generator=torch.Generator().manual_seed(1))
    for training in (True, False):
        torch.testing.assert_close(head.train(training)(x), layers.train(training)(x), rtol=0, atol=0)


def test_every_normalisation_can_span_processes() -> None:
    for head, _ in published().values():
        norms = [part for part in head.modules() if isinstance(part, nn.BatchNorm1d)]
        assert all(isinstance(norm, BatchNorm) for norm in norms)


def test_the_last_normalisation_leaves_columns_of_mean_0_and_deviation_1() -> None:
    torch.manual_seed(0)
    z = mlp((5, 7, 3), last_norm=True)(torch.randn(50, 5))
    torch.testing.assert_close(z.mean(0), torch.zeros(3), rtol=0, atol=1e-6)
    torch.testing.assert_close(z.var(0, correction=0), torch.ones(3), rtol=1e-3, atol=0)


def test_the_published_sizes() -> None:
    """Of the heads on a ResNet-18, whose embeddings are 512 wide: weights, biases, scales and shifts by hand."""
    for method, expected in (
        (SimCLR, 512 * 2048 + 2048 + 2048 * 256 + 256),
        (BarlowTwins, 512 * 2048 + 2 * 2048 + 2048 * 2048 + 2 * 2048 + 2048 * 2048 + 2048),
        (SimSiam, 512 * 2048 + 2 * 2048 + 2048 * 2048 + 2 * 2048 + 2048 * 2048),
    ):
        built = method(3, encoder="resnet18", hidden=64)
        assert built.encoder.width == 512
        assert parameters(built.head) == expected
    assert parameters(SimSiam(3, hidden=2).predictor) == 2048 * 512 + 2 * 512 + 512 * 2048 + 2048
    byol = BYOL(3, encoder="resnet18", hidden=64)
    assert parameters(byol.projector) == parameters(byol.target_projector) == 512 * 4096 + 2 * 4096 + 4096 * 256 + 256
    assert parameters(byol.predictor) == 256 * 4096 + 2 * 4096 + 4096 * 256 + 256
