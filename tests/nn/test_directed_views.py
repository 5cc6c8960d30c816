"""The GCN on views whose two directions differ: PyTorch Geometric's convention, values and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm
from torch_geometric.utils import is_undirected

from sfa.augment import AdaptiveDrop, DropEdges, UniformDrop
from sfa.errors import InputError
from sfa.nn import GCN, GIN, PooledGCN, materialize
from sfa.nn.sparse import normalized_adjacency
from sfa.registry import resolve


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def directed_view(graph: Data, *, weighted: bool = False, shuffled: bool = False) -> Data:
    """A view of the planted graph in float64, with weights or in another order of the edges if asked for."""
    graph.x = graph.x.double()
    if weighted:
        low, high = graph.edge_index.min(0).values, graph.edge_index.max(0).values
        graph.edge_weight = 0.5 + ((low * 7 + high * 3) % 5).double()
    if shuffled:
        order = torch.randperm(graph.num_edges, generator=seeded(5))
        graph.edge_index = graph.edge_index[:, order]
        graph.edge_weight = graph.edge_weight[order] if weighted else None
    view = UniformDrop((0.4, 0.4), (0.3, 0.3), directed=True).view(graph, seeded(1))
    assert not is_undirected(view.edge_index[:, view.edge_weight > 0])
    return view


def dense_norm(view: Data) -> Tensor:
    """``gcn_norm`` of the edges that are left, as a dense matrix: row ``i`` is what node ``i`` receives."""
    plain = materialize(view)
    weight = None if plain.edge_weight is None else plain.edge_weight.double()
    edges, values = gcn_norm(plain.edge_index, weight, plain.num_nodes, dtype=torch.float64)
    dense = torch.zeros(plain.num_nodes, plain.num_nodes, dtype=torch.float64)
    for (source, target), value in zip(edges.T.tolist(), values.tolist(), strict=True):
        dense[target, source] += value
    return dense


CASES = pytest.mark.parametrize(("weighted", "shuffled"), [(False, False), (True, False), (True, True)])


@CASES
def test_the_matrix_is_that_of_gcn_norm(planted: Data, weighted: bool, shuffled: bool) -> None:
    view = directed_view(planted, weighted=weighted, shuffled=shuffled)
    adjacency, expected = normalized_adjacency(view, torch.float64), dense_norm(view)
    assert not torch.allclose(expected, expected.T)
    torch.testing.assert_close(adjacency.matrix.to_dense(), expected)
    torch.testing.assert_close(adjacency.transposed.to_dense(), expected.T)


@CASES
def test_the_encoder_is_two_convolutions_of_torch_geometric(planted: Data, weighted: bool, shuffled: bool) -> None:
    """Outputs and gradients of all weights, on the graph that the view stands for."""
    view = directed_view(planted, weighted=weighted, shuffled=shuffled)
    ours, plain = GCN(8, 5).double(), materialize(view)
    theirs = []
    for convolution in ours.convolutions:
        layer = GCNConv(*convolution.weight.shape).double()
        layer.lin.weight.data = convolution.weight.detach().T.clone()
        theirs.append(layer)
    expected = plain.x
    for layer in theirs:
        expected = layer(expected, plain.edge_index, plain.edge_weight).relu()
    found = ours(view)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(ours.embed(Data(**{**view.to_dict(), "x": plain.x, "feature_mask": None})), expected)
    direction = torch.randn(found.shape, generator=seeded(2), dtype=torch.float64)
    (found * direction).sum().backward()
    (expected * direction).sum().backward()
    for convolution, layer in zip(ours.convolutions, theirs, strict=True):
        torch.testing.assert_close(convolution.weight.grad, layer.lin.weight.grad.T)
        torch.testing.assert_close(convolution.bias.grad, layer.bias.grad)


def test_gradients_are_finite_differences(planted: Data) -> None:
    """Of the features, through the transposed matrix, and of the weights; also of second order."""
    view = directed_view(planted)
    adjacency = normalized_adjacency(view, torch.float64)
    h = torch.randn(60, 2, generator=seeded(3), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: adjacency @ h, (h,))
    assert torch.autograd.gradgradcheck(lambda h: adjacency @ h, (h,))
    encoder = GCN(8, 3, activation="elu").double()
    names = [name for name, _ in encoder.named_parameters()]

    def output(*parameters: Tensor) -> Tensor:
        return torch.func.functional_call(encoder, dict(zip(names, parameters, strict=True)), (view,))

    assert torch.autograd.gradcheck(
        output, tuple(parameter.detach().requires_grad_() for parameter in encoder.parameters())
    )


def test_a_directed_view_of_equal_directions_is_the_undirected_one(planted: Data) -> None:
    encoder = GCN(8, 4)
    view = DropEdges(0.4).view(planted, seeded())
    expected = encoder(view)
    view.directed = True
    assert torch.equal(encoder(view), expected)
    whole = DropEdges(0.0, directed=True).view(planted)
    assert torch.equal(encoder(whole), encoder(planted))


def test_gca_trains_on_directed_views(planted: Data) -> None:
    """The loss of a step has finite gradients, and a wrapped module is given the edges that are left."""
    view = AdaptiveDrop().view(planted, seeded())
    assert view.directed
    GCN(8, 4)(view).square().sum().backward()
    plain = materialize(view)
    assert plain.num_edges == int((view.edge_weight > 0).sum())
    assert not is_undirected(plain.edge_index)


def test_weights_that_differ_are_still_refused_of_a_graph(planted: Data) -> None:
    planted.edge_weight = torch.rand(planted.num_edges, generator=seeded())
    with pytest.raises(InputError, match="directions: make the graph"):
        GCN(8, 4)(planted)
    planted.edge_weight = -torch.ones(planted.num_edges)
    planted.directed = True
    with pytest.raises(InputError, match="edge weights are negative"):
        GCN(8, 4)(planted)


@pytest.mark.parametrize("encoder", [GIN, PooledGCN])
def test_encoders_of_graphs(encoder: type[GIN | PooledGCN], molecules: Data) -> None:
    """The convolutions of graphs take directed views; the sums over neighbors refuse them in a sentence."""
    view = DropEdges(0.4, directed=True).view(molecules, seeded())
    network = encoder(4, 3).eval()
    if encoder is GIN:
        with pytest.raises(InputError, match="not the same in both directions"):
            network(view)
    else:
        assert network(view).isfinite().all()
        assert not torch.equal(network(view), network(molecules))


def test_a_diffusion_of_a_directed_view_is_refused(planted: Data) -> None:
    view = DropEdges(0.4, directed=True).view(planted, seeded())
    with pytest.raises(InputError, match="not the same in both directions"):
        resolve("augmentation", "diffusion")().view(view, index=1)
