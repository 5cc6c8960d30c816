"""The encoder against Eq. 1 in dense matrices."""

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.utils import to_dense_adj, to_undirected

from sfa.errors import InputError
from sfa.matrices import csr_matrix
from sfa.nn import GCN
from sfa.nn.layers import ACTIVATIONS, RandomizedReLU
from sfa.nn.sparse import normalized_adjacency


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
        expected = dense_layer(expected, adjacency, convolution.weight).relu()
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
    assert [tuple(c.weight.shape) for c in encoder.convolutions] == sizes
    assert encoder(graph).shape == (12, 4)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_activations_by_name(activation: str, graph: Data) -> None:
    """Against torch's own module of that name, applied to the same convolutions."""
    encoder = GCN(5, 4, activation=activation).eval()  # type: ignore[arg-type]
    own = {"relu": nn.ReLU(), "prelu": nn.PReLU(), "rrelu": nn.RReLU(), "elu": nn.ELU()}[activation].eval()
    h = graph.x
    for convolution in encoder.convolutions:
        h = own(convolution(h, normalized_adjacency(graph)))
    torch.testing.assert_close(encoder(graph), h)


def test_batch_norm_normalises_before_the_activation(graph: Data) -> None:
    encoder = GCN(5, 4, layers=1, activation="elu", batch_norm=True)
    h = encoder(graph)
    before = encoder.convolutions[0](graph.x, normalized_adjacency(graph))
    normalized = (before - before.mean(0)) / (before.var(0, unbiased=False) + 1e-5).sqrt()
    torch.testing.assert_close(h, nn.functional.elu(normalized), rtol=1e-4, atol=1e-5)


def test_randomised_relu_draws_from_the_generator_given() -> None:
    x = torch.linspace(-3, 3, 1000)
    activation = RandomizedReLU()
    first, second = (activation(x, torch.Generator().manual_seed(seed)) for seed in (0, 0))
    assert torch.equal(first, second)
    assert not torch.equal(first, activation(x, torch.Generator().manual_seed(1)))
    slopes = (first / x)[x < 0]
    assert slopes.min() >= 1 / 8
    assert slopes.max() <= 1 / 3
    assert torch.equal(first[x > 0], x[x > 0])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("features", [3, 40])
def test_a_view_equals_the_graph_without_what_it_lacks(features: int, sparse: bool, graph: Data) -> None:
    """Value and gradients, dense and CSR, for an encoder that is wider and one that is narrower than the features."""
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(12, features, generator=generator, dtype=torch.float64)
    x = x * (torch.rand(x.shape, generator=generator) < 0.3)
    mask = torch.rand(features, generator=generator) < 0.6
    weight = ((graph.edge_index[0] * graph.edge_index[1]) % 3 > 0).double()
    view = Data(x=csr(x) if sparse else x, feature_mask=mask, edge_index=graph.edge_index, edge_weight=weight)
    encoder = GCN(features, 8, batch_norm=True, activation="elu").double()
    plain = Data(x=x * mask, edge_index=graph.edge_index[:, weight > 0])
    h, expected = encoder(view), encoder(plain)
    torch.testing.assert_close(h, expected)
    direction = torch.randn(h.shape, generator=generator, dtype=h.dtype)
    grads = [torch.autograd.grad((out * direction).sum(), list(encoder.parameters())) for out in (h, expected)]
    for ours, theirs in zip(*grads, strict=True):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("chunk", [1, 5, 12, 100])
@pytest.mark.parametrize("sparse", [False, True])
def test_an_embedding_in_chunks_is_the_embedding(chunk: int, sparse: bool, graph: Data) -> None:
    for features in (5, 40):
        x = torch.randn(12, features, generator=torch.Generator().manual_seed(2))
        data = Data(x=csr(x) if sparse else x, edge_index=graph.edge_index)
        encoder = GCN(features, 8, activation="rrelu", batch_norm=True)
        encoder(data, torch.Generator())  # the running statistics are no longer those of a new module
        assert encoder.training
        chunked = encoder.embed(data, chunk=chunk)
        assert encoder.training
        assert not chunked.requires_grad
        torch.testing.assert_close(chunked, encoder.eval()(data))


def csr(x: Tensor) -> Tensor:
    rowptr = torch.cat([torch.zeros(1, dtype=torch.long), (x != 0).sum(1).cumsum(0)])
    return csr_matrix(rowptr, x.nonzero()[:, 1], x[x != 0], (x.shape[0], x.shape[1]))


def test_wrong_arguments_are_named() -> None:
    with pytest.raises(InputError, match="layers"):
        GCN(5, 4, layers=0)
    with pytest.raises(InputError, match="did you mean 'relu'"):
        GCN(5, 4, activation="relo")  # type: ignore[arg-type]


@pytest.mark.parametrize("batch_norm", [False, True])
def test_without_an_activation_after_the_last_layer(graph: Data, batch_norm: bool) -> None:
    torch.manual_seed(0)
    encoder = GCN(5, 4, activation="relu", batch_norm=batch_norm, activate_last=False).eval()
    adjacency = to_dense_adj(graph.edge_index, max_num_nodes=12)[0]
    first, last = (convolution.weight for convolution in encoder.convolutions)
    hidden = encoder.norms[0](dense_layer(graph.x, adjacency, first)).relu()
    expected = dense_layer(hidden, adjacency, last)
    assert bool((expected < 0).any())
    torch.testing.assert_close(encoder(graph), expected)
    torch.testing.assert_close(encoder.embed(graph), expected)


def test_a_propagation_takes_the_place_of_the_adjacency(graph: Data) -> None:
    encoder = GCN(5, 4, layers=1).eval()
    dense = torch.rand(12, 12, generator=torch.Generator().manual_seed(1))
    dense = dense + dense.mT
    sparse = dense.to_sparse_csr()
    graph.propagation = csr_matrix(sparse.crow_indices(), sparse.col_indices(), sparse.values(), (12, 12))
    expected = (dense @ graph.x @ encoder.convolutions[0].weight).relu()
    torch.testing.assert_close(encoder(graph), expected)
    torch.testing.assert_close(encoder.embed(graph, chunk=5), expected)
    weight = encoder.convolutions[0].weight
    torch.testing.assert_close(
        torch.autograd.grad(encoder(graph).square().sum(), weight), torch.autograd.grad(expected.square().sum(), weight)
    )


@pytest.mark.parametrize("momentum", [0.01, 0.3])
def test_running_statistics_have_their_momentum(graph: Data, momentum: float) -> None:
    """PyTorch's rule, step by step: ``(1 - momentum) · old + momentum · batch``."""
    encoder = GCN(5, 4, layers=1, batch_norm=True, norm_momentum=momentum)
    before = encoder.convolutions[0](graph.x, normalized_adjacency(graph)).detach()
    mean, variance = torch.zeros(4), torch.ones(4)
    for _ in range(3):
        encoder(graph)
        mean = (1 - momentum) * mean + momentum * before.mean(0)
        variance = (1 - momentum) * variance + momentum * before.var(0)
    torch.testing.assert_close(encoder.norms[0].running_mean, mean)
    torch.testing.assert_close(encoder.norms[0].running_var, variance)


def test_without_a_last_activation_there_is_no_last_normalization() -> None:
    encoder = GCN(5, 4, layers=3, activation="prelu", batch_norm=True, norm_momentum=0.01, activate_last=False)
    assert [type(norm).__name__ for norm in encoder.norms] == ["BatchNorm", "BatchNorm", "Identity"]
    assert [type(one).__name__ for one in encoder.activations] == ["PReLU", "PReLU", "Identity"]
    assert [norm.momentum for norm in encoder.norms[:2]] == [0.01, 0.01]
    usual = GCN(5, 4, layers=3, activation="prelu", batch_norm=True)
    assert [type(one).__name__ for one in usual.activations] == ["PReLU"] * 3
    assert [norm.momentum for norm in usual.norms] == [0.1] * 3
