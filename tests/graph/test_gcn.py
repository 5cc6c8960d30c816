"""The encoder against Eq. 1 in dense matrices."""

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj, to_undirected

from sfa.errors import InputError
from sfa.graph import GCN
from sfa.graph.activations import ACTIVATIONS, RandomisedReLU


@pytest.fixture
def graph() -> Data:
    """Twelve nodes, the last one with no edge."""
    generator = torch.Generator().manual_seed(0)
    edge_index = to_undirected(torch.randint(0, 11, (2, 20), generator=generator))
    edge_index = edge_index[:, edge_index[0] != edge_index[1]]
    return Data(x=torch.randn(12, 5, generator=generator), edge_index=edge_index)


def dense_layer(x: Tensor, adjacency: Tensor, theta: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2 X Θ."""
    a_hat = adjacency + torch.eye(len(x))
    scale = a_hat.sum(1).rsqrt()
    return scale[:, None] * a_hat * scale[None, :] @ x @ theta


@pytest.mark.parametrize("weighted", [False, True])
def test_equals_eq_1(graph: Data, weighted: bool) -> None:
    if weighted:
        low, high = graph.edge_index.min(0).values, graph.edge_index.max(0).values
        graph.edge_weight = 0.5 + ((low * 7 + high * 3) % 5).float()
    encoder = GCN(5, 4, activation="relu").eval()
    adjacency = to_dense_adj(graph.edge_index, edge_attr=graph.edge_weight, max_num_nodes=12)[0]
    expected = graph.x
    for convolution in encoder.convolutions:
        assert not convolution.bias.any()
        expected = dense_layer(expected, adjacency, convolution.lin.weight.T).relu()
    torch.testing.assert_close(encoder(graph), expected)


@pytest.mark.parametrize(
    ("layers", "widths", "sizes"),
    [
        (1, "halving", [(5, 4)]),
        (2, "halving", [(5, 8), (8, 4)]),
        (3, "halving", [(5, 8), (8, 8), (8, 4)]),
        (3, "constant", [(5, 4), (4, 4), (4, 4)]),
    ],
)
def test_widths(layers: int, widths: str, sizes: list[tuple[int, int]], graph: Data) -> None:
    encoder = GCN(5, 4, layers=layers, widths=widths)  # type: ignore[arg-type]
    assert [(c.in_channels, c.out_channels) for c in encoder.convolutions] == sizes
    assert encoder(graph).shape == (12, 4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_by_name(activation: str, graph: Data) -> None:
    """Against torch's own module of that name, applied to the same convolutions."""
    encoder = GCN(5, 4, activation=activation).eval()  # type: ignore[arg-type]
    own = {"relu": nn.ReLU(), "prelu": nn.PReLU(), "rrelu": nn.RReLU(), "elu": nn.ELU()}[activation].eval()
    h = graph.x
    for convolution in encoder.convolutions:
        h = own(convolution(h, graph.edge_index))
    torch.testing.assert_close(encoder(graph), h)


def test_batch_norm_normalises_before_the_activation(graph: Data) -> None:
    encoder = GCN(5, 4, layers=1, activation="elu", batch_norm=True)
    h = encoder(graph)
    before = encoder.convolutions[0](graph.x, graph.edge_index)
    normalised = (before - before.mean(0)) / (before.var(0, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(h, nn.functional.elu(normalised), rtol=1e-4, atol=1e-5)


def test_randomised_relu_draws_from_the_generator_given() -> None:
    x = torch.linspace(-3, 3, 1000)
    activation = RandomisedReLU()
    first, second = (activation(x, torch.Generator().manual_seed(seed)) for seed in (0, 0))
    assert torch.equal(first, second)
    assert not torch.equal(first, activation(x, torch.Generator().manual_seed(1)))
    slopes = (first / x)[x < 0]
    assert slopes.min() >= 1 / 8
    assert slopes.max() <= 1 / 3
    assert torch.equal(first[x > 0], x[x > 0])


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InputError, match="layers"):
        GCN(5, 4, layers=0)
    with pytest.raises(InputError, match="did you mean 'relu'"):
        GCN(5, 4, activation="relo")  # type: ignore[arg-type]
