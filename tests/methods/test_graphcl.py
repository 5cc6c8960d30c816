"""GraphCL: its loss against the authors' formula, which views it contrasts, and the batches it takes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa.errors import InputError
from sfa.methods.graphcl import GraphCL
from sfa.recipes import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from tests.methods.slow_contrast import slow_contrast


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None, **options: Any) -> GraphCL:
    torch.manual_seed(0)
    return GraphCL(4, spectral=spectral, **{"hidden": 5, "node_drop": 0.3, "tau": 0.5, **options})


@pytest.fixture
def four(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:4])
    return batch


@pytest.mark.parametrize("both_views", [False, True])
@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_authors(four: Data, iterations: int | None, both_views: bool) -> None:
    """Graph by graph, from the parts and with the same draws; with the spectral map on both pooled maps."""
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    method = make(spectral, both_views=both_views)
    generator = seeded(3)
    alpha = method.random_view(four, generator) if both_views else four
    maps = [method.encoder(view).detach() for view in (alpha, method.random_view(four, generator))]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    z, z_plus = (method.head(h).detach() for h in maps)
    assert method(four, seeded(3)).item() == pytest.approx(slow_contrast(z, z_plus, 0.5), rel=1e-4)


def test_a_graph_of_a_batch_is_contrasted_as_it_is_alone(four: Data, molecule_list: list[Data]) -> None:
    """Without training, where batch normalisation sees no batch: encoded one by one, the loss is the same."""
    method = make(augmentation="identity").eval()
    with torch.no_grad():
        z = torch.cat([method.head(method.encoder(Batch.from_data_list([one]))) for one in molecule_list[:4]])
    assert method(four).item() == pytest.approx(slow_contrast(z, z, 0.5), rel=1e-4)


@pytest.mark.parametrize(
    ("augmentation", "sizes"),
    [
        ("identity", {1.0}),
        ("node-drop", {0.5}),
        ("subgraph", {0.25}),
        ("random2", {0.5, 0.25}),
        ("random3", {0.5, 0.25, 1.0}),
        ("random4", {0.5, 0.25, 1.0}),
    ],
)
def test_each_graph_is_augmented_by_a_kind_of_its_own(augmentation: Any, sizes: set[float]) -> None:
    """Rings of 8 nodes: half of them stay after a node drop, a quarter in a subgraph, all after the other kinds."""
    ring = torch.tensor([[i, (i + 1) % 8] for i in range(8)]).T
    one = Data(x=torch.ones(8, 4), edge_index=torch.cat([ring, ring.flip(0)], 1))
    batch = Batch.from_data_list([one] * 64)
    method = make(augmentation=augmentation, node_drop=0.5, subgraph_keep=0.25, attribute_mask=1.0, edge_drop=0.5)
    alpha, beta = method.views(batch, seeded())
    assert alpha is batch
    assert set((beta.ptr.diff() / 8).tolist()) == sizes
    whole = beta.ptr.diff().index_select(0, beta.batch) == 8
    assert bool((beta.x[whole] != 1).any()) == (augmentation == "random4")
    fewer_edges = beta.edge_index[:, whole[beta.edge_index[0]]].shape[1] < 2 * int(whole.sum())
    assert fewer_edges == (augmentation in ("random3", "random4"))


def test_both_views_are_drawn_apart(four: Data) -> None:
    alpha, beta = make(both_views=True, augmentation="attribute-mask", attribute_mask=0.5).views(four, seeded())
    assert not torch.equal(alpha.x, four.x)
    assert not torch.equal(alpha.x, beta.x)


def test_the_slot_sees_both_pooled_maps(four: Data) -> None:
    class Recorder(SpectralMap):
        def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
            seen.append(maps)
            return maps

    seen: list[tuple[Tensor, ...]] = []
    method = make(Recorder(), layers=2)
    method(four, seeded())
    assert [[h.shape for h in maps] for maps in seen] == [[(4, 10), (4, 10)]]
    assert torch.equal(seen[0][0], method.encoder(four))


def test_a_batch_of_one_graph_is_refused_and_an_empty_graph_is_not(molecule_list: list[Data]) -> None:
    with pytest.raises(InputError, match="batch of one has no negatives"):
        make()(Batch.from_data_list(molecule_list[:1]), seeded())
    nothing = Data(x=torch.zeros(0, 4), edge_index=torch.zeros(2, 0, dtype=torch.int64), y=torch.tensor([0]))
    method = make(SpectralFeatureAugmentation())
    loss = method(Batch.from_data_list([molecule_list[0], nothing, nothing]), seeded())
    loss.backward()
    assert loss.isfinite()
    assert all(weights.grad is not None and weights.grad.isfinite().all() for weights in method.parameters())


def test_the_projector_is_the_authors() -> None:
    """Two layers as wide as the embeddings, with the bounds of Xavier's initialisation and no bias at first."""
    torch.manual_seed(0)
    first, activation, second = GraphCL(4).head
    assert isinstance(activation, torch.nn.ReLU)
    bound = (6 / (96 + 96)) ** 0.5
    for layer in (first, second):
        assert layer.weight.shape == (96, 96)
        assert 0.95 * bound < layer.weight.abs().max() <= bound
        assert not layer.bias.any()


def test_the_authors_settings() -> None:
    for recipe in (Recipe.parse({"method": "graphcl"}), *(load_recipe("graphcl", name) for name in ("mutag", "dd"))):
        training, method = recipe.training, recipe.method
        assert (training.epochs, training.lr, training.weight_decay, training.patience) == (20, 0.01, 0.0, None)
        assert (recipe.sampler["name"], recipe.sampler["batch_size"]) == ("graphs", 128)
        assert (method["hidden"], method["layers"], method["tau"]) == (32, 3, 0.2)
        assert (method["node_drop"], method["subgraph_keep"], method["both_views"]) == (0.1, 0.2, False)
        assert recipe.feature_norm == "none"
    for dataset in ("mutag", "nci1", "proteins", "dd"):
        assert load_recipe("graphcl", dataset).method["augmentation"] == "random2"


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'random4'"):
        make(augmentation="random5")
    with pytest.raises(InputError, match="node_drop"):
        make(node_drop=1.5)
    with pytest.raises(InputError, match="tau"):
        make(tau=0.0)
