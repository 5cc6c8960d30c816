"""Any network as the encoder of a method: models of PyTorch Geometric, and plain modules on images."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GAT, GIN, GraphSAGE, global_add_pool

from sfa.augment import Identity, ImageViews, UniformDrop
from sfa.errors import InputError
from sfa.methods import BGRL, DGI, GRACE, MERIT, MVGRL, VGAE, GraphCL, InfoGraph, LPInfo, Method, SimCLR, SimGRACE
from sfa.nn import GCN, MLP, as_encoder, materialize
from sfa.spectral import SpectralFeatureAugmentation
from tests.methods.whole_steps import images

MODELS: dict[str, Callable[[], nn.Module]] = {
    "GAT": lambda: GAT(8, 16, num_layers=2, out_channels=6, heads=2, dropout=0.3),
    "GraphSAGE": lambda: GraphSAGE(8, 16, num_layers=2, out_channels=6, dropout=0.3),
    "GIN": lambda: GIN(8, 16, num_layers=2, out_channels=6, dropout=0.3, norm="batch_norm"),
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def losses_of(method: Method, data: Data, steps: int, lr: float = 0.01) -> list[float]:
    """Of so many steps of Adam, on draws that are the same in every step, so that the loss has to fall."""
    optimizer = torch.optim.Adam(method.parameters(), lr)
    losses = []
    for number in range(steps):
        optimizer.zero_grad()
        loss = method(data, seeded(7))
        loss.backward()
        optimizer.step()
        method.after_step((number + 1) / steps)
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("model", MODELS)
class TestNodes:
    def build(self, model: str) -> GRACE:
        torch.manual_seed(0)
        drops = UniformDrop((0.2, 0.4), (0.1, 0.3))
        return GRACE(MODELS[model](), drops, projection=8, spectral=SpectralFeatureAugmentation())

    def test_grace_with_sfa_learns(self, planted: Data, model: str) -> None:
        method = self.build(model)
        losses = losses_of(method, planted, 12)
        assert losses[-1] < losses[0] - 0.1
        z = method.embed(planted)
        assert z.shape == (60, 6)
        assert method.width == 6
        assert z.isfinite().all()
        assert not z.requires_grad
        assert all(weights.grad is not None for weights in method.parameters())

    def test_dropout_inside_comes_from_the_generator(self, planted: Data, model: str) -> None:
        """Whatever happened before, and without a trace on PyTorch's own generator."""
        method = self.build(model)
        losses = []
        for disturbance, seed in ((1, 3), (2, 3), (2, 4)):
            torch.manual_seed(disturbance)
            losses.append(method(planted, seeded(seed)).item())
            expected = torch.manual_seed(disturbance).get_state()
            torch.manual_seed(disturbance)
            method(planted, seeded(seed))
            assert torch.equal(torch.random.get_rng_state(), expected)
        assert losses[0] == losses[1] != losses[2]
        method.augmentation = Identity()
        h = [method.encoder(planted, seeded(seed)) for seed in (1, 1, 2)]
        assert torch.equal(h[0], h[1])
        assert not torch.equal(h[0], h[2])
        assert torch.equal(method.embed(planted), method.embed(planted))

    def test_views_are_plain_graphs_to_it(self, planted: Data, model: str) -> None:
        """Removed edges are gone and masked columns are zeros, as if the graph had been made so."""
        method = self.build(model).eval()
        view, _ = method.augmentation(planted, seeded())
        assert view.edge_index is planted.edge_index
        kept = view.edge_weight > 0
        x = planted.x * view.feature_mask
        expected = method.encoder.module(x, planted.edge_index[:, kept])
        torch.testing.assert_close(method.encoder(view), expected)
        plain = materialize(view)
        assert torch.equal(plain.x, x)
        assert torch.equal(plain.edge_index, planted.edge_index[:, kept])


def test_bgrl_with_gat(planted: Data) -> None:
    torch.manual_seed(0)
    method = BGRL(MODELS["GAT"](), UniformDrop((0.2, 0.3), (0.2, 0.1)), prediction=8)
    start = [phi.clone() for phi in method.target.parameters()]
    losses = losses_of(method, planted, 12)
    assert losses[-1] < losses[0]
    assert method.embed(planted).shape == (60, 6)
    assert not any(phi.requires_grad for phi in method.target.parameters())
    assert any(not torch.equal(phi, was) for phi, was in zip(method.target.parameters(), start, strict=True))


@pytest.mark.parametrize("kind", [DGI, VGAE])
def test_methods_without_two_views_take_it_too(planted: Data, kind: type[Method]) -> None:
    torch.manual_seed(0)
    method = kind(MODELS["GraphSAGE"]())
    losses = losses_of(method, planted, 12)
    assert losses[-1] < losses[0]
    assert method.embed(planted).shape == (60, method.width)


@pytest.mark.parametrize("kind", [MVGRL, MERIT])
def test_an_encoder_that_cannot_take_a_diffusion_is_refused_before_training(kind: type[Method]) -> None:
    for encoder, name in ((MODELS["GAT"](), "GAT"), (MLP(5, 4), "MLP")):
        with pytest.raises(InputError, match=f"embeds the diffusion of a graph, which {name} cannot"):
            kind(encoder)


class TestGraphs:
    @pytest.fixture
    def batch(self, molecule_list: list[Data]) -> Data:
        batch: Data = Batch.from_data_list(molecule_list[:16])
        return batch

    @pytest.mark.parametrize("kind", [GraphCL, SimGRACE, InfoGraph, LPInfo])
    def test_nodes_are_summed_over_each_graph(self, batch: Data, kind: type[Method]) -> None:
        torch.manual_seed(0)
        model = GIN(4, 8, num_layers=2, out_channels=5)
        method = kind(model, spectral=SpectralFeatureAugmentation())
        z = method.embed(batch)
        with torch.no_grad():
            nodes = model.eval()(batch.x, batch.edge_index)
        torch.testing.assert_close(z, global_add_pool(nodes, batch.batch))
        assert z.shape == (16, 5)
        method.train()
        losses = losses_of(method, batch, 10)
        assert losses[-1] < losses[0]

    def test_a_network_that_pools_itself_is_not_pooled_again(self, batch: Data) -> None:
        class Pooled(nn.Module):
            width = 5

            def __init__(self) -> None:
                super().__init__()
                self.gin = GIN(4, 8, num_layers=2, out_channels=5)

            def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
                return global_add_pool(self.gin(x, edge_index), batch)

        torch.manual_seed(0)
        model = Pooled()
        method = GraphCL(model)
        losses = losses_of(method, batch, 5)
        assert losses[-1] < losses[0]
        with torch.no_grad():
            expected = model.eval()(batch.x, batch.edge_index, batch.batch)
        torch.testing.assert_close(method.embed(batch), expected)
        with pytest.raises(InputError, match="nodes, which this method"):
            InfoGraph(Pooled())(batch, seeded())


def small_net() -> nn.Sequential:
    return nn.Sequential(
        *(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Dropout(0.2)),
        *(nn.Conv2d(8, 12, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()),
    )


def test_simclr_with_a_plain_network_on_images() -> None:
    torch.manual_seed(0)
    method = SimCLR(
        small_net(), ImageViews("weak"), head_hidden=16, head_width=8, spectral=SpectralFeatureAugmentation()
    )
    data = images(12)
    method.setup(data)
    assert method(data, seeded(1)).item() == method(data, seeded(1)).item() != method(data, seeded(2)).item()
    losses = losses_of(method, data, 12)
    assert losses[-1] < losses[0] - 0.1
    z = method.embed(data)
    assert z.shape == (12, 12)
    with torch.no_grad():
        pixels = (data.x.permute(0, 3, 1, 2) / 255 - method.encoder.mean[:, None, None]) / method.encoder.std[
            :, None, None
        ]
        expected = method.encoder.module.eval()(pixels)
    torch.testing.assert_close(z, expected, rtol=1e-4, atol=1e-5)


def test_encoders_of_the_package_are_taken_as_they_are() -> None:
    encoder = GCN(8, 6)
    assert as_encoder(encoder) is encoder
    assert GRACE(encoder).encoder is encoder


def test_the_output_is_checked(planted: Data) -> None:
    class Wrong(nn.Module):
        width = 4

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return x[:5]

    with pytest.raises(InputError, match=r"shape \(60, 4\), not"):
        GRACE(Wrong())(planted, seeded())
    with pytest.raises(InputError, match=r"a torch\.nn\.Module, not 'GAT'"):
        GRACE("GAT")  # type: ignore[arg-type]
