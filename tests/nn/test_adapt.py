"""Any module as an encoder: what it is called with, its width, its randomness, and what it must give."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.augment import Diffusion, DropEdges, UniformDrop
from sfa.errors import InputError
from sfa.methods import GRACE, GraphCL, SimCLR
from sfa.nn import GCN, GIN, MLP, GraphEncoder, ImageEncoder, PooledGCN, as_encoder, materialize, resnet18, small
from sfa.nn.adapt import renewed
from sfa.nn.image_encoder import to_float
from sfa.seeding import seeded_initialization
from sfa.tasks import Task


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def to_csr(x: Tensor) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return x.to_sparse_csr()


class OfData(nn.Module):
    """A network that takes a whole graph."""

    def __init__(self, width: int = 5) -> None:
        super().__init__()
        self.convolution = pyg.GCNConv(8, width)

    def forward(self, data: Data) -> Tensor:
        h: Tensor = self.convolution(data.x, data.edge_index, data.edge_weight)
        return h


class OfFeatures(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        h: Tensor = self.linear(x)
        return h


class Pooling(nn.Module):
    """A network that embeds graphs by itself."""

    def __init__(self, features: int = 4) -> None:
        super().__init__()
        self.network = pyg.GIN(features, 6, 2)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        return pyg.global_mean_pool(self.network(x, edge_index), batch)


def picture_network(width: int = 7) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, width)
    )


NODE_NETWORKS: dict[str, tuple[Callable[[], nn.Module], int, Callable[[nn.Module, Data], Tensor]]] = {
    "GCN": (lambda: pyg.GCN(8, 16, 2, 6), 6, lambda module, data: module(data.x, data.edge_index, data.edge_weight)),
    "GAT": (lambda: pyg.GAT(8, 16, 2, heads=2), 16, lambda module, data: module(data.x, data.edge_index)),
    "GraphSAGE": (lambda: pyg.GraphSAGE(8, 16, 2), 16, lambda module, data: module(data.x, data.edge_index)),
    "GIN": (lambda: pyg.GIN(8, 16, 2, 5), 5, lambda module, data: module(data.x, data.edge_index)),
    "jumping": (lambda: pyg.GCN(8, 4, 3, jk="cat"), 4, lambda module, data: module(data.x, data.edge_index)),
    "MLP": (lambda: pyg.MLP([8, 16, 4]), 4, lambda module, data: module(data.x)),
    "GCNConv": (lambda: pyg.GCNConv(8, 4), 4, lambda module, data: module(data.x, data.edge_index)),
    "Sequential": (
        lambda: pyg.Sequential("x, edge_index", [(pyg.GCNConv(8, 9), "x, edge_index -> x"), nn.ReLU()]),
        9,
        lambda module, data: module(data.x, data.edge_index),
    ),
    "of Data": (OfData, 5, lambda module, data: module(data)),
    "of x": (OfFeatures, 3, lambda module, data: module(data.x)),
    "nn.Sequential": (lambda: nn.Sequential(nn.Linear(8, 4), nn.Tanh()), 4, lambda module, data: module(data.x)),
}


@pytest.mark.parametrize("name", NODE_NETWORKS)
class TestNodes:
    def test_width_and_output(self, name: str, planted: Data) -> None:
        """Of a graph and of a view, of which the module sees what is left; in training too."""
        build, width, call = NODE_NETWORKS[name]
        module = build()
        encoder = as_encoder(module).eval()
        assert encoder.width == width
        assert encoder(planted).shape == (60, width)
        torch.testing.assert_close(encoder(planted), call(module, planted))
        torch.testing.assert_close(encoder.embed(planted), call(module, planted))
        view = UniformDrop((0.4, 0.4), (0.3, 0.3)).view(planted, seeded())
        kept = view.edge_weight > 0
        left = Data(x=planted.x * view.feature_mask, edge_index=planted.edge_index[:, kept])
        torch.testing.assert_close(encoder(view), call(module, left))

    def test_a_method_trains_it(self, name: str, planted: Data) -> None:
        module = NODE_NETWORKS[name][0]()
        method = GRACE(module, projection=4)
        method(planted, seeded()).backward()
        grads = [parameter.grad for parameter in module.parameters()]
        assert all(grad is not None and bool(grad.isfinite().all()) for grad in grads)
        assert any(bool(grad.any()) for grad in grads if grad is not None)
        assert method.embed(planted).shape == (60, method.width)

    def test_wrapping_changes_nothing_of_it(self, name: str) -> None:
        module = NODE_NETWORKS[name][0]()
        before = {key: value.clone() for key, value in module.state_dict().items()}
        state = torch.get_rng_state()
        encoder: Any = as_encoder(module)
        assert encoder.module is module
        assert module.training
        assert torch.equal(torch.get_rng_state(), state)
        assert all(torch.equal(value, before[key]) for key, value in module.state_dict().items())


class TestGraphs:
    @pytest.mark.parametrize("build", [lambda: pyg.GIN(4, 6, 2), lambda: pyg.GAT(4, 6, 2), lambda: pyg.MLP([4, 6])])
    def test_node_embeddings_are_summed(
        self, build: Callable[[], nn.Module], molecules: Data, molecule_list: list[Data]
    ) -> None:
        module = build()
        encoder = as_encoder(module, "graph").eval()
        assert isinstance(encoder, GraphEncoder)
        assert encoder.width == 6
        nodes = encoder.nodes(molecules)
        expected = pyg.global_add_pool(nodes, molecules.batch)
        torch.testing.assert_close(encoder(molecules), expected)
        torch.testing.assert_close(encoder.embed(molecules, chunk=30), expected)
        for row, graph in zip(expected[:3], molecule_list[:3], strict=True):
            torch.testing.assert_close(as_encoder(module).embed(graph).sum(0), row)

    def test_one_that_pools_by_itself(self, molecules: Data) -> None:
        module = Pooling()
        encoder: Any = as_encoder(module, "graph").eval()
        assert encoder.width == 6
        expected = module(molecules.x, molecules.edge_index, molecules.batch)
        assert expected.shape == (40, 6)
        torch.testing.assert_close(encoder(molecules), expected)
        torch.testing.assert_close(encoder.embed(molecules, chunk=30), expected)
        with pytest.raises(InputError, match="nodes, which this method"):
            encoder.nodes(molecules)

    @pytest.mark.parametrize("build", [lambda: pyg.GIN(4, 6, 2), Pooling, lambda: GCN(4, 6)])
    def test_a_method_trains_it(self, build: Callable[[], nn.Module], molecules: Data) -> None:
        method = GraphCL(build())
        method(molecules, seeded()).backward()
        assert all(parameter.grad is not None for parameter in method.encoder.parameters())
        assert method.embed(molecules).shape == (40, 6)

    def test_an_encoder_of_nodes_is_pooled(self, molecules: Data) -> None:
        encoder = GCN(4, 6).eval()
        pooled = as_encoder(encoder, "graph")
        torch.testing.assert_close(pooled(molecules), pyg.global_add_pool(encoder(molecules), molecules.batch))


class TestImages:
    def test_standardized_images_in_order(self, pictures: Data) -> None:
        module = picture_network()
        encoder: Any = as_encoder(module, "image")
        assert isinstance(encoder, ImageEncoder)
        assert encoder.width == 7
        encoder.setup(pictures)
        encoder.eval()
        images = to_float(pictures.x)
        train = images[pictures.train_mask]
        mean, std = train.mean((0, 2, 3), keepdim=True), train.std((0, 2, 3), correction=0, keepdim=True)
        expected = module((images - mean) / std)
        torch.testing.assert_close(encoder(images), expected, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(encoder.embed(pictures, budget=1 << 18), expected, rtol=1e-4, atol=1e-5)

    def test_a_method_trains_it(self, pictures: Data) -> None:
        method = SimCLR(picture_network())
        method(pictures, seeded()).backward()
        assert all(parameter.grad is not None for parameter in method.encoder.parameters())

    def test_grey_images(self) -> None:
        encoder = as_encoder(nn.Sequential(nn.Conv2d(1, 4, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten()), "image")
        assert encoder.width == 4
        assert encoder(torch.rand(5, 1, 8, 8)).shape == (5, 4)

    def test_one_for_large_images_only(self) -> None:
        large = nn.Sequential(nn.Conv2d(3, 2, 100, stride=50), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        assert as_encoder(large, "image").width == 2

    def test_maps_that_are_not_pooled_are_refused(self) -> None:
        encoder = as_encoder(nn.Conv2d(3, 4, 3), "image", width=4)
        with pytest.raises(InputError) as error:
            encoder(torch.rand(5, 3, 8, 8))
        message = "The encoder Conv2d must give a tensor of shape (5, 4), not a tensor of shape (5, 4, 6, 6)."
        assert str(error.value) == message


class TestWidth:
    class Unknown(nn.Module):
        """Neither its input nor its output can be told."""

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return x

    def test_by_trial_before_attributes(self) -> None:
        module = pyg.GCN(8, 16, 2, 6)
        module.width = 99
        assert as_encoder(module).width == 6

    @pytest.mark.parametrize("name", ["width", "out_channels", "num_features", "out_features"])
    def test_by_attribute(self, name: str, planted: Data) -> None:
        module = self.Unknown()
        setattr(module, name, 8)
        assert as_encoder(module).width == 8
        assert torch.equal(as_encoder(module)(planted), planted.x)

    def test_given(self, planted: Data) -> None:
        encoder = as_encoder(self.Unknown(), width=8)
        assert encoder.width == 8
        assert torch.equal(encoder(planted), planted.x)

    def test_none_is_one_sentence(self) -> None:
        with pytest.raises(InputError) as error:
            as_encoder(self.Unknown())
        assert str(error.value) == ("The width of Unknown is unknown: say it by sfa.nn.as_encoder(module, width=…).")

    def test_a_wrong_one_is_one_sentence(self, planted: Data) -> None:
        encoder = as_encoder(pyg.GCN(8, 16, 2, 6), width=7)
        with pytest.raises(InputError) as error:
            encoder(planted)
        assert str(error.value) == (
            "The encoder GCN must give a tensor of shape (60, 7), not a tensor of shape (60, 6)."
        )

    @pytest.mark.parametrize(
        ("output", "found"),
        [
            (lambda x: x[1:], "a tensor of shape (59, 8)"),
            (lambda x: x[:, 0], "a tensor of shape (60,)"),
            (lambda x: (x, x), "tuple"),
            (lambda x: None, "NoneType"),
        ],
    )
    def test_wrong_rows_and_no_matrix_are_one_sentence(
        self, output: Callable[[Tensor], Any], found: str, planted: Data
    ) -> None:
        class Wrong(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Any:
                return output(x)

        with pytest.raises(InputError) as error:
            as_encoder(Wrong(), width=8)(planted)
        assert str(error.value) == f"The encoder Wrong must give a tensor of shape (60, 8), not {found}."

    def test_of_graphs_both_numbers_of_rows_are_named(self, molecules: Data) -> None:
        class Wrong(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return x[1:]

        n = molecules.num_nodes
        with pytest.raises(InputError) as error:
            as_encoder(Wrong(), "graph", width=4)(molecules)
        assert str(error.value) == (
            f"The encoder Wrong must give a tensor of shape ({n}, 4) or (40, 4), not a tensor of shape ({n - 1}, 4)."
        )

    def test_the_trial_leaves_no_trace(self, planted: Data) -> None:
        """A cached adjacency would be that of the trial, lazy weights would have its width."""
        cached = pyg.GCN(8, 16, 2, 6, cached=True)
        torch.testing.assert_close(as_encoder(cached).eval()(planted), cached(planted.x, planted.edge_index))
        lazy = pyg.GCN(-1, 16, 2, 6)
        encoder = as_encoder(lazy)
        assert encoder.width == 6
        assert encoder(planted).shape == (60, 6)

    def test_modules_in_double_precision(self, planted: Data) -> None:
        class Doubled(nn.Module):
            """Whose attributes do not tell the width."""

            def __init__(self) -> None:
                super().__init__()
                self.linear = nn.Linear(8, 3)

            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                h: Tensor = self.linear(x)
                return torch.cat([h, h], 1)

        encoder = as_encoder(Doubled().double())
        assert encoder.width == 6
        planted.x = planted.x.double()
        assert encoder(planted).dtype == torch.float64

    def test_compiled_modules_are_called_as_what_they_were(self, planted: Data) -> None:
        class Sums(nn.Module):
            def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
                return x.index_add(0, edge_index[1], x[edge_index[0]])

        encoder = as_encoder(torch.compile(Sums(), backend="eager"), width=8)  # type: ignore[arg-type]
        torch.testing.assert_close(encoder(planted), Sums()(planted.x, planted.edge_index))


class TestRandomness:
    @pytest.fixture
    def encoder(self) -> nn.Module:
        return as_encoder(pyg.GCN(8, 16, 2, 6, dropout=0.5))

    def test_dropout_draws_from_the_generator(self, encoder: nn.Module, planted: Data) -> None:
        torch.manual_seed(1)
        first = encoder(planted, seeded())
        torch.manual_seed(2)
        assert torch.equal(encoder(planted, seeded()), first)
        assert not torch.equal(encoder(planted, seeded(1)), first)

    def test_one_generator_gives_other_numbers_each_time(self, encoder: nn.Module, planted: Data) -> None:
        generator = seeded()
        assert not torch.equal(encoder(planted, generator), encoder(planted, generator))

    def test_the_global_generator_is_left_alone(self, encoder: nn.Module, planted: Data) -> None:
        state = torch.get_rng_state()
        encoder(planted, seeded())
        assert torch.equal(torch.get_rng_state(), state)
        encoder.embed(planted)  # type: ignore[operator]
        assert torch.equal(torch.get_rng_state(), state)

    def test_nothing_is_drawn_in_eval(self, encoder: nn.Module, planted: Data) -> None:
        generator = seeded()
        assert torch.equal(encoder.eval()(planted, generator), encoder(planted, seeded(1)))
        assert torch.equal(generator.get_state(), seeded().get_state())

    def test_of_graphs_and_images(self, molecules: Data, pictures: Data) -> None:
        graphs = as_encoder(pyg.GIN(4, 6, 2, dropout=0.5), "graph")
        images = as_encoder(nn.Sequential(picture_network(), nn.Dropout()), "image")
        for encoder, data in ((graphs, molecules), (images, to_float(pictures.x))):
            state = torch.get_rng_state()
            assert torch.equal(encoder(data, seeded()), encoder(data, seeded()))
            assert not torch.equal(encoder(data, seeded()), encoder(data, seeded(1)))
            assert torch.equal(torch.get_rng_state(), state)

    def test_embeddings_are_without_dropout_and_without_gradient(self, encoder: nn.Module, planted: Data) -> None:
        assert encoder.training
        z = encoder.embed(planted)  # type: ignore[operator]
        assert encoder.training
        assert not z.requires_grad
        assert torch.equal(z, encoder.eval()(planted))


class TestMaterialize:
    def test_removed_edges_are_gone_and_masked_columns_are_zeros(self, planted: Data) -> None:
        view = UniformDrop((0.4, 0.4), (0.5, 0.5)).view(planted, seeded())
        plain = materialize(view)
        assert plain.edge_index.shape[1] == int(view.edge_weight.sum())
        assert torch.equal(plain.edge_index, planted.edge_index[:, view.edge_weight == 1])
        assert plain.edge_weight is None
        assert torch.equal(plain.x, planted.x.where(view.feature_mask, 0))
        assert torch.equal(plain.y, planted.y)
        assert "feature_mask" not in plain
        assert view.x is planted.x, "the view stays as it was"
        assert "feature_mask" in view

    def test_what_is_plain_stays_so(self, planted: Data) -> None:
        plain = materialize(planted)
        assert plain.x is planted.x
        assert plain.edge_index is planted.edge_index

    def test_real_weights_and_attributes_stay_with_their_edges(self, planted: Data) -> None:
        low, high = planted.edge_index.min(0).values, planted.edge_index.max(0).values
        planted.edge_weight = 0.5 + ((low * 7 + high * 3) % 5).float()
        planted.edge_attr = torch.arange(planted.num_edges)[:, None]
        view = DropEdges(0.4).view(planted, seeded())
        plain, kept = materialize(view), view.edge_weight > 0
        assert torch.equal(plain.edge_weight, planted.edge_weight[kept])
        assert torch.equal(plain.edge_attr[:, 0], kept.nonzero()[:, 0])
        whole = materialize(planted)
        assert torch.equal(whole.edge_weight, planted.edge_weight)
        assert torch.equal(whole.edge_index, planted.edge_index)

    def test_sparse_features_become_dense(self, planted: Data) -> None:
        dense = planted.x * (planted.x > 0.5)
        planted.x = to_csr(dense)
        assert torch.equal(materialize(planted).x, dense)
        view = UniformDrop((0.0, 0.0), (0.5, 0.5)).view(planted, seeded())
        assert torch.equal(materialize(view).x, dense * view.feature_mask)

    def test_a_graph_whose_edges_are_all_gone(self, planted: Data) -> None:
        plain = materialize(DropEdges(1.0).view(planted))
        assert plain.edge_index.shape == (2, 0)
        assert as_encoder(pyg.GCN(8, 4, 1))(plain).shape == (60, 4)


def test_a_diffusion_is_refused_by_wrapped_modules(planted: Data, molecules: Data) -> None:
    message = "The diffusion of a graph cannot be given to {}: take an encoder of sfa.nn."
    _, view = Diffusion()(planted, seeded())
    with pytest.raises(InputError) as error:
        as_encoder(pyg.GAT(8, 4, 2))(view)
    assert str(error.value) == message.format("GAT")
    assert GCN(8, 4)(view).shape == (60, 4)
    _, view = Diffusion()(molecules, seeded())
    with pytest.raises(InputError) as error:
        as_encoder(pyg.GIN(4, 4, 2), "graph")(view)
    assert str(error.value) == message.format("GIN")


class TestOwnEncoders:
    @pytest.mark.parametrize(
        ("encoder", "task"),
        [
            (GCN(8, 4), "node"),
            (MLP(8, 4), "node"),
            (GIN(4, 2), "graph"),
            (PooledGCN(4, 2), "graph"),
            (small(3), "image"),
        ],
        ids=lambda value: value if isinstance(value, str) else type(value).__name__,
    )
    def test_they_are_returned_as_they_are(self, encoder: nn.Module, task: Task) -> None:
        assert as_encoder(encoder, task) is encoder

    def test_wrapped_ones_too(self) -> None:
        for module, task in ((pyg.GCN(8, 4, 2), "node"), (pyg.GIN(8, 4, 2), "graph"), (picture_network(), "image")):
            encoder = as_encoder(module, task)  # type: ignore[arg-type]
            assert as_encoder(encoder, task) is encoder  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("encoder", "task", "message"),
        [
            (GIN(4, 2), "node", "The encoder GIN embeds whole graphs, not the nodes of one graph."),
            (small(3), "graph", "The encoder ResNet embeds images, not whole graphs."),
            (GCN(4, 2), "image", "The encoder GCN embeds the nodes of one graph, not images."),
        ],
    )
    def test_those_of_another_level_are_refused(self, encoder: nn.Module, task: Task, message: str) -> None:
        with pytest.raises(InputError) as error:
            as_encoder(encoder, task)
        assert str(error.value) == message

    def test_what_is_no_module_is_refused(self) -> None:
        with pytest.raises(InputError, match=r"a torch\.nn\.Module, not 'gcn'\."):
            as_encoder("gcn")  # type: ignore[arg-type]

    def test_a_level_of_another_meaning_does_not_matter(self) -> None:
        module = pyg.GCN(8, 4, 2)
        module.task = 3
        assert as_encoder(module).width == 4


class TestRenewed:
    @pytest.mark.parametrize(
        "build",
        [
            lambda: GCN(300, 200, activation="prelu", batch_norm=True),
            lambda: MLP(300, 200, inner=250),
            lambda: GIN(300, 200),
            lambda: PooledGCN(300, 200),
            lambda: resnet18(3, 32),
            lambda: as_encoder(pyg.GAT(300, 200, 2)),
            lambda: as_encoder(pyg.GCN(300, 200, 2), "graph"),
            lambda: as_encoder(nn.Sequential(nn.Linear(300, 200), nn.BatchNorm1d(200), nn.PReLU())),
        ],
    )
    def test_new_weights_of_the_same_distribution(self, build: Callable[[], nn.Module]) -> None:
        with seeded_initialization(0):
            encoder = build()
        with torch.no_grad():
            for parameter in encoder.parameters():  # as if it had been trained
                parameter.mul_(3).add_(1)
        before = copy.deepcopy(encoder.state_dict())
        with seeded_initialization(1):
            fresh = renewed(encoder)
        with seeded_initialization(2):
            expected = {name: parameter.detach() for name, parameter in build().named_parameters()}
        assert all(torch.equal(value, before[key]) for key, value in encoder.state_dict().items())
        assert not {id(parameter) for parameter in fresh.parameters()} & {id(p) for p in encoder.parameters()}
        for name, trained in fresh.named_parameters():
            parameter = trained.detach()
            spread = float(expected[name].std()) if expected[name].numel() > 1 else 0.0
            mean, slack = float(expected[name].mean()), max(0.15 * spread, 1e-9)
            assert float(parameter.mean()) == pytest.approx(mean, abs=slack), name
            if spread:
                assert not torch.equal(parameter, expected[name]), name
                assert float(parameter.std()) == pytest.approx(spread, rel=0.12), name
                highest = float(expected[name].abs().max())
                assert float(parameter.abs().max()) == pytest.approx(highest, rel=0.4), name

    def test_running_statistics_are_forgotten(self, planted: Data) -> None:
        encoder = GCN(8, 4, batch_norm=True)
        encoder(planted)
        fresh = renewed(encoder)
        assert isinstance(fresh, GCN)
        for norm in fresh.norms:
            assert not norm.running_mean.any()
            assert bool((norm.running_var == 1).all())

    def test_two_of_a_kind_differ(self) -> None:
        encoder = GCN(8, 4)
        one, other = (next(renewed(encoder).parameters()).detach() for _ in range(2))
        assert not torch.equal(one, other)
        bound = math.sqrt(6 / (8 + 8))
        assert float(one.abs().max()) <= bound


def test_features_may_be_called_by_any_name_beside_edges() -> None:
    class Named(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(5, 3)

        def forward(self, h: Tensor, edge_index: Tensor) -> Tensor:
            return self.linear(h).index_add(0, edge_index[0], self.linear(h)[edge_index[1]])

    class EdgesFirst(Named):
        def forward(self, edge_index: Tensor, x: Tensor) -> Tensor:  # type: ignore[override]
            return super().forward(x, edge_index)

    data = Data(x=torch.randn(4, 5), edge_index=torch.tensor([[0, 1], [1, 0]]))
    for kind in (Named, EdgesFirst):
        encoder = as_encoder(kind())
        assert encoder.width == 3
        assert encoder(data).shape == (4, 3)


def test_weights_that_cannot_be_drawn_anew_are_told_of() -> None:
    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(5, 3))

    with pytest.raises(InputError, match=r"give it reset_parameters\(\)"):
        renewed(nn.Sequential(nn.Linear(5, 5), Own()))
