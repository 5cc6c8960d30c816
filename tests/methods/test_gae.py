"""GAE and VGAE: their losses against the dense formulas, what the spectral map sees, and what they share."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.graph import walks as non_edges
from sfa.graph.walks import ones_and_zeros
from sfa.methods import GAE, VGAE, Method
from sfa.nn import GCN
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from sfa.train import RunFolder, load_tensors, train
from tests.callbacks import on_epoch

SHORT_RUN: dict[str, Any] = {"training.epochs": 50}
both = pytest.mark.parametrize(("name", "method_class"), [("gae", GAE), ("vgae", VGAE)], ids=["gae", "vgae"])


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(method_class: type[GAE] | type[VGAE], spectral: SpectralMap | None = None) -> Any:
    """One whose embeddings are 4 wide."""
    torch.manual_seed(0)
    if method_class is GAE:
        return GAE(GCN(8, 4, activate_last=False), spectral=spectral)
    return VGAE(GCN(8, 8, widths="constant", activate_last=False), spectral=spectral)


def ones_of(graph: Data) -> Tensor:
    """The adjacency with ones on the diagonal."""
    adjacency = torch.eye(graph.num_nodes)
    adjacency[graph.edge_index[0], graph.edge_index[1]] = 1
    return adjacency


def weighted_cross_entropy(z: Tensor, adjacency: Tensor) -> Tensor:
    """Over all n² entries: ones weighted by zeros over ones, the mean scaled by n² over twice the zeros."""
    n2, ones = adjacency.numel(), adjacency.sum()
    predicted = torch.sigmoid(z @ z.T)
    weight = (n2 - ones) / ones
    entries = -(weight * adjacency * predicted.log() + (1 - adjacency) * (1 - predicted).log())
    return n2 / (2 * (n2 - ones)) * entries.mean()


def take_all_zeros(monkeypatch: pytest.MonkeyPatch, graph: Data) -> None:
    """In place of a sample of the zeros, take all of them."""
    zeros = (ones_of(graph) == 0).nonzero().T
    monkeypatch.setattr(non_edges, "random_non_edges", lambda pattern, count, generator: zeros)


@pytest.mark.parametrize("spectral", [None, SpectralFeatureAugmentation(iterations=2)], ids=["none", "sfa"])
def test_the_loss_decodes_the_adjacency(
    monkeypatch: pytest.MonkeyPatch, planted: Data, spectral: SpectralMap | None
) -> None:
    take_all_zeros(monkeypatch, planted)
    method = build(GAE, spectral)
    z = method.encoder(planted)
    if spectral is not None:
        z = power_iteration(z, 2, generator=seeded(3))
    torch.testing.assert_close(method(planted, seeded(3)), weighted_cross_entropy(z, ones_of(planted)))


@both
def test_as_many_zeros_as_ones_are_drawn_anew_in_every_step(
    monkeypatch: pytest.MonkeyPatch, planted: Data, name: str, method_class: Any
) -> None:
    drawn: list[Tensor] = []
    random_non_edges = non_edges.random_non_edges

    def spy(*arguments: Any) -> Tensor:
        drawn.append(random_non_edges(*arguments))
        return drawn[-1]

    monkeypatch.setattr(non_edges, "random_non_edges", spy)
    method, generator = build(method_class), seeded()
    method(planted, generator)
    method(planted, generator)
    assert [zeros.shape for zeros in drawn] == [(2, planted.edge_index.shape[1] + 60)] * 2
    assert not torch.equal(*drawn)


@both
def test_sfa_in_the_slot_changes_the_loss_and_leaves_the_embeddings_plain(
    planted: Data, name: str, method_class: Any
) -> None:
    plain, augmented = build(method_class), build(method_class, SpectralFeatureAugmentation())
    assert not torch.isclose(plain(planted, seeded()), augmented(planted, seeded()), rtol=1e-4)
    expected = plain.encoder(planted)[:, :4]
    for method in (plain, augmented):
        torch.testing.assert_close(method.embed(planted), expected.detach())
        assert method.embed(planted).is_contiguous()


def test_the_encoder_is_the_authors() -> None:
    """32 units and 16 for the embedding, without an activation at the end."""
    encoder = Recipe.parse({"method": "gae"}).build(1433).encoder
    assert [tuple(layer.weight.shape) for layer in encoder.convolutions] == [(1433, 32), (32, 16)]
    graph = Data(x=torch.randn(5, 1433, generator=seeded()), edge_index=torch.tensor([[0, 1], [1, 0]]))
    assert (encoder(graph) < 0).any()


@both
def test_the_recipe_is_the_authors(name: str, method_class: type[Method]) -> None:
    recipe = Recipe.parse({"method": name})
    assert (recipe.training.epochs, recipe.training.lr, recipe.training.weight_decay) == (200, 0.01, 0.0)
    assert recipe.training.patience is None
    assert recipe.build(8).width == 16
    assert recipe.feature_norm == "none"


@both
def test_sparse_features_give_the_same_loss(planted: Data, name: str, method_class: Any) -> None:
    method, sparse = build(method_class), planted.clone()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that sparse CSR tensors are in beta
        sparse.x = planted.x.to_sparse_csr()
    torch.testing.assert_close(method(sparse, seeded()), method(planted, seeded()))


@both
def test_edge_weights_are_the_encoders_affair(planted: Data, name: str, method_class: Any) -> None:
    weighted = planted.clone()
    weighted.edge_weight = torch.full((planted.edge_index.shape[1],), 3.0)
    for graph in (planted, weighted):
        ones, zeros = ones_and_zeros(graph, seeded())
        assert set(map(tuple, ones.T.tolist())) == set(map(tuple, ones_of(planted).nonzero().tolist()))
        assert not ones_of(planted)[zeros[0], zeros[1]].any()
    method = build(method_class)
    assert not torch.allclose(method.embed(weighted), method.embed(planted))


@both
def test_roots_alone_cannot_be_decoded(name: str, method_class: Any) -> None:
    """Random roots of sampled neighbours are hardly ever joined: there would be nothing to decode."""
    with pytest.raises(InputError, match=f"{name} works with the sampler whole or random-walks or clusters, not with"):
        Recipe.parse({"method": name, "sampler": "neighbours"})


@both
@pytest.mark.parametrize("sampler", ["random-walks", "clusters"])
def test_trains_on_subgraphs(planted: Data, name: str, method_class: Any, sampler: str) -> None:
    changes = {"encoder.hidden": 4, "sampler.name": sampler, "sampler.batch_size": 20, "training.epochs": 20}
    recipe = Recipe.parse({"method": name, "spectral": "none"}).updated(changes)
    losses: list[float] = []
    train(
        recipe.build(8),
        planted,
        **recipe.training.arguments,
        sampler=recipe.make_sampler(),
        device="cpu",
        callbacks=[on_epoch(lambda metrics: losses.append(metrics["loss"]))],
    )
    assert sum(losses[-3:]) < sum(losses[:3])


@both
def test_a_crash_and_a_resume_give_the_same_bits(planted: Data, tmp_path: Path, name: str, method_class: Any) -> None:
    recipe = Recipe.parse({"method": name}).updated({"training.epochs": 6, "training.checkpoint_every": 2})

    def go(folder: RunFolder, **more: Any) -> None:
        train(recipe.build(8), planted, **recipe.training.arguments, folder=folder, device="cpu", **more)

    def crash(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == 5:
            raise KeyError

    whole, broken = (RunFolder.create(tmp_path / part, {}, {}) for part in ("whole", "broken"))
    go(whole)
    with pytest.raises(KeyError):
        go(broken, callbacks=[on_epoch(crash)])
    go(broken, resume=True)
    (tensors, meta), (others, other_meta) = load_tensors(whole.checkpoint), load_tensors(broken.checkpoint)
    assert meta == other_meta
    assert tensors.keys() == others.keys()
    assert all(torch.equal(tensors[key], others[key]) for key in tensors)


@pytest.mark.parametrize("spectral", [None, SpectralFeatureAugmentation(iterations=2)], ids=["none", "sfa"])
def test_the_loss_decodes_samples_and_keeps_near_the_prior(
    monkeypatch: pytest.MonkeyPatch, planted: Data, spectral: SpectralMap | None
) -> None:
    take_all_zeros(monkeypatch, planted)
    method, generator = build(VGAE, spectral), seeded(3)
    mu, log_sigma = method.encoder(planted).split(4, dim=1)
    if spectral is not None:
        mu = power_iteration(mu, 2, generator=generator)
    z = mu + log_sigma.exp() * torch.randn(60, 4, generator=generator)
    divergence = 0.5 * (mu**2 + log_sigma.exp() ** 2 - 1 - 2 * log_sigma).sum() / 60
    expected = weighted_cross_entropy(z, ones_of(planted)) + divergence / 60
    torch.testing.assert_close(method(planted, seeded(3)), expected)


def test_the_slot_holds_the_means_alone(planted: Data) -> None:
    seen: list[Tensor] = []

    class Recorder(SpectralMap):
        def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
            seen.append(h)
            return h

    method = build(VGAE, Recorder())
    method(planted, seeded())
    torch.testing.assert_close(*seen, method.encoder(planted)[:, :4])


def test_the_encoder_of_vgae_is_the_authors() -> None:
    """32 units, and 16 for the means and for the deviations, without an activation at the end."""
    encoder = Recipe.parse({"method": "vgae"}).build(1433).encoder
    assert [tuple(layer.weight.shape) for layer in encoder.convolutions] == [(1433, 32), (32, 32)]
    graph = Data(x=torch.randn(5, 1433, generator=seeded()), edge_index=torch.tensor([[0, 1], [1, 0]]))
    assert (encoder(graph) < 0).any()


def test_an_encoder_of_odd_width_is_refused() -> None:
    with pytest.raises(InputError, match="its width is even, not 5"):
        VGAE(GCN(8, 5))
