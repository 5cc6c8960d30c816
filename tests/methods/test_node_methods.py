"""What every node-level method must do, and what each one's loss is."""

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import to_undirected

from sfa.data import load
from sfa.errors import InputError
from sfa.evaluation import Protocol
from sfa.graph import random_views
from sfa.graph.features import normalise_features
from sfa.losses import barlow_twins, nt_xent
from sfa.methods import METHODS, ContrastiveMethod, resolve
from sfa.methods.base import FeatureMaps
from sfa.methods.node import GBT, GRACE
from sfa.recipes import Recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from sfa.training import train


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.fixture
def graph() -> Data:
    edge_index = to_undirected(torch.randint(0, 30, (2, 80), generator=seeded()))
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    return Data(x=torch.rand(30, 6, generator=seeded()), edge_index=edge_index)


class Recorder(SpectralMap):
    """A spectral map that doubles what it sees and remembers it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Tensor] = []

    def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
        self.seen.append(h)
        return 2 * h


@pytest.mark.parametrize("name", METHODS)
class TestEveryMethod:
    def build(self, name: str, spectral: SpectralMap | None = None) -> ContrastiveMethod:
        torch.manual_seed(0)
        method: type = resolve(name)
        built: ContrastiveMethod = method(6, hidden=8, spectral=spectral)
        return built

    def test_the_spectral_map_sees_the_feature_maps_of_both_views_in_training_only(
        self, name: str, graph: Data
    ) -> None:
        recorder = Recorder()
        method = self.build(name, recorder)
        method(graph, seeded())
        assert [h.shape for h in recorder.seen] == [(30, 8), (30, 8)]
        assert not torch.equal(*recorder.seen)
        method.embed(graph)
        assert len(recorder.seen) == 2

    def test_the_loss_is_that_of_the_augmented_maps(self, name: str, graph: Data) -> None:
        """Put together by hand from the parts, with the same draws."""
        method = self.build(name, SpectralFeatureAugmentation(iterations=2))
        generator = seeded(5)
        views = method.views(graph, generator)
        maps = [method.encoder(view, generator) for view in views]
        augmented = [power_iteration(h, 2, generator=generator) for h in maps]
        expected = method.loss(*(method.head(h) for h in augmented))
        torch.testing.assert_close(method(graph, seeded(5)), expected)

    def test_an_observer_sees_the_maps_of_the_step_and_changes_nothing(self, name: str, graph: Data) -> None:
        method = self.build(name, SpectralFeatureAugmentation(iterations=2))
        seen: list[FeatureMaps] = []
        loss = method(graph, seeded(5), observe=seen.append)
        assert torch.equal(loss, method(graph, seeded(5)))
        (maps,) = seen
        generator = seeded(5)
        views = method.views(graph, generator)
        for h, view in zip(maps[:2], views, strict=True):
            torch.testing.assert_close(h, method.encoder(view, generator).detach())
        for h_tilde, h in zip(maps[2:], maps[:2], strict=True):
            torch.testing.assert_close(h_tilde, power_iteration(h, 2, generator=generator))
        assert not any(h.requires_grad for h in maps)
        loss.backward()
        assert all(parameter.grad is not None for parameter in method.parameters())

    def test_embeddings_are_plain_and_leave_the_mode_as_it_was(self, name: str, graph: Data) -> None:
        method = self.build(name, SpectralFeatureAugmentation())
        expected = method.eval().encoder(graph)
        for mode in (True, False):
            method.train(mode)
            torch.testing.assert_close(method.embed(graph), expected)
            assert method.training is mode
        assert not method.embed(graph).requires_grad

    def test_only_the_roots_of_a_batch_count(self, name: str, graph: Data) -> None:
        """The other nodes send messages, and are seen neither by the spectral map nor by the loss."""
        recorder = Recorder()
        method = self.build(name, recorder)
        everyone = [method.encoder(view) for view in method.views(graph, seeded())]
        graph.roots = 12
        loss = method(graph, seeded())
        for h, expected in zip(recorder.seen, everyone, strict=True):
            torch.testing.assert_close(h, expected[:12])
        torch.testing.assert_close(loss, method.loss(*(method.head(2 * h[:12]) for h in everyone)))

    def test_every_parameter_learns(self, name: str, graph: Data) -> None:
        method = self.build(name, SpectralFeatureAugmentation())
        method(graph, seeded()).backward()
        for key, parameter in method.named_parameters():
            assert parameter.grad is not None, key
            assert parameter.grad.isfinite().all(), key

    def test_a_generator_decides_the_loss(self, name: str, graph: Data) -> None:
        method = self.build(name, SpectralFeatureAugmentation())
        assert torch.equal(method(graph, seeded(1)), method(graph, seeded(1)))
        assert not torch.equal(method(graph, seeded(1)), method(graph, seeded(2)))

    @pytest.mark.parametrize("spectral", ["none", "sfa"])
    def test_learns_cora(self, name: str, spectral: str) -> None:
        """A short run beats the untrained encoder clearly."""
        cora = normalise_features(load("cora"), "row")
        recipe = Recipe.parse({"method": name, "spectral": spectral}).updated({"method.hidden": 64})
        if name == "grace":
            recipe = recipe.updated({"method.intraview": False, "training.lr": 2e-3, "training.epochs": 15})
        else:
            recipe = recipe.updated({"training.epochs": 50})
        method = recipe.build(cora.num_features)
        protocol = Protocol("short", "two splits", splits=2, cs=(100.0,))
        before = protocol.evaluate(method.embed(cora), cora.y).mean
        train(method, cora, **recipe.training.model_dump(), device="cpu")
        after = protocol.evaluate(method.embed(cora), cora.y).mean
        assert after > before + 5


def test_grace_is_nt_xent_on_projected_views(graph: Data) -> None:
    method = GRACE(6, hidden=8, projection=5, tau=0.7, intraview=False, edge_drop=(0.1, 0.3), feature_drop=(0.2, 0.5))
    generator = seeded(3)
    alpha, beta = random_views(graph, (0.1, 0.3), (0.2, 0.5), generator)
    z = [method.head(method.encoder(view)) for view in (alpha, beta)]
    torch.testing.assert_close(method(graph, seeded(3)), nt_xent(*z, tau=0.7, intraview=False))
    assert [layer.out_features for layer in method.head if hasattr(layer, "out_features")] == [5, 8]


def test_g_bt_is_barlow_twins_on_the_encoder_output(graph: Data) -> None:
    method = GBT(6, hidden=8, batch_norm=False, off_diagonal=0.2)
    alpha, beta = random_views(graph, method.edge_drop, method.feature_drop, seeded(3))
    expected = barlow_twins(method.encoder(alpha), method.encoder(beta), off_diagonal=0.2)
    torch.testing.assert_close(method(graph, seeded(3)), expected)


def test_grace_with_bfloat16_similarities(graph: Data) -> None:
    full, half = (GRACE(6, hidden=8, precision=precision) for precision in ("full", "bfloat16"))  # type: ignore[arg-type]
    half.load_state_dict(full.state_dict())
    losses = full(graph, seeded(3)).item(), half(graph, seeded(3)).item()
    assert losses[0] != losses[1]
    assert losses[1] == pytest.approx(losses[0], rel=5e-3)


def test_grace_refuses_a_temperature_that_its_loss_cannot_take() -> None:
    with pytest.raises(InputError, match=r"at least 0\.0017"):
        GRACE(6, tau=0.001)
    with pytest.raises(InputError, match=r"below 0\.2"):
        GRACE(6, tau=0.05, precision="bfloat16")


def test_unknown_method_suggests_the_nearest() -> None:
    with pytest.raises(InputError, match="did you mean 'grace'"):
        resolve("grcae")
