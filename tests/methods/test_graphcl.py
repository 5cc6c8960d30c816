"""GraphCL: its loss against the authors' formula, which views it contrasts, and the batches it takes."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa.augment import Identity, RandomChoice
from sfa.errors import InputError
from sfa.methods import GraphCL
from sfa.nn import GIN
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from tests.methods.slow_contrast import slow_contrast

SHORT_RUN: dict[str, Any] = {"training.epochs": 10}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None, layers: int = 3, **options: Any) -> GraphCL:
    torch.manual_seed(0)
    return GraphCL(GIN(4, 5, layers=layers), spectral=spectral, **{"tau": 0.5, **options})


@pytest.fixture
def four(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:4])
    return batch


@pytest.mark.parametrize("both_views", [False, True])
@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_authors(four: Data, iterations: int | None, both_views: bool) -> None:
    """Graph by graph, from the parts and with the same draws; with the spectral map on both pooled maps."""
    spectral = None if iterations is None else SpectralFeatureAugmentation(iterations=iterations)
    augmentation = RandomChoice(node_drop=0.3, both_views=both_views)
    method = make(spectral, augmentation=augmentation)
    generator = seeded(3)
    alpha = augmentation.view(four, generator) if both_views else four
    maps = [method.encoder(view).detach() for view in (alpha, augmentation.view(four, generator, 1))]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    z, z_plus = (method.head(h).detach() for h in maps)
    assert method(four, seeded(3)).item() == pytest.approx(slow_contrast(z, z_plus, 0.5), rel=1e-4)


def test_a_graph_of_a_batch_is_contrasted_as_it_is_alone(four: Data, molecule_list: list[Data]) -> None:
    """Without training, where batch normalization sees no batch: encoded one by one, the loss is the same."""
    method = make(augmentation=Identity()).eval()
    with torch.no_grad():
        z = torch.cat([method.head(method.encoder(Batch.from_data_list([one]))) for one in molecule_list[:4]])
    assert method(four).item() == pytest.approx(slow_contrast(z, z, 0.5), rel=1e-4)


def test_view_alpha_is_the_graphs_as_they_are_unless_both_views_are_asked_for(four: Data) -> None:
    alpha, beta = make().augmentation(four, seeded())
    assert alpha is four
    assert beta.num_nodes < four.num_nodes
    views = RandomChoice("attribute-mask", attribute_mask=0.5)(four, seeded())
    assert not any(torch.equal(view.x, four.x) for view in views)


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
    """Two layers as wide as the embeddings, with the bounds of Xavier's initialization and no bias at first."""
    torch.manual_seed(0)
    first, activation, second = GraphCL(GIN(4)).head
    assert isinstance(activation, torch.nn.ReLU)
    bound = (6 / (96 + 96)) ** 0.5
    for layer in (first, second):
        assert layer.weight.shape == (96, 96)
        assert 0.95 * bound < layer.weight.abs().max() <= bound
        assert not layer.bias.any()


def test_the_authors_settings() -> None:
    for recipe in (Recipe.parse({"method": "graphcl"}), *(load_recipe("graphcl", name) for name in ("mutag", "dd"))):
        training, encoder, views = recipe.training, recipe.encoder, recipe.augmentation
        assert isinstance(encoder, dict)
        assert isinstance(views, dict)
        assert (training.epochs, training.lr, training.weight_decay, training.patience) == (20, 0.01, 0.0, None)
        assert (recipe.sampler["name"], recipe.sampler["batch_size"]) == ("graphs", 128)
        assert (encoder["hidden"], encoder["layers"], recipe.method["tau"]) == (32, 3, 0.2)
        assert (views["node_drop"], views["subgraph_keep"], views["both_views"]) == (0.1, 0.2, False)
        assert recipe.feature_norm == "none"
    for dataset in ("mutag", "nci1", "proteins", "dd"):
        shipped = load_recipe("graphcl", dataset).augmentation
        assert isinstance(shipped, dict)
        assert shipped["kinds"] == "random2"


def test_wrong_options_are_refused() -> None:
    with pytest.raises(InputError, match="tau"):
        make(tau=0.0)
