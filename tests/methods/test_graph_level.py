"""Barlow Twins and BGRL on graphs: their losses against the equations, their views, batches and settings."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa.augment import RandomChoice
from sfa.methods import GraphBGRL, GraphBT
from sfa.nn import GIN
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from sfa.train import train

SMALL: dict[str, Any] = {
    "method": {"name": "graph-bgrl", "prediction": 5},
    "encoder": {"hidden": 4, "layers": 2},
}
SHORT_RUN: dict[str, Any] = {"training.epochs": 5}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def ten(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:10])
    return batch


def make_bt(spectral: SpectralMap | None = None, **options: Any) -> GraphBT:
    torch.manual_seed(0)
    return GraphBT(GIN(4, 3, layers=2), spectral=spectral, **options)


def slow_loss(z_alpha: Tensor, z_beta: Tensor, off_diagonal: float) -> float:
    """Correlations of every column of one view with every column of the other, with unbiased deviations as in G-BT."""
    loss = 0.0
    for i, a in enumerate(z_alpha.double().T):
        for j, b in enumerate(z_beta.double().T):
            correlation = float(((a - a.mean()) * (b - b.mean())).sum() / len(a) / a.std() / b.std())
            loss += (1 - correlation) ** 2 if i == j else off_diagonal * correlation**2
    return loss


@pytest.mark.parametrize(("iterations", "off_diagonal"), [(None, None), (None, 0.3), (2, None)])
def test_the_loss_is_that_of_two_augmented_views(ten: Data, iterations: int | None, off_diagonal: float | None) -> None:
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    method = make_bt(spectral, off_diagonal=off_diagonal)
    generator = seeded(3)
    assert isinstance(method.augmentation, RandomChoice)
    views = [method.augmentation.view(ten, generator) for _ in range(2)]
    maps = [method.encoder(view).detach() for view in views]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    expected = slow_loss(*(method.head(h).detach() for h in maps), off_diagonal=off_diagonal or 1 / 6)
    assert method(ten, seeded(3)).item() == pytest.approx(expected, rel=1e-3)


def test_both_views_are_augmented_and_drawn_apart(ten: Data) -> None:
    """By default too: unlike in GraphCL, neither view is the graphs as they are."""
    views = make_bt().augmentation(ten, seeded())
    assert all(view.num_nodes < ten.num_nodes for view in views)
    alpha, beta = make_bt(augmentation=RandomChoice("attribute-mask", attribute_mask=0.5)).augmentation(ten, seeded())
    assert not torch.equal(alpha.x, beta.x)


def test_settings_of_barlow_twins() -> None:
    for recipe, augmentation in (
        (Recipe.parse({"method": "graph-bt"}), "random4"),
        (load_recipe("graph-bt", "dd"), "random2"),
    ):
        training, encoder, views = recipe.training, recipe.encoder, recipe.augmentation
        assert isinstance(encoder, dict)
        assert isinstance(views, dict)
        assert (training.epochs, training.lr, training.weight_decay, training.patience) == (20, 0.01, 0.0, None)
        assert (encoder["hidden"], encoder["layers"], views["kinds"]) == (32, 3, augmentation)
        assert (views["node_drop"], views["subgraph_keep"]) == (0.2, 0.8)


def make_bgrl(spectral: SpectralMap | None = None, **options: Any) -> GraphBGRL:
    """A small one whose target has gone other ways than the online encoder."""
    torch.manual_seed(0)
    method = GraphBGRL(GIN(4, 4, layers=2), **{"prediction": 5, **options}, spectral=spectral)
    with torch.no_grad():
        for phi in method.target.parameters():
            phi.add_(0.1 * torch.randn(phi.shape, generator=seeded()))
    return method


def cosine(one: Tensor, other: Tensor) -> float:
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_of_bgrl_is_the_papers(ten: Data, iterations: int | None) -> None:
    """Graph by graph, from the parts and with the same draws; with the spectral map on all four maps."""
    method = make_bgrl(None if iterations is None else SpectralFeatureAugmentation(iterations=iterations))
    generator = seeded(3)
    assert isinstance(method.augmentation, RandomChoice)
    views = [method.augmentation.view(ten, generator) for _ in range(2)]
    maps = [network(view).detach() for network in (method.encoder, method.target) for view in views]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    online_alpha, online_beta, target_alpha, target_beta = maps
    q_alpha, q_beta = (method.predictor(h).detach() for h in (online_alpha, online_beta))
    cosines = [cosine(q_alpha[g], target_beta[g]) + cosine(q_beta[g], target_alpha[g]) for g in range(10)]
    assert method(ten, seeded(3)).item() == pytest.approx(2 - sum(cosines) / 10, rel=1e-4)


def test_it_starts_as_a_copy_and_training_moves_both(molecules: Data) -> None:
    """In batches of 16, which batch normalization takes in both networks."""
    recipe = Recipe.parse(SMALL).updated({"training.epochs": 4, "sampler.batch_size": 16})
    method = recipe.build_for(molecules)
    assert isinstance(method, GraphBGRL)
    start = {name: value.clone() for name, value in method.target.state_dict().items()}
    assert all(torch.equal(value, start[name]) for name, value in method.encoder.state_dict().items())
    train(method, molecules, **recipe.training.arguments, sampler=recipe.make_sampler(), device="cpu")
    for name, phi in method.target.named_parameters():
        theta = method.encoder.get_parameter(name)
        assert not torch.equal(phi, start[name]), name
        assert (phi - start[name]).norm() < 0.3 * (theta - start[name]).norm(), name
    state, target_state = method.encoder.state_dict(), method.target.state_dict()
    counts = [name for name in state if name.endswith("num_batches_tracked")]
    assert counts
    assert all(int(state[name]) == int(target_state[name]) == 4 * 3 * 2 for name in counts)


def test_settings_of_bgrl() -> None:
    for recipe in (Recipe.parse({"method": "graph-bgrl"}), load_recipe("graph-bgrl", "proteins")):
        training, method, encoder, augmentation = recipe.training, recipe.method, recipe.encoder, recipe.augmentation
        assert isinstance(encoder, dict)
        assert isinstance(augmentation, dict)
        assert (training.epochs, training.lr, training.weight_decay, training.patience) == (20, 0.01, 0.0, None)
        assert (recipe.sampler["name"], recipe.sampler["batch_size"]) == ("graphs", 128)
        assert (encoder["hidden"], encoder["layers"], method["prediction"], method["momentum"]) == (32, 3, 512, 0.99)
        assert (augmentation["node_drop"], augmentation["subgraph_keep"]) == (0.2, 0.8)
