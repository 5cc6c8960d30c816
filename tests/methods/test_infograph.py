"""InfoGraph: its loss against the authors' formula, what the slot sees, and the batches it takes."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from sfa.errors import InputError
from sfa.methods import InfoGraph
from sfa.nn import GIN
from sfa.nn.discriminators import ResidualDiscriminator
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration

SHORT_RUN: dict[str, Any] = {"training.epochs": 3}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None) -> InfoGraph:
    torch.manual_seed(0)
    return InfoGraph(GIN(4, 5, layers=2), spectral=spectral)


@pytest.fixture
def four(molecule_list: list[Data]) -> Data:
    batch: Data = Batch.from_data_list(molecule_list[:4])
    return batch


def slow_perceptron(discriminator: ResidualDiscriminator, h: Tensor) -> Tensor:
    """Three layers with a ReLU after each, and a linear one beside them."""
    first, second, third = (layer for layer in discriminator.block if isinstance(layer, torch.nn.Linear))
    out = h
    for layer in (first, second, third):
        out = (out @ layer.weight.T + layer.bias).clamp(min=0)
    return out + h @ discriminator.shortcut.weight.T + discriminator.shortcut.bias


@torch.no_grad()
def slow_loss(method: InfoGraph, local: Tensor, pooled: Tensor, owner: list[int]) -> float:
    """The authors' estimate, node by node and graph by graph, scaled to ours."""
    nodes = slow_perceptron(method.local_discriminator, local).double()
    graphs = slow_perceptron(method.global_discriminator, pooled).double()
    positive = negative = 0.0
    for i, node in enumerate(nodes):
        for g, graph in enumerate(graphs):
            u = float(node @ graph)
            if owner[i] == g:
                positive += math.log(2) - math.log1p(math.exp(-u))
            else:
                negative += math.log1p(math.exp(-u)) + u - math.log(2)
    estimate = positive / len(nodes) - negative / (len(nodes) * (len(graphs) - 1))
    return math.log(2) - estimate / 2


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_authors_with_the_slot_on_the_pooled_map(four: Data, iterations: int | None) -> None:
    method = make(None if iterations is None else SpectralFeatureAugmentation(iterations=iterations))
    local = method.encoder.nodes(four).detach()
    owner = four.batch.tolist()
    pooled = torch.stack([sum(local[i] for i in range(len(owner)) if owner[i] == g) for g in range(4)])  # type: ignore[misc]
    if iterations is not None:
        pooled = power_iteration(pooled, iterations, generator=seeded(3))
    assert method(four, seeded(3)).item() == pytest.approx(slow_loss(method, local, pooled, owner), rel=1e-5)


def test_embeddings_are_the_sums_of_the_nodes(four: Data) -> None:
    method = make().eval()
    with torch.no_grad():
        local = method.encoder.nodes(four)
    expected = torch.stack([local[four.batch == g].sum(0) for g in range(4)])
    torch.testing.assert_close(method.embed(four), expected)


def test_both_the_nodes_and_the_graphs_train_the_encoder(four: Data) -> None:
    """The gradient in the encoder is that of its pooled output and that of its nodes together."""

    class Detached(SpectralMap):
        def augment(self, h: Tensor, generator: torch.Generator | None = None) -> Tensor:
            return h.detach()

    def gradient(spectral: SpectralMap | None, freeze_nodes: bool = False) -> Tensor:
        method = make(spectral)
        if freeze_nodes:
            method.local_discriminator.register_forward_pre_hook(lambda _, inputs: (inputs[0].detach(),))
        method(four, seeded()).backward()
        return next(method.encoder.parameters()).grad

    of_nodes, of_graphs = gradient(Detached()), gradient(None, freeze_nodes=True)
    assert of_nodes.any()
    assert of_graphs.any()
    torch.testing.assert_close(of_nodes + of_graphs, gradient(None))


def test_a_batch_of_one_graph_is_refused_and_an_empty_graph_is_not(molecule_list: list[Data]) -> None:
    with pytest.raises(InputError, match=r"wholes \(b ≥ 2, d\)"):
        make()(Batch.from_data_list(molecule_list[:1]), seeded())
    nothing = Data(x=torch.zeros(0, 4), edge_index=torch.zeros(2, 0, dtype=torch.int64), y=torch.tensor([0]))
    method = make(SpectralFeatureAugmentation())
    loss = method(Batch.from_data_list([nothing, molecule_list[0], nothing]), seeded())
    loss.backward()
    assert loss.isfinite()
    assert all(weights.grad is not None and weights.grad.isfinite().all() for weights in method.parameters())


def test_settings() -> None:
    for recipe in (Recipe.parse({"method": "infograph"}), load_recipe("infograph", "nci1")):
        training = recipe.training
        assert (training.epochs, training.lr, training.weight_decay, training.patience) == (20, 0.01, 0.0, None)
        assert (recipe.sampler["name"], recipe.sampler["batch_size"]) == ("graphs", 128)
        assert recipe.encoder == {"name": "gin", "hidden": 32, "layers": 3}
