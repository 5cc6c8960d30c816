"""The paper's framework: a loss of one's own, an augmentation of one's own, and what is done with both."""

from __future__ import annotations

import copy
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

import sfa
from sfa import registry
from sfa.augment import Compose, DropEdges, ImageViews, UniformDrop
from sfa.errors import InputError
from sfa.estimators import NodeEmbedder
from sfa.methods import GRACE, FeatureMaps, GraphCL, Method, SimCLR, TwoViewMethod, available_methods
from sfa.nn import GCN, projection_head
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, power_iteration
from sfa.tasks import settings_of
from sfa.train import train
from tests.callbacks import on_epoch


class Align(TwoViewMethod):
    """Draw both views of a node together, and keep nodes apart (uniformity on the sphere)."""

    defaults: ClassVar = {"encoder": {"hidden": 16}, "training": {"epochs": 25, "lr": 0.01, "patience": None}}

    def __init__(self, encoder, augmentation=None, *, weight: float = 0.5, spectral=None):  # type: ignore[no-untyped-def]
        super().__init__(encoder, augmentation, spectral=spectral)
        self.head = projection_head(self.width, 8)
        self.weight = weight

    def loss(self, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
        u, v = (torch.nn.functional.normalize(z) for z in (z_alpha, z_beta))
        return (u - v).square().sum(1).mean() + self.weight * torch.pdist(u).square().mul(-2).exp().mean().log()


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def align(monkeypatch: pytest.MonkeyPatch) -> str:
    """The method by its name, which the registry forgets afterwards."""
    registry.registered("method")
    monkeypatch.setitem(registry._parts, "method", dict(registry._parts["method"]))
    sfa.register("method", "align", Align)
    return "align"


def small(**options: object) -> Align:
    torch.manual_seed(0)
    return Align(GCN(8, 12), UniformDrop((0.1, 0.3), (0.2, 0.5)), **options)


def test_the_loss_is_that_of_the_augmented_maps(planted: Data) -> None:
    """Put together by hand from the parts, with the same draws."""
    method = small(spectral=SpectralFeatureAugmentation(iterations=2))
    generator = seeded(5)
    maps = [method.encoder(view, generator) for view in method.augmentation(planted, generator)]
    augmented = [power_iteration(h, 2, generator=generator) for h in maps]
    expected = method.loss(*(method.head(h) for h in augmented))
    torch.testing.assert_close(method(planted, seeded(5)), expected)


def test_several_maps_are_applied_in_order(planted: Data) -> None:
    """Each of them to all maps of a step, before the next."""
    method = small(spectral=[SpectralFeatureAugmentation(iterations=3), SpectralFeatureAugmentation(iterations=1)])
    generator = seeded(5)
    maps = [method.encoder(view, generator) for view in method.augmentation(planted, generator)]
    for iterations in (3, 1):
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    torch.testing.assert_close(method(planted, seeded(5)), method.loss(*(method.head(h) for h in maps)))


def test_an_observer_sees_both_views(planted: Data) -> None:
    method = small(spectral=SpectralFeatureAugmentation(iterations=2))
    seen: list[FeatureMaps] = []
    method(planted, seeded(5), observe=seen.append)
    (maps,) = seen
    generator = seeded(5)
    for h, view in zip(maps[:2], method.augmentation(planted, generator), strict=True):
        torch.testing.assert_close(h, method.encoder(view, generator).detach())
    for h_tilde, h in zip(maps[2:], maps[:2], strict=True):
        torch.testing.assert_close(h_tilde, power_iteration(h, 2, generator=generator))


def test_only_the_seed_nodes_of_a_batch_count(planted: Data) -> None:
    method = small()
    everyone = [method.encoder(view) for view in method.augmentation(planted, seeded())]
    expected = method.loss(*(method.head(h[:12]) for h in everyone))
    planted.roots = 12
    torch.testing.assert_close(method(planted, seeded()), expected)


class TestALossOfOnesOwn:
    def test_is_trained_by_a_recipe(self, align: str, planted: Data) -> None:
        assert align in available_methods("node")
        recipe = Recipe.parse({"method": {"name": align, "weight": 0.8}, "spectral": "sfa"})
        assert recipe.method == {"name": align, "weight": 0.8}
        assert recipe.encoder == {**Recipe.parse({}).encoder, "hidden": 16}  # type: ignore[dict-item]
        assert recipe.augmentation == Recipe.parse({}).augmentation
        assert (recipe.training.epochs, recipe.training.lr) == (25, 0.01)
        method = recipe.build_for(planted)
        assert isinstance(method, Align)
        losses: list[float] = []
        watch = [on_epoch(lambda metrics: losses.append(metrics["loss"]))]
        train(method, recipe.prepare(planted), **recipe.training.arguments, device="cpu", callbacks=watch)
        assert losses[-1] < losses[0] - 0.1
        with pytest.raises(sfa.InputError, match="did you mean 'weight'"):
            Recipe.parse({"method": {"name": align, "wieght": 1}})

    @pytest.mark.parametrize("given", ["name", "class", "object"])
    def test_is_fitted_by_an_embedder(self, align: str, planted: Data, given: str) -> None:
        method = {"name": align, "class": Align, "object": small()}[given]
        embedder = NodeEmbedder(method, epochs=8, random_state=0, device="cpu").fit(planted)
        width = 12 if given == "object" else 16
        assert embedder.embedding_.shape == (60, width)
        assert np.array_equal(embedder.transform(planted), embedder.embedding_)
        losses = [metrics["loss"] for metrics in embedder.history_]
        assert losses[-1] < losses[0]

    def test_settings_are_the_levels_and_its_own(self) -> None:
        settings = settings_of(Align)
        assert settings["encoder"] == {"name": "gcn", "hidden": 16}
        assert settings["augmentation"] == {"name": "uniform"}
        assert settings["training"]["lr"] == 0.01


class TestAnAugmentationOfOnesOwn:
    @staticmethod
    def jitter(data: Data, generator: torch.Generator | None) -> tuple[Data, Data]:
        """The graph with noise on its features, twice."""
        views = (copy.copy(data), copy.copy(data))
        for view in views:
            view.x = data.x + 0.1 * torch.randn(data.x.shape, generator=generator)
        return views

    def test_a_function_makes_both_views(self, planted: Data) -> None:
        torch.manual_seed(0)
        method = GRACE(GCN(8, 6), self.jitter, projection=5)
        z = [method.head(method.encoder(view)) for view in self.jitter(planted, seeded(2))]
        torch.testing.assert_close(method(planted, seeded(2)), method.loss(*z))
        assert not torch.equal(method(planted, seeded(2)), method(planted, seeded(3)))

    def test_an_embedder_takes_it(self, planted: Data) -> None:
        options = {"epochs": 3, "hidden": 8, "random_state": 0, "device": "cpu"}
        own, plain = (NodeEmbedder("grace", augmentation=one, **options).fit(planted) for one in (self.jitter, None))
        assert own.embedding_.shape == (60, 8)
        assert own.history_[0]["loss"] != plain.history_[0]["loss"]

    def test_a_function_of_one_view_goes_into_compose(self, planted: Data) -> None:
        def halve(data: Data, generator: torch.Generator | None) -> Data:
            view = copy.copy(data)
            view.x = data.x / 2
            return view

        method = GRACE(GCN(8, 6), Compose([halve, DropEdges((0.0, 0.5))]))
        alpha, beta = method.augmentation(planted, seeded())
        assert torch.equal(alpha.x, planted.x / 2)
        assert torch.equal(beta.x, planted.x / 2)
        assert alpha.edge_weight is None
        assert 0 < (beta.edge_weight == 0).float().mean() < 1
        assert method(planted, seeded()).isfinite()


def test_methods_are_imported_from_one_place() -> None:
    for method, task in ((GRACE, "node"), (GraphCL, "graph"), (SimCLR, "image")):
        assert issubclass(method, Method)
        assert method.task == task
        assert method in available_methods(task).values()  # type: ignore[arg-type]


class TestAugmentationsThatDoNotFit:
    def test_a_function_of_one_view_is_told_from_one_of_two(self, planted: Data) -> None:
        method = GRACE(GCN(planted.num_features, 4), lambda data, generator: data)
        with pytest.raises(InputError, match=r"returns two views.* returned Data: .*Compose"):
            method(planted)

    def test_views_of_images_are_refused_at_once(self) -> None:
        with pytest.raises(InputError, match="set of images, not"):
            GRACE(GCN(5, 4), ImageViews())

    def test_what_cannot_be_called_is_refused(self) -> None:
        with pytest.raises(InputError, match="An augmentation is a function"):
            GRACE(GCN(5, 4), 0.3)  # type: ignore[arg-type]
