"""SGRL: its loss written out by hand, its target's life, its embeddings and settings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.methods import SGRL
from sfa.nn import GCN
from sfa.nn.sparse import normalized_adjacency
from sfa.run import Recipe, load_recipe
from sfa.sampling import Neighbors
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from sfa.train import train

SHORT_RUN: dict[str, Any] = {"encoder.hidden": 64, "training.epochs": 30, "training.lr": 5e-3}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None, **options: Any) -> SGRL:
    """A small one whose target has gone other ways than the online encoder."""
    torch.manual_seed(0)
    method = SGRL(GCN(8, 6, layers=1, activation="prelu"), **{"prediction": 5, **options}, spectral=spectral)
    with torch.no_grad():
        for phi in method.target.parameters():
            phi.add_(0.1 * torch.randn(phi.shape, generator=seeded()))
    return method


def powers(graph: Data, hops: int) -> Tensor:
    """``I + Â^k``."""
    adjacency = normalized_adjacency(graph).matrix.to_dense()
    return torch.eye(len(adjacency)) + torch.linalg.matrix_power(adjacency, hops)


@pytest.mark.parametrize("iterations", [None, 2])
@pytest.mark.parametrize("hops", [1, 2])
def test_the_loss_is_the_papers(planted: Data, hops: int, iterations: int | None) -> None:
    """Both equations from the parts, node by node, with the spectral map on both maps."""
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    method = make(spectral, hops=hops)
    h, t = powers(planted, hops) @ method.encoder(planted), method.target(planted)
    if iterations is not None:
        generator = seeded(3)
        h, t = (power_iteration(one, iterations, generator=generator) for one in (h, t))
    q, t = (nn.functional.normalize(one).detach() for one in (method.predictor(h), t))
    alignment = -sum(float(q[i] @ t[i]) for i in range(60)) / 60
    scatter = -sum(float((t[i] - t.mean(0)).square().sum()) for i in range(60)) / 60
    assert method(planted, seeded(3)).item() == pytest.approx(1 + alignment + scatter, rel=1e-5)


def test_each_encoder_learns_from_its_own_loss(planted: Data) -> None:
    """The target scatters its own embeddings and is not told where predictions point."""
    method = make()
    method(planted, seeded()).backward()
    t = nn.functional.normalize(method.target(planted))
    scatter = -(t - t.mean(0)).square().sum(1).mean()
    expected = torch.autograd.grad(scatter, list(method.target.parameters()))
    found = [phi.grad for phi in method.target.parameters()]
    torch.testing.assert_close(found, list(expected), rtol=1e-4, atol=1e-6)
    q = nn.functional.normalize(method.predictor(powers(planted, 1) @ method.encoder(planted)))
    (expected_grad,) = torch.autograd.grad(-(q * t.detach()).sum(1).mean(), [method.encoder.convolutions[0].weight])
    torch.testing.assert_close(method.encoder.convolutions[0].weight.grad, expected_grad, rtol=1e-4, atol=1e-6)


def test_the_target_starts_as_a_copy_and_follows_with_a_constant_momentum(planted: Data) -> None:
    method = make(momentum=0.9)
    phi, theta = ([w.detach().clone() for w in one.parameters()] for one in (method.target, method.encoder))
    for done in (0.25, 1.0):
        method.after_step(done)
        phi = [0.9 * p + 0.1 * t for p, t in zip(phi, theta, strict=True)]
        torch.testing.assert_close([p.detach() for p in method.target.parameters()], phi)
    method.setup(planted)
    for name, value in method.target.state_dict().items():
        torch.testing.assert_close(value, method.encoder.state_dict()[name], rtol=0, atol=0)


@pytest.mark.parametrize("hops", [0, 1, 3])
def test_embeddings_are_the_encoders_and_their_propagation(planted: Data, hops: int) -> None:
    method = make(SpectralFeatureAugmentation(), hops=hops)
    torch.testing.assert_close(method.embed(planted), (powers(planted, hops) @ method.encoder(planted)).detach())


def test_a_sampled_batch_counts_its_seeds(planted: Data) -> None:
    maps: list[Any] = []
    batch = Neighbors(planted, batch_size=16, fanouts=(5, 5)).batch(torch.arange(5, 21), seeded())
    make()(batch, seeded(), observe=maps.append).backward()
    assert maps[0].h_alpha.shape == maps[0].h_beta.shape == (16, 6)


def test_training_scatters_and_aligns(planted: Data) -> None:
    recipe = Recipe.parse({"method": "sgrl", "spectral": "none"}).updated({**SHORT_RUN, "method.prediction": 64})
    method, graph = recipe.build(8), recipe.prepare(planted)
    assert isinstance(method, SGRL)
    before = method.eval()(graph, seeded()).item()
    train(method, graph, **recipe.training.arguments, device="cpu")
    with torch.no_grad():
        t = nn.functional.normalize(method.target(graph))
        q = nn.functional.normalize(method.predictor(method.embed(graph)))
    assert method.eval()(graph, seeded()).item() < before - 0.5
    assert t.mean(0).norm() < 0.5, "directions of the target lie around their mean"
    assert (q * t).sum(1).mean() > 0.5, "predictions point where the target's embeddings do"


def test_the_authors_settings() -> None:
    for dataset, epochs, rate in (("photo", 700, 1e-3), ("computers", 700, 1e-3), ("wikics", 500, 1e-5)):
        recipe = load_recipe("sgrl", dataset)
        assert (recipe.training.epochs, recipe.training.lr, recipe.training.weight_decay) == (epochs, rate, 0)
        assert isinstance(recipe.encoder, dict)
        assert (recipe.encoder["hidden"], recipe.encoder["layers"], recipe.method["momentum"]) == (1024, 1, 0.99)
