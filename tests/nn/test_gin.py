"""The graph isomorphism network against torch_geometric's layers with the same weights, and against its formula."""

import math

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv, global_add_pool

from sfa.nn import GIN
from sfa.seeding import seeded_initialization
from tests.graph.graph_batches import WIDTH, mixed_batch, random_graphs, seeded, to_batch


class Reference(nn.Module):
    """GraphCL's encoder in torch_geometric's parts: BN(ReLU(GINConv(MLP))), sum pooling, concatenation."""

    def __init__(self, ours: GIN) -> None:
        super().__init__()
        self.convolutions, self.norms = nn.ModuleList(), nn.ModuleList()
        for layer in ours.layers:
            perceptron = nn.Sequential(nn.Linear(*layer.inner.weight.shape[::-1]), nn.ReLU())
            perceptron.append(nn.Linear(*layer.outer.weight.shape[::-1]))
            norm = nn.BatchNorm1d(len(layer.norm.weight))
            for theirs, own in ((perceptron[0], layer.inner), (perceptron[2], layer.outer), (norm, layer.norm)):
                theirs.to(own.weight.dtype).load_state_dict(own.state_dict())
            convolution = GINConv(nn.Identity())  # which would draw the perceptron's weights anew
            convolution.nn = perceptron
            self.convolutions.append(convolution)
            self.norms.append(norm)

    def forward(self, batch: Data) -> tuple[Tensor, Tensor]:
        h, outputs = batch.x, []
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            h = norm(convolution(h, batch.edge_index).relu())
            outputs.append(h)
        pooled = [global_add_pool(h, batch.batch, len(batch.ptr) - 1) for h in outputs]
        return torch.cat(outputs, 1), torch.cat(pooled, 1)


def perturbed(encoder: GIN) -> GIN:
    """With biases and affine weights that are not 0 and 1."""
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.add_(0.2 * torch.randn(parameter.shape, generator=seeded(), dtype=parameter.dtype))
    return encoder


@pytest.mark.parametrize("hidden", [2, 3, 5])  # narrower than the features, as wide, and wider
@pytest.mark.parametrize("training", [True, False])
def test_values_and_gradients_are_those_of_torch_geometric(hidden: int, training: bool) -> None:
    with seeded_initialization(0):
        ours = perturbed(GIN(WIDTH, hidden).double()).train(training)
    theirs = Reference(ours).train(training)
    batch = mixed_batch()
    batch.x = batch.x.double()
    _, pooled = theirs(batch)
    result = ours(batch)
    torch.testing.assert_close(result, pooled)
    direction = torch.randn(pooled.shape, generator=seeded(1), dtype=pooled.dtype)
    gradients = torch.autograd.grad((result * direction).sum(), list(ours.parameters()))
    expected = torch.autograd.grad((pooled * direction).sum(), list(theirs.parameters()))
    by_name = dict(zip((name for name, _ in theirs.named_parameters()), expected, strict=True))
    for (name, _), gradient in zip(ours.named_parameters(), gradients, strict=True):
        _, number, part, kind = name.split(".")
        place = f"norms.{number}" if part == "norm" else f"convolutions.{number}.nn.{0 if part == 'inner' else 2}"
        torch.testing.assert_close(gradient, by_name[f"{place}.{kind}"])
    if training:
        for layer, norm in zip(ours.layers, theirs.norms, strict=True):
            torch.testing.assert_close(layer.norm.running_mean, norm.running_mean)
    torch.testing.assert_close(ours.eval().nodes(batch), theirs.eval()(batch)[0])


@pytest.mark.parametrize("hidden", [2, 5])
def test_edge_weights_weigh_the_neighbours(hidden: int) -> None:
    batch = mixed_batch(weighted=True)
    encoder = perturbed(GIN(WIDTH, hidden, layers=1)).eval()
    layer, n = encoder.layers[0], batch.num_nodes
    adjacency = torch.zeros(n, n)
    adjacency[tuple(batch.edge_index)] = batch.edge_weight
    sums = batch.x + adjacency @ batch.x
    expected = layer.norm(layer.outer(layer.inner(sums).relu()).relu())
    torch.testing.assert_close(encoder.nodes(batch), expected)


def test_initial_weights_are_xavier_uniform_and_biases_zero() -> None:
    with seeded_initialization(0):
        encoder = GIN(50, 40, layers=2)
    for layer, (fan_in, fan_out) in ((encoder.layers[0].inner, (50, 40)), (encoder.layers[1].outer, (40, 40))):
        bound = math.sqrt(6 / (fan_in + fan_out))
        assert layer.weight.shape == (fan_out, fan_in)
        assert 0.98 * bound < float(layer.weight.detach().abs().max()) <= bound
        torch.testing.assert_close(float(layer.weight.detach().std()), bound / math.sqrt(3), rtol=0.05, atol=0)
        assert not layer.bias.any()


def test_bfloat16_by_autocast() -> None:
    batch = to_batch(random_graphs(0, [9, 8, 7, 12]))
    with seeded_initialization(0):
        encoder = GIN(WIDTH, 16)
    expected = encoder(batch)
    with torch.autocast("cpu", torch.bfloat16):
        result = encoder(batch)
    assert result.dtype == torch.float32
    error = (result - expected).norm() / expected.norm()
    assert 0 < error < 0.05
    result.square().mean().backward()
    assert all(bool(p.grad is not None and p.grad.isfinite().all()) for p in encoder.parameters())
