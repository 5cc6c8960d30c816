"""SUGRL: its maps and its loss written out by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.graph.walks import sampled_means
from sfa.losses import multiplet
from sfa.matrices import csr_matrix
from sfa.methods import SUGRL
from sfa.nn import MLP
from sfa.nn.layers import dropout
from sfa.nn.sparse import normalized_adjacency
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from sfa.train import RunFolder, load_tensors, train
from tests.callbacks import on_epoch

SMALL: dict[str, Any] = {"method": "sugrl", "encoder": {"hidden": 8, "inner": 16}}
SHORT_RUN: dict[str, Any] = {"encoder.hidden": 64, "encoder.inner": 128, "training.epochs": 25}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None, **options: Any) -> SUGRL:
    torch.manual_seed(0)
    return SUGRL(MLP(8, 8, inner=16), spectral=spectral, **options)


@pytest.mark.parametrize("iterations", [None, 2])
@pytest.mark.parametrize("form", ["code", "paper"])
def test_the_loss_is_put_together_from_the_papers_parts(planted: Data, form: Any, iterations: int | None) -> None:
    """With the same draws: features dropped, anchors propagated, neighbours sampled, rows shuffled."""
    options: dict[str, Any] = {"alpha": 0.5, "beta": 0.1, "weights": (2.0, 3.0, 0.5), "form": form}
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    method = make(spectral, neighbours=3, negatives=2, **options)
    generator = seeded(3)
    first, second = method.encoder.linears
    x = dropout(planted.x, 0.3, generator)
    anchor = (x @ first.weight + first.bias).relu() @ second.weight + second.bias
    maps = [anchor, normalized_adjacency(planted).matrix.to_dense() @ dropout(anchor, 0.2, generator)]
    maps.append(sampled_means(anchor, planted, 60, 3, generator))
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    orders = torch.stack([torch.randperm(60, generator=generator) for _ in range(2)])
    torch.testing.assert_close(method(planted, seeded(3)), multiplet(*maps, orders, **options))


def test_the_slot_sees_anchors_structural_and_neighbour_maps_of_the_roots(planted: Data) -> None:
    class Recorder(SpectralMap):
        def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
            seen.append(maps)
            return maps

    seen: list[tuple[Tensor, ...]] = []
    method = make(Recorder(), dropout=0.0, structural_dropout=0.0)
    planted.roots = 12
    method(planted, seeded())
    ((anchor, structural, neighbour),) = seen
    everyone = method.encoder(planted.x)
    torch.testing.assert_close(anchor, everyone[:12])
    torch.testing.assert_close(structural, method.embed(planted)[:12])
    torch.testing.assert_close(neighbour, sampled_means(everyone, planted, 12, 5, seeded()))


def test_embeddings_are_the_propagated_anchors(planted: Data) -> None:
    method = make(SpectralFeatureAugmentation())
    expected = normalized_adjacency(planted).matrix.to_dense() @ method.encoder(planted.x).detach()
    torch.testing.assert_close(method.embed(planted), expected)


def test_weights_of_runs_whose_encoder_was_called_mlp_are_read(planted: Data) -> None:
    method, other = make(), make()
    with torch.no_grad():
        for weights in other.parameters():
            weights.zero_()
    state = {name.replace("encoder.", "mlp."): value for name, value in method.state_dict().items()}
    assert any(name.startswith("mlp.") for name in state)
    other.load_state_dict(state)
    assert torch.equal(other.embed(planted), method.embed(planted))


def test_sparse_features_train_and_embed_as_dense_ones(planted: Data) -> None:
    """Every entry stored, so that the same are dropped."""
    x = planted.x
    sparse = planted.clone()
    sparse.x = csr_matrix(torch.arange(61) * 8, torch.arange(8).repeat(60), x.flatten(), (60, 8))
    method = make()
    gradients = []
    for graph in (planted, sparse):
        method.zero_grad()
        loss = method(graph, seeded(3))
        loss.backward()
        gradients.append([loss.detach(), *(weights.grad.clone() for weights in method.parameters())])  # type: ignore[union-attr]
    torch.testing.assert_close(gradients[0], gradients[1])
    torch.testing.assert_close(method.embed(sparse), method.embed(planted))


def test_nothing_is_dropped_in_eval(planted: Data) -> None:
    dropping, plain = make(), make(dropout=0.0, structural_dropout=0.0)
    # Neighbours and negatives are drawn from the same numbers only where nothing else draws any.
    torch.testing.assert_close(dropping.eval()(planted, seeded(1)), plain(planted, seeded(1)))
    assert not torch.isclose(dropping.train()(planted, seeded(1)), plain(planted, seeded(1)))


def test_a_crash_and_a_resume_give_the_same_bits(planted: Data, tmp_path: Path) -> None:
    recipe = Recipe.parse(SMALL).updated({"training.epochs": 6, "training.checkpoint_every": 3})

    class Crash(Exception):
        pass

    def break_off(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == 4:
            raise Crash

    def go(folder: RunFolder, **options: Any) -> None:
        train(recipe.build(8), planted, **recipe.training.arguments, device="cpu", folder=folder, **options)

    whole, broken = (RunFolder.create(tmp_path / name, {}, {}) for name in ("whole", "broken"))
    go(whole)
    with pytest.raises(Crash):
        go(broken, callbacks=[on_epoch(break_off)])
    go(broken, resume=True)
    tensors, found = load_tensors(whole.checkpoint)[0], load_tensors(broken.checkpoint)[0]
    assert tensors.keys() == found.keys()
    assert all(torch.equal(tensors[name], found[name]) for name in tensors)


@pytest.mark.parametrize(
    ("dataset", "lr", "layers", "rate", "weights", "margins", "negatives", "epochs", "decay"),
    [
        ("cora", 5e-3, 2, 0.3, (10, 10, 1), (0.8, 0.2), 4, 500, 5e-5),
        ("citeseer", 5e-3, 1, 0.1, (5, 5, 1), (0.8, 0.4), 5, 100, 1e-4),
        ("pubmed", 1e-2, 2, 0.4, (20, 20, 1), (0.5, 0.5), 3, 1000, 1e-4),
        ("photo", 1e-2, 2, 0.1, (100, 100, 1), (0.9, 0.9), 1, 1000, 1e-4),
        ("computers", 1e-2, 2, 0.1, (100, 100, 2), (0.4, 0.6), 5, 1000, 1e-4),
    ],
)
def test_the_authors_settings(
    dataset: str,
    lr: float,
    layers: int,
    rate: float,
    weights: tuple[float, ...],
    margins: tuple[float, float],
    negatives: int,
    epochs: int,
    decay: float,
) -> None:
    recipe = load_recipe("sugrl", dataset)
    method, training, encoder = recipe.method, recipe.training, recipe.encoder
    assert isinstance(encoder, dict)
    assert (encoder["layers"], encoder["inner"], encoder["hidden"]) == (layers, 512, 128)
    assert (method["dropout"], tuple(method["weights"]), method["negatives"]) == (rate, weights, negatives)
    assert (method["alpha"], method["beta"]) == margins
    assert (training.lr, training.epochs, training.weight_decay, training.patience) == (lr, epochs, decay, None)
    if dataset == "cora":
        assert recipe == Recipe.parse({"method": "sugrl", "spectral": "none"}), "the defaults"
