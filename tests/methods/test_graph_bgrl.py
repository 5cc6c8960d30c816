"""BGRL on graphs: its loss against the paper's equation, its batches and its settings; the rest is BGRL's own."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa.augment import RandomChoice
from sfa.methods import GraphBGRL
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


def make(spectral: SpectralMap | None = None, **options: Any) -> GraphBGRL:
    """A small one whose target has gone other ways than the online encoder."""
    torch.manual_seed(0)
    method = GraphBGRL(GIN(4, 4, layers=2), **{"prediction": 5, **options}, spectral=spectral)
    with torch.no_grad():
        for phi in method.target.parameters():
            phi.add_(0.1 * torch.randn(phi.shape, generator=seeded()))
    return method


@pytest.fixture
def ten(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:10])
    return batch


def cosine(one: Tensor, other: Tensor) -> float:
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_papers(ten: Data, iterations: int | None) -> None:
    """Graph by graph, from the parts and with the same draws; with the spectral map on all four maps."""
    method = make(None if iterations is None else SpectralFeatureAugmentation(iterations=iterations))
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
    """In batches of 16, which batch normalisation takes in both networks."""
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


def test_settings() -> None:
    for recipe in (Recipe.parse({"method": "graph-bgrl"}), load_recipe("graph-bgrl", "proteins")):
        training, method, encoder, augmentation = recipe.training, recipe.method, recipe.encoder, recipe.augmentation
        assert isinstance(encoder, dict)
        assert isinstance(augmentation, dict)
        assert (training.epochs, training.lr, training.weight_decay, training.patience) == (20, 0.01, 0.0, None)
        assert (recipe.sampler["name"], recipe.sampler["batch_size"]) == ("graphs", 128)
        assert (encoder["hidden"], encoder["layers"], method["prediction"], method["momentum"]) == (32, 3, 512, 0.99)
        assert (augmentation["node_drop"], augmentation["subgraph_keep"]) == (0.2, 0.8)
