"""Augmentations as parts: composed, called twice, shown, and given what they cannot take."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.augment import (
    Augmentation,
    Compose,
    Diffusion,
    DropEdges,
    Identity,
    ImageViews,
    MaskFeatures,
    RandomChoice,
    ShuffleFeatures,
    UniformDrop,
)
from sfa.augment.base import as_augmentation
from sfa.errors import InputError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def assert_same_views(one: tuple[Data, Data], other: tuple[Data, Data]) -> None:
    for ours, theirs in zip(one, other, strict=True):
        assert ours.keys() == theirs.keys()
        assert torch.equal(ours.edge_weight, theirs.edge_weight)
        assert torch.equal(ours.feature_mask, theirs.feature_mask)


@pytest.mark.parametrize("directed", [False, True])
def test_a_mask_and_a_removal_are_the_uniform_drop_bit_for_bit(planted: Data, directed: bool) -> None:
    """Over several steps with one generator, so that both draw as many numbers in the same order."""
    composed = Compose([MaskFeatures((0.3, 0.5)), DropEdges((0.2, 0.4), directed=directed)])
    uniform = UniformDrop((0.2, 0.4), (0.3, 0.5), directed=directed)
    ours, theirs = seeded(), seeded()
    for _ in range(3):
        assert_same_views(composed(planted, ours), uniform(planted, theirs))
    assert torch.equal(ours.get_state(), theirs.get_state())


def test_the_order_is_that_of_the_list(planted: Data) -> None:
    generator = seeded()
    view = Compose([DropEdges(0.4), MaskFeatures(0.5)]).view(planted, generator)
    again = seeded()
    expected = MaskFeatures(0.5).view(DropEdges(0.4).view(planted, again), again)
    assert torch.equal(view.edge_weight, expected.edge_weight)
    assert torch.equal(view.feature_mask, expected.feature_mask)
    assert torch.equal(generator.get_state(), again.get_state())


def test_plain_functions_treat_both_views_alike(planted: Data) -> None:
    calls: list[torch.Generator | None] = []

    def doubled(data: Data, generator: torch.Generator | None) -> Data:
        calls.append(generator)
        view = data.clone()
        view.x = 2 * data.x
        return view

    generator = seeded()
    alpha, beta = Compose([doubled, DropEdges((0.0, 1.0)), doubled])(planted, generator)
    for view in (alpha, beta):
        assert torch.equal(view.x, 4 * planted.x)
    assert alpha.edge_weight is None
    assert not beta.edge_weight.any()
    assert calls == [generator] * 4


def test_a_composition_of_compositions_and_of_nothing(planted: Data) -> None:
    inner = Compose([MaskFeatures(0.3), Compose([DropEdges((0.2, 0.4))])])
    assert_same_views(inner(planted, seeded()), UniformDrop((0.2, 0.4), (0.3, 0.3))(planted, seeded()))
    assert all(view is planted for view in Compose([])(planted))


def test_what_cannot_be_called_is_refused() -> None:
    with pytest.raises(InputError) as error:
        Compose([Identity(), "uniform"])  # type: ignore[list-item]
    assert str(error.value) == "Compose takes augmentations, or functions of data and generator, not 'uniform'."


def test_a_view_of_a_view_adds_up(planted: Data) -> None:
    """What is gone stays gone, and as much again of the rest goes."""
    planted.edge_weight = 1 + (planted.edge_index.sum(0) % 3).float()
    generator = seeded()
    once = UniformDrop((0.4, 0.4), (0.4, 0.4)).view(planted, generator)
    kept = UniformDrop((0.0, 0.0), (0.0, 0.0)).view(once, generator)
    assert torch.equal(kept.edge_weight, once.edge_weight)
    assert torch.equal(kept.feature_mask, once.feature_mask)
    more = 0
    for directed in (False, True):
        for _ in range(20):
            twice = UniformDrop((0.4, 0.4), (0.4, 0.4), directed=directed).view(once, generator)
            assert not (twice.feature_mask & ~once.feature_mask).any()
            left = twice.edge_weight > 0
            assert not (left & (once.edge_weight == 0)).any()
            assert torch.equal(twice.edge_weight[left], planted.edge_weight[left])
            more += int((once.edge_weight > 0).sum() - left.sum())
    assert more / (40 * int((once.edge_weight > 0).sum())) == pytest.approx(0.4, abs=0.03)
    assert bool(twice.directed)
    assert bool(DropEdges(0.2).view(twice, generator).directed), "an undirected removal does not make it undirected"
    assert "directed" not in once


@pytest.mark.parametrize("data", [Data(x=torch.ones(3, 2)), torch.rand(2, 3, 4, 4)], ids=["graph", "images"])
def test_the_identity_leaves_everything_as_it_is(data: Any) -> None:
    generator = seeded()
    alpha, beta = Identity()(data, generator)
    assert alpha is data
    assert beta is data
    assert torch.equal(generator.get_state(), seeded().get_state())


def test_calling_makes_alpha_first_and_then_beta(planted: Data) -> None:
    augmentation = DropEdges((0.2, 0.6))
    alpha, beta = augmentation(planted, seeded())
    generator = seeded()
    assert torch.equal(augmentation.view(planted, generator, 0).edge_weight, alpha.edge_weight)
    assert torch.equal(augmentation.view(planted, generator, 1).edge_weight, beta.edge_weight)


def test_the_first_view_of_an_augmentation_and_of_a_function(planted: Data) -> None:
    augmentation = DropEdges((0.3, 0.6))
    alpha = augmentation(planted, seeded())[0]
    assert torch.equal(as_augmentation(augmentation, "node").view(planted, seeded()).edge_weight, alpha.edge_weight)
    assert as_augmentation(lambda data, generator: (data, None), "node").view(planted) is planted


def test_an_augmentation_without_a_view_says_so() -> None:
    with pytest.raises(NotImplementedError):
        Augmentation()(Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]])))


class TestRates:
    def test_one_number_is_that_of_both_views(self) -> None:
        assert DropEdges(0.3).rate == DropEdges((0.3, 0.3)).rate == (0.3, 0.3)
        assert MaskFeatures(1).rate == (1.0, 1.0)
        assert MaskFeatures([0, 0.5]).rate == (0.0, 0.5)  # type: ignore[arg-type]
        assert UniformDrop(0.1, (0.2, 0.3)).edge_drop == (0.1, 0.1)  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        "rate", [-0.1, 1.5, math.nan, (0.1, 2.0), (0.1,), (0.1, 0.2, 0.3), [], "0.3", None, True, (0.1, "0.2")], ids=str
    )
    @pytest.mark.parametrize(
        ("name", "build"),
        [
            ("rate", DropEdges),
            ("rate", MaskFeatures),
            ("edge_drop", lambda rate: UniformDrop(edge_drop=rate)),
            ("feature_drop", lambda rate: UniformDrop(feature_drop=rate)),
            ("feature_drop", lambda rate: Diffusion(feature_drop=rate)),
        ],
    )
    def test_bad_ones_give_one_sentence(self, rate: Any, name: str, build: Any) -> None:
        with pytest.raises(InputError) as error:
            build(rate)
        assert str(error.value) == f"{name} is a probability from 0 to 1, or one for each view, not {rate!r}."

    @pytest.mark.parametrize("rate", [-0.1, 1.5, math.nan, (0.1, 0.2), "0.3", None])
    def test_a_diffusion_has_edges_to_drop_in_one_view_alone(self, rate: Any) -> None:
        with pytest.raises(InputError, match="number, 0 or more"):
            Diffusion(edge_drop=rate)


@pytest.mark.parametrize(
    ("augmentation", "text"),
    [
        (DropEdges((0.2, 0.4), directed=True), "DropEdges(rate=(0.2, 0.4), directed=True)"),
        (MaskFeatures(0.3), "MaskFeatures(rate=(0.3, 0.3))"),
        (ShuffleFeatures(), "ShuffleFeatures()"),
        (Identity(), "Identity()"),
        (ImageViews("byol"), "ImageViews(strength='byol')"),
        (Compose([Identity()]), "Compose(transforms=[Identity()])"),
        (
            RandomChoice("random2", 0.3, both_views=False),
            "RandomChoice(kinds='random2', node_drop=0.3, edge_drop=0.1, edge_add=0.0, attribute_mask=0.1, "
            "subgraph_keep=0.2, both_views=False)",
        ),
    ],
)
def test_they_are_shown_as_they_are_written(augmentation: Augmentation, text: str) -> None:
    assert repr(augmentation) == text
    names = {one.__name__: one for one in (Compose, DropEdges, Identity, ImageViews, MaskFeatures, RandomChoice)}
    assert repr(eval(text, names | {"ShuffleFeatures": ShuffleFeatures})) == text
