"""MERIT's loss is its paper's, on plain and on augmented feature maps; its target follows."""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment import Diffusion
from sfa.augment.node import random_view
from sfa.methods import MERIT
from sfa.nn import GCN
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from tests.augment.dense_diffusion import dense_adjacency, dense_encoder, dense_pagerank

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 64,
    "method.head_hidden": 128,
    "method.head_width": 64,
    "augmentation.tolerance": 1e-3,
    "sampler": {"name": "random-walks", "batch_size": 256},
    "training.lr": 5e-3,
    "training.epochs": 1,
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(spectral: SpectralMap | None = None, beta: float = 0.7) -> MERIT:
    """With a target network that is no longer the online one."""
    torch.manual_seed(0)
    views = Diffusion(alpha=0.05, tolerance=1e-8, edge_drop=0.2, feature_drop=(0.2, 0.4))
    encoder = GCN(8, 6, layers=1, activation="prelu")
    method = MERIT(encoder, views, head_hidden=9, head_width=5, beta=beta, spectral=spectral)
    with torch.no_grad():
        for parameter in (*method.target_encoder.parameters(), *method.target_projector.parameters()):
            parameter.add_(0.1 * torch.randn(parameter.shape))
    return method.double()


def dense_head(head: nn.Module, h: Tensor) -> Tensor:
    first, norm, activation, last = head
    out = h @ first.weight.T + first.bias
    out = (out - out.mean(0)) / (out.var(0, unbiased=False) + norm.eps).sqrt() * norm.weight + norm.bias
    return torch.where(out > 0, out, activation.weight * out) @ last.weight.T + last.bias


@torch.no_grad()
def slow_loss(p: list[Tensor], z: list[Tensor], beta: float) -> float:
    """Eqs. 3 to 8 of the paper, anchor by anchor."""

    def e(a: Tensor, b: Tensor) -> Tensor:
        return (a @ b / (a.norm() * b.norm())).exp()

    n, cross_view, cross_network = len(p[0]), torch.zeros(()).double(), torch.zeros(()).double()
    for own, other, target in ((p[0], p[1], z[1]), (p[1], p[0], z[0])):
        for i in range(n):
            positive = e(own[i], other[i])
            inter = torch.stack([e(own[i], other[j]) for j in range(n)]).sum()
            intra = positive + torch.stack([e(own[i], own[j]) for j in range(n) if j != i]).sum()
            cross_view -= (positive / inter).log() + (positive / intra).log()
            network = torch.stack([e(own[i], target[j]) for j in range(n)]).sum()
            cross_network -= (e(own[i], target[i]) / network).log()
    return float(beta * cross_view / (2 * n) + (1 - beta) * cross_network / (2 * n))


@pytest.mark.parametrize("iterations", [None, 2])
@pytest.mark.parametrize("beta", [0.0, 0.7, 1.0])
def test_the_loss_is_the_papers_on_the_maps_of_the_slot(planted: Data, beta: float, iterations: int | None) -> None:
    planted.x = planted.x.double()
    method = build(None if iterations is None else SpectralFeatureAugmentation(iterations=iterations), beta)
    generator = seeded(3)
    alpha, beta_view = (random_view(planted, *rates, generator) for rates in ((0.2, 0.2), (0.0, 0.4)))
    sources = (
        (dense_adjacency(alpha), planted.x * alpha.feature_mask),
        (dense_pagerank(planted, 0.05), planted.x * beta_view.feature_mask),
    )
    encoders = (method.encoder, method.target_encoder)
    maps = [dense_encoder(encoder, matrix, x) for encoder in encoders for matrix, x in sources]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    p = [dense_head(method.predictor, dense_head(method.projector, h)) for h in maps[:2]]
    z = [dense_head(method.target_projector, h) for h in maps[2:]]
    assert method(planted, seeded(3)).item() == pytest.approx(slow_loss(p, z, beta), rel=1e-6)


def test_sfa_changes_the_loss_and_not_the_embeddings(planted: Data) -> None:
    planted.x = planted.x.double()
    plain, augmented = build(), build(SpectralFeatureAugmentation())
    assert plain(planted, seeded()).item() != pytest.approx(augmented(planted, seeded()).item(), rel=1e-4)
    assert torch.equal(plain.embed(planted), augmented.embed(planted))
    matrices = dense_adjacency(planted), dense_pagerank(planted, 0.05)
    expected = sum(dense_encoder(plain.encoder, matrix, planted.x) for matrix in matrices)
    torch.testing.assert_close(plain.embed(planted), expected.detach(), rtol=1e-5, atol=1e-6)


def test_the_target_follows_and_learns_nothing_itself(planted: Data) -> None:
    planted.x = planted.x.double()
    method = build()
    method(planted, seeded()).backward()
    targets = [*method.target_encoder.parameters(), *method.target_projector.parameters()]
    online = [*method.encoder.parameters(), *method.projector.parameters()]
    assert all(phi.grad is None and not phi.requires_grad for phi in targets)
    expected = [0.8 * phi + 0.2 * theta for phi, theta in zip(targets, online, strict=True)]
    before = [theta.clone() for theta in online]
    method.after_step(0.01)
    for phi, value in zip(targets, expected, strict=True):
        torch.testing.assert_close(phi, value)
    assert all(torch.equal(theta, was) for theta, was in zip(online, before, strict=True))


def test_the_authors_settings() -> None:
    recipe = Recipe.parse({"method": "merit"})
    method, training, encoder, augmentation = recipe.method, recipe.training, recipe.encoder, recipe.augmentation
    assert isinstance(encoder, dict)
    assert isinstance(augmentation, dict)
    assert (training.lr, training.weight_decay, training.patience, training.epochs) == (3e-4, 0, None, 600)
    assert (encoder["hidden"], method["head_hidden"], method["head_width"]) == (512, 4096, 512)
    assert (augmentation["alpha"], method["beta"], method["momentum"]) == (0.05, 0.5, 0.8)
    assert (augmentation["edge_drop"], tuple(augmentation["feature_drop"])) == (0.2, (0.5, 0.5))
