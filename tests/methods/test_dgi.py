"""DGI's loss is its paper's, on plain and on augmented feature maps."""

import copy
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.methods import DGI, Method
from sfa.nn import GCN
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from sfa.train import LambdaCallback, train
from tests.augment.dense_diffusion import dense_adjacency, dense_encoder

SHORT_RUN: dict[str, Any] = {"encoder.hidden": 64, "training.lr": 5e-3, "training.epochs": 15}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def build(spectral: SpectralMap | None = None) -> DGI:
    torch.manual_seed(0)
    return DGI(GCN(8, 6, layers=1, activation="prelu"), spectral=spectral).double()


def dense_map(method: DGI, graph: Data, x: Tensor) -> Tensor:
    return dense_encoder(method.encoder, dense_adjacency(graph), x)


@torch.no_grad()
def slow_loss(method: DGI, h: Tensor, h_shuffled: Tensor) -> float:
    """Eq. 1 of the paper, node by node, with D and R as in its sections 3.3 and 4.2."""
    s = [1 / (1 + math.exp(-float(column))) for column in h.mean(0)]
    weight = method.discriminator.weight.tolist()

    def probability(row: list[float]) -> float:
        score = sum(row[i] * weight[i][j] * s[j] for i in range(6) for j in range(6))
        return 1 / (1 + math.exp(-score))

    objective = sum(math.log(probability(row)) for row in h.tolist())
    objective += sum(math.log(1 - probability(row)) for row in h_shuffled.tolist())
    return -objective / (len(h) + len(h_shuffled))


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_papers_on_the_maps_of_the_slot(planted: Data, iterations: int | None) -> None:
    planted.x = planted.x.double()
    method = build(None if iterations is None else SpectralFeatureAugmentation(iterations=iterations))
    generator = seeded(3)
    order = torch.randperm(60, generator=generator)
    maps = [dense_map(method, planted, x) for x in (planted.x, planted.x[order])]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    assert method(planted, seeded(3)).item() == pytest.approx(slow_loss(method, *maps), rel=1e-6)


def test_sfa_changes_the_loss_and_not_the_embeddings(planted: Data) -> None:
    planted.x = planted.x.double()
    plain, augmented = build(), build(SpectralFeatureAugmentation())
    assert plain(planted, seeded()).item() != pytest.approx(augmented(planted, seeded()).item(), rel=1e-3)
    assert torch.equal(plain.embed(planted), augmented.embed(planted))
    torch.testing.assert_close(plain.embed(planted), dense_map(plain, planted, planted.x).detach())


def test_only_the_roots_of_a_batch_count(planted: Data) -> None:
    planted.x = planted.x.double()
    planted.roots = 12
    method = build()
    order = torch.randperm(60, generator=seeded())
    h, h_shuffled = (dense_map(method, planted, x)[:12] for x in (planted.x, planted.x[order]))
    assert method(planted, seeded()).item() == pytest.approx(slow_loss(method, h, h_shuffled), rel=1e-6)


def test_the_authors_settings() -> None:
    recipe = Recipe.parse({"method": "dgi"})
    training = recipe.training
    assert (training.lr, training.weight_decay, training.patience, training.epochs) == (1e-3, 0, 20, 10_000)
    assert training.restore_best
    encoder = recipe.encoder
    assert isinstance(encoder, dict)
    assert (encoder["hidden"], encoder["layers"], encoder["activation"]) == (512, 1, "prelu")
    assert recipe.augmentation == {"name": "shuffle"}


def test_a_run_ends_with_the_weights_of_its_lowest_loss(planted: Data) -> None:
    """A learning rate so large that the loss rises again: the weights are those at the end of its best epoch."""
    recipe = Recipe.parse({"method": "dgi", "encoder": {"hidden": 6}}).updated(
        {"training.lr": 0.5, "training.epochs": 12, "training.patience": None}
    )
    losses: list[float] = []
    states: list[dict[str, Tensor]] = []

    def remember(state: Any) -> None:
        losses.append(state.metrics["loss"])
        states.append(copy.deepcopy(state.method.state_dict()))

    def run(**changes: Any) -> Method:
        losses.clear()
        states.clear()
        method = recipe.build(8)
        callbacks = [LambdaCallback(on_epoch_end=remember)]
        train(method, planted, **{**recipe.training.arguments, **changes}, device="cpu", callbacks=callbacks)
        return method

    best = run().state_dict()
    lowest = losses.index(min(losses))
    assert lowest < len(losses) - 1
    assert all(torch.equal(best[name], value) for name, value in states[lowest].items())
    last = run(restore_best=False).state_dict()
    assert all(torch.equal(last[name], value) for name, value in states[-1].items())
    assert any(not torch.equal(last[name], value) for name, value in best.items())
