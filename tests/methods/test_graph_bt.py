"""Barlow Twins on graphs: its loss against the equation, its views and its settings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa.augment import RandomChoice
from sfa.methods import GraphBT
from sfa.nn import GIN
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration

SHORT_RUN: dict[str, Any] = {"training.epochs": 5}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None, **options: Any) -> GraphBT:
    torch.manual_seed(0)
    return GraphBT(GIN(4, 3, layers=2), spectral=spectral, **options)


@pytest.fixture
def ten(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:10])
    return batch


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
    method = make(spectral, off_diagonal=off_diagonal)
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
    views = make().augmentation(ten, seeded())
    assert all(view.num_nodes < ten.num_nodes for view in views)
    alpha, beta = make(augmentation=RandomChoice("attribute-mask", attribute_mask=0.5)).augmentation(ten, seeded())
    assert not torch.equal(alpha.x, beta.x)


def test_settings() -> None:
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
