"""SIGNA: its positives, its maps and its loss written out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.graph.walks import Transitions, draw_uniform
from sfa.matrices import csr_matrix
from sfa.methods import SIGNA
from sfa.nn import GCN, MLP
from sfa.nn.sparse import normalized_adjacency
from sfa.run import Recipe
from sfa.sampling import Neighbors
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from sfa.train import RunFolder, load_tensors, train
from tests.callbacks import on_epoch
from tests.losses.test_jensen_shannon import slow_normalized_jensen_shannon
from tests.methods.conformance import build

SMALL: dict[str, Any] = {"encoder.hidden": 8, "encoder.inner": 16, "method.projection": 8, "sampler.batch_size": 16}
SHORT_RUN: dict[str, Any] = {"encoder.hidden": 64, "encoder.inner": 128, "training.epochs": 15, "training.lr": 5e-3}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None, *, dropout: float = 0.3, **options: Any) -> SIGNA:
    torch.manual_seed(0)
    encoder = MLP(8, 6, inner=16, dropout=dropout, activation="prelu", layer_norm=True, activate_last=True)
    return SIGNA(encoder, projection=4, spectral=spectral, **options)


@pytest.mark.parametrize("iterations", [None, 2])
@pytest.mark.parametrize("mask", [0.0, 0.4, 1.0])
def test_the_loss_is_put_together_from_the_papers_parts(planted: Data, mask: float, iterations: int | None) -> None:
    """With the same draws: positives, dropped features, projections."""
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    method, generator = make(spectral, mask=mask), seeded(3)
    own = torch.arange(60)
    neighbor = Transitions.of(planted).step(own, generator)
    positive = torch.where(draw_uniform(own, generator) < mask, own, neighbor)
    h = method.encoder(torch.cat([planted.x, planted.x[positive]]), generator)
    maps = [h[:60], h[60:]]
    if iterations is not None:
        maps = [power_iteration(one, iterations, generator=generator) for one in maps]
    expected = slow_normalized_jensen_shannon(*(method.head(one) for one in maps))
    torch.testing.assert_close(method(planted, seeded(3)), expected)


class TestPositives:
    def test_are_uniform_neighbors_or_the_node_itself_as_often_as_is_masked(self, planted: Data) -> None:
        adjacent = torch.zeros(60, 60, dtype=torch.bool)
        adjacent[tuple(planted.edge_index)] = True
        method, generator, draws = make(mask=0.3), seeded(1), 4000
        counts = torch.zeros(60, 60)
        for _ in range(draws):
            counts[torch.arange(60), method.partners(planted, generator)] += 1
        degree = adjacent.sum(1)
        expected = 0.7 * adjacent / degree.clamp_min(1)[:, None] + torch.diag(torch.where(degree > 0, 0.3, 1.0))
        assert not counts[expected == 0].any()
        torch.testing.assert_close(counts / draws, expected.float(), rtol=0, atol=0.05)

    def test_of_isolated_nodes_and_of_a_graph_without_edges_are_the_nodes_themselves(self, planted: Data) -> None:
        edges = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        for isolated, some in ((3, edges), (0, edges[:, :0])):
            graph = Data(x=planted.x, edge_index=some)
            method = make(mask=0.0)
            assert torch.equal(method.partners(graph, seeded())[isolated:], torch.arange(60)[isolated:])
            method(graph, seeded()).backward()
            assert all(weights.grad.isfinite().all() for weights in method.parameters())  # type: ignore[union-attr]
            assert method.embed(graph).isfinite().all()

    @pytest.mark.parametrize("mask", [0.0, 1.0])
    def test_in_a_batch_are_neighbors_in_the_whole_graph(self, planted: Data, mask: float) -> None:
        adjacent = torch.eye(60, dtype=torch.bool)
        adjacent[tuple(planted.edge_index)] = True
        batch = Neighbors(planted, batch_size=16, fanouts=(1,)).batch(torch.arange(5, 21), seeded())
        assert batch.num_nodes <= 32, "seeds and one neighbor of each"
        partners = batch.nodes[make(mask=mask).partners(batch, seeded())]
        assert adjacent[batch.nodes[:16], partners].all()
        assert torch.equal(partners, batch.nodes[:16]) is (mask == 1)


def test_the_slot_sees_the_roots_and_their_positives(planted: Data) -> None:
    class Recorder(SpectralMap):
        def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
            seen.append(maps)
            return maps

    seen: list[tuple[Tensor, ...]] = []
    method = make(Recorder(), dropout=0.0)
    planted.roots = 12
    method(planted, seeded())
    everyone = method.encoder(planted.x)
    torch.testing.assert_close(seen[0], (everyone[:12], everyone[method.partners(planted, seeded())]))


@pytest.mark.parametrize("sampler", ["whole", {"name": "neighbours", "fanouts": [4, 4]}])
def test_an_encoder_that_uses_edges_sees_them(planted: Data, sampler: Any) -> None:
    """Row by row it would be another encoder than the one that embeds."""
    gcn = build("signa", planted, sampler=sampler, encoder={"name": "gcn"})
    assert isinstance(gcn.encoder, GCN)
    maps: list[Any] = []
    gcn(planted, seeded(), observe=maps.append)
    torch.testing.assert_close(maps[0].h_alpha, gcn.encoder(planted).detach())
    assert gcn.embed(planted).isfinite().all()


def test_a_plain_module_on_features_gets_the_rows_of_the_pairs_alone(planted: Data) -> None:
    class Counting(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            rows.append(len(input))
            return super().forward(input)

    rows: list[int] = []
    method = SIGNA(Counting(8, 6), projection=4)
    rows.clear()
    planted.roots = 12
    method(planted, seeded()).backward()
    assert rows == [24]
    assert method.embed(planted).shape == (60, 18)


@pytest.mark.parametrize("hops", [0, 1, 2])
def test_embeddings_are_the_encoders_beside_propagated_ones(planted: Data, hops: int) -> None:
    method = make(SpectralFeatureAugmentation(), hops=hops)
    z = method.encoder.eval()(planted.x).detach()
    adjacency = normalized_adjacency(planted).matrix.to_dense()
    blocks = [torch.linalg.matrix_power(adjacency, hop) @ z for hop in range(hops + 1)]
    expected = torch.cat([nn.functional.normalize(block) for block in blocks], dim=1) if hops else z
    torch.testing.assert_close(method.embed(planted), expected)


def test_nodes_of_another_graph_are_embedded(planted: Data) -> None:
    method = make()
    keep = 40
    edges = planted.edge_index[:, (planted.edge_index < keep).all(0)]
    part = build_graph(planted.x[:keep].numpy(), edges.numpy())
    torch.testing.assert_close(method.embed(part)[:, :6], method.embed(planted)[:keep, :6])
    assert method.embed(part).shape == (keep, 18)


def test_sparse_features_train_and_embed_as_dense_ones(planted: Data) -> None:
    """Every entry stored, so that the same are dropped."""
    sparse = planted.clone()
    sparse.x = csr_matrix(torch.arange(61) * 8, torch.arange(8).repeat(60), planted.x.flatten(), (60, 8))
    method = make()
    gradients = []
    for graph in (planted, sparse):
        method.zero_grad()
        loss = method(graph, seeded(3))
        loss.backward()
        gradients.append([loss.detach(), *(weights.grad.clone() for weights in method.parameters())])  # type: ignore[union-attr]
    torch.testing.assert_close(gradients[0], gradients[1])
    torch.testing.assert_close(method.embed(sparse), method.embed(planted))


def test_a_crash_and_a_resume_give_the_same_bits(planted: Data, tmp_path: Path) -> None:
    recipe = Recipe.parse({"method": "signa"}).updated({**SMALL, "training.epochs": 6, "training.checkpoint_every": 3})

    class Crash(Exception):
        pass

    def break_off(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == 4:
            raise Crash

    def go(folder: RunFolder, **options: Any) -> None:
        arguments: dict[str, Any] = {**recipe.training.arguments, "sampler": recipe.make_sampler(), "device": "cpu"}
        train(recipe.build(8), planted, **arguments, folder=folder, **options)

    whole, broken = (RunFolder.create(tmp_path / name, {}, {}) for name in ("whole", "broken"))
    go(whole)
    with pytest.raises(Crash):
        go(broken, callbacks=[on_epoch(break_off)])
    go(broken, resume=True)
    tensors, found = load_tensors(whole.checkpoint)[0], load_tensors(broken.checkpoint)[0]
    assert tensors.keys() == found.keys()
    assert all(torch.equal(tensors[name], found[name]) for name in tensors)
