"""The learned prior: its two losses against loops, where gradients go, and that training makes views of a graph."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa.methods.lp_info import ViewGenerator, candidate_pairs, divergence_of_each, reconstruction_of_each
from sfa.nn import GIN


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(**options: float) -> ViewGenerator:
    torch.manual_seed(0)
    settings = {"walks": 4, "length": 6, "least": 0.1, **options}
    return ViewGenerator(GIN(4, 8, layers=2), 8, **settings)  # type: ignore[arg-type]


@pytest.fixture
def five(molecule_list: list[Data]) -> Data:
    """Three molecules, a graph without edges and one without nodes."""
    lonely = Data(x=torch.eye(4)[:3], edge_index=torch.zeros(2, 0, dtype=torch.int64), y=torch.tensor([0]))
    nothing = Data(x=torch.zeros(0, 4), edge_index=torch.zeros(2, 0, dtype=torch.int64), y=torch.tensor([0]))
    batch: Data = Batch.from_data_list([molecule_list[0], lonely, molecule_list[1], nothing, molecule_list[2]])
    return batch


def test_the_reconstruction_of_each_graph(five: Data) -> None:
    candidates = candidate_pairs(five, seeded())
    scores = 3 * torch.randn(len(candidates.graph), generator=seeded(1), dtype=torch.float64)
    expected = []
    for graph in range(5):
        mine = [k for k, of in enumerate(candidates.graph.tolist()) if of == graph]
        ones = [math.log1p(math.exp(-float(scores[k]))) for k in mine if candidates.joined[k]]
        zeros = [math.log1p(math.exp(float(scores[k]))) for k in mine if not candidates.joined[k]]
        expected.append(sum(ones) / max(1, len(ones)) + sum(zeros) / max(1, len(zeros)))
    assert expected[1] == expected[3] == 0
    assert reconstruction_of_each(candidates, scores, 5).tolist() == pytest.approx(expected)
    assert torch.autograd.gradcheck(lambda s: reconstruction_of_each(candidates, s, 5), scores.requires_grad_())


def test_the_divergence_of_each_graph(five: Data) -> None:
    mu, raw = torch.randn(2, five.num_nodes, 3, generator=seeded(), dtype=torch.float64)
    sigma = raw.exp()
    expected = []
    for start, stop in zip(five.ptr[:-1].tolist(), five.ptr[1:].tolist(), strict=True):
        total = sum(
            (float(m) ** 2 + float(s) ** 2 - 1 - 2 * math.log(float(s))) / 2
            for node in range(start, stop)
            for m, s in zip(mu[node], sigma[node], strict=True)
        )
        expected.append(total / max(1, stop - start) ** 2)
    assert divergence_of_each(mu, sigma, five.ptr).tolist() == pytest.approx(expected)
    inputs = (mu.requires_grad_(), sigma.requires_grad_())
    assert torch.autograd.gradcheck(lambda m, s: divergence_of_each(m, s, five.ptr), inputs)


def test_losses_are_those_of_a_sample_of_the_nodes_gaussians(five: Data) -> None:
    """From the parts, pair by pair and with the same draws."""
    generator = make()
    draw = seeded(3)
    h = generator.encoder.nodes(five)
    mu, sigma = generator.mean(h), generator.deviation(h) + 1e-6
    z = mu + sigma * torch.randn(mu.shape, generator=draw)
    candidates = candidate_pairs(five, draw)
    scores = torch.stack([generator.decoder(z[i] * z[j]).squeeze() for i, j in candidates.pairs.T])
    found = generator(five, seeded(3))
    torch.testing.assert_close(found.reconstruction, reconstruction_of_each(candidates, scores, 5))
    torch.testing.assert_close(found.divergence, divergence_of_each(mu, sigma, five.ptr))


def test_views_have_the_graphs_of_the_batch_and_carry_no_gradient(five: Data) -> None:
    found = make()(five, seeded())
    assert not found.view.x.requires_grad
    sizes = found.view.ptr.diff()
    assert bool((sizes <= five.ptr.diff()).all())
    assert (sizes > 0).tolist() == [True, True, True, False, True]
    assert found.view.edge_weight is None
    same, other = (make()(five, seeded(seed)).view for seed in (0, 1))
    assert torch.equal(found.view.edge_index, same.edge_index)
    assert not torch.equal(found.view.edge_index, other.edge_index) or not torch.equal(found.view.x, other.x)


def test_every_weight_gets_a_gradient_and_no_edges_are_no_trouble(five: Data) -> None:
    lonely = Batch.from_data_list([Data(x=torch.eye(4), edge_index=torch.zeros(2, 0, dtype=torch.int64))] * 2)
    for batch in (five, lonely):
        generator = make()
        found = generator(batch, seeded())
        (found.reconstruction.sum() + found.divergence.sum()).backward()
        assert all(weights.grad is not None and weights.grad.isfinite().all() for weights in generator.parameters())


def share_of_edges(generator: ViewGenerator, batch: Data) -> float:
    """How many edges of views are edges of the graphs."""

    def keys(graph: Data, nodes: Tensor) -> Tensor:
        row, col = nodes[graph.edge_index]
        return row * 10_000 + col

    marked = batch.clone()
    marked.x = torch.cat([batch.x, torch.arange(batch.num_nodes, dtype=torch.float32)[:, None]], 1)
    encoder = generator.encoder
    plain = encoder.nodes
    encoder.nodes = lambda given, draw=None: plain(batch, draw)  # type: ignore[method-assign]
    with torch.no_grad():
        view = generator(marked, seeded(5)).view
    encoder.nodes = plain  # type: ignore[method-assign]
    found = keys(view, view.x[:, 4].long())
    return float(torch.isin(found, keys(batch, torch.arange(batch.num_nodes))).float().mean())


def test_training_makes_walks_follow_the_edges(molecule_list: list[Data]) -> None:
    batch = Batch.from_data_list(molecule_list)
    generator = make(walks=8)
    before = share_of_edges(generator, batch)
    optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
    for step in range(60):
        optimizer.zero_grad()
        found = generator(batch, seeded(step))
        found.reconstruction.mean().backward()
        optimizer.step()
    assert share_of_edges(generator, batch) > before + 0.1
