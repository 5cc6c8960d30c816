"""BGRL: its loss against the paper's equation, its target's life, and runs that are broken off."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa import processes
from sfa.augment import Identity, UniformDrop
from sfa.augment.node import random_views
from sfa.methods import BGRL
from sfa.nn import GCN
from sfa.run import Recipe, load_recipe
from sfa.spectral import SpectralFeatureAugmentation, SpectralMap, power_iteration
from sfa.train import RunFolder, load_tensors, train
from tests.callbacks import on_epoch
from tests.processes import run_in_processes

DROPS: dict[str, Any] = {"edge_drop": (0.1, 0.3), "feature_drop": (0.2, 0.5)}
SMALL: dict[str, Any] = {
    "method": {"name": "bgrl", "prediction": 5},
    "encoder": {"hidden": 8},
    "augmentation": DROPS,
}
SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 32,
    "method.prediction": 64,
    "training.lr": 5e-3,
    "training.epochs": 40,
}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def make(spectral: SpectralMap | None = None, **options: Any) -> BGRL:
    """A small one whose target has gone other ways than the online encoder."""
    torch.manual_seed(0)
    encoder = GCN(8, 8, activation="prelu", batch_norm=True)
    method = BGRL(encoder, **{"augmentation": UniformDrop(**DROPS), "prediction": 5, **options}, spectral=spectral)
    with torch.no_grad():
        for phi in method.target.parameters():
            phi.add_(0.1 * torch.randn(phi.shape, generator=seeded()))
    return method


def cosine(one: Tensor, other: Tensor) -> float:
    return float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))


@pytest.mark.parametrize("iterations", [None, 2])
def test_the_loss_is_the_papers(planted: Data, iterations: int | None) -> None:
    """Node by node, from the parts and with the same draws; with the spectral map on all four maps."""
    method = make(None if iterations is None else SpectralFeatureAugmentation(iterations=iterations))
    generator = seeded(3)
    views = random_views(planted, (0.1, 0.3), (0.2, 0.5), generator)
    maps = [network(view).detach() for network in (method.encoder, method.target) for view in views]
    if iterations is not None:
        maps = [power_iteration(h, iterations, generator=generator) for h in maps]
    (online_alpha, online_beta, target_alpha, target_beta) = maps
    q_alpha, q_beta = (method.predictor(h).detach() for h in (online_alpha, online_beta))
    cosines = [
        cosine(q_alpha[i], target_beta[i]) + cosine(q_beta[i], target_alpha[i]) for i in range(planted.num_nodes)
    ]
    assert method(planted, seeded(3)).item() == pytest.approx(2 - sum(cosines) / planted.num_nodes, rel=1e-5)


def test_the_slot_sees_online_maps_then_the_targets_which_are_constants(planted: Data) -> None:
    class Recorder(SpectralMap):
        def forward_all(self, *maps: Tensor, generator: torch.Generator | None = None) -> tuple[Tensor, ...]:
            seen.append(maps)
            return maps

    seen: list[tuple[Tensor, ...]] = []
    method = make(Recorder())
    views = random_views(planted, (0.1, 0.3), (0.2, 0.5), seeded(3))
    method(planted, seeded(3)).backward()
    (maps,) = seen
    networks = (method.encoder, method.encoder, method.target, method.target)
    for h, network, view in zip(maps, networks, (*views, *views), strict=True):
        torch.testing.assert_close(h, network(view))
    assert [h.requires_grad for h in maps] == [True, True, False, False]
    assert all(phi.grad is None for phi in method.target.parameters())


def test_the_target_follows_with_a_momentum_that_rises_to_one() -> None:
    method = make(momentum=0.9)
    phi, theta = (
        [weights.detach().clone() for weights in network.parameters()] for network in (method.target, method.encoder)
    )
    method.after_step(0.25)
    m = 1 - 0.1 * (math.cos(math.pi / 4) + 1) / 2
    expected = [m * p + (1 - m) * t for p, t in zip(phi, theta, strict=True)]
    torch.testing.assert_close([p.detach() for p in method.target.parameters()], expected)
    torch.testing.assert_close([t.detach() for t in method.encoder.parameters()], theta, rtol=0, atol=0)
    before = [p.detach().clone() for p in method.target.parameters()]
    method.after_step(1.0)
    torch.testing.assert_close([p.detach() for p in method.target.parameters()], before, rtol=0, atol=0)


def test_it_starts_as_a_copy_and_training_moves_both(planted: Data) -> None:
    recipe = Recipe.parse(SMALL).updated({"training.epochs": 5, "training.lr": 0.05})
    method = recipe.build(8)
    assert isinstance(method, BGRL)
    start = {name: value.clone() for name, value in method.target.state_dict().items()}
    assert all(torch.equal(value, start[name]) for name, value in method.encoder.state_dict().items())
    train(method, recipe.prepare(planted), **recipe.training.arguments, device="cpu")
    for name, phi in method.target.named_parameters():
        theta = method.encoder.get_parameter(name)
        assert not torch.equal(phi, start[name]), name
        assert (phi - start[name]).norm() < 0.1 * (theta - start[name]).norm(), name
    target_norm, norm = method.target.norms[0], method.encoder.norms[0]
    assert int(target_norm.num_batches_tracked) == int(norm.num_batches_tracked) == 10
    assert not torch.equal(target_norm.running_mean, norm.running_mean)


class Crash(Exception):
    pass


@pytest.mark.parametrize("crash", [2, 4])
def test_a_crash_and_a_resume_give_the_same_bits(planted: Data, tmp_path: Path, crash: int) -> None:
    recipe = Recipe.parse(SMALL).updated({"training.epochs": 6, "training.lr": 0.01, "training.checkpoint_every": 3})

    def go(folder: RunFolder, **options: Any) -> None:
        train(recipe.build(8), planted, **recipe.training.arguments, device="cpu", folder=folder, **options)

    def break_off(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == crash:
            raise Crash

    whole, broken = (RunFolder.create(tmp_path / name, {}, {}) for name in ("whole", "broken"))
    go(whole)
    with pytest.raises(Crash):
        go(broken, callbacks=[on_epoch(break_off)])
    go(broken, resume=True)
    (tensors, meta), (found, found_meta) = load_tensors(whole.checkpoint), load_tensors(broken.checkpoint)
    assert meta == found_meta
    assert tensors.keys() == found.keys()
    assert all(torch.equal(tensors[name], found[name]) for name in tensors)
    assert any(name.startswith("model.target.") for name in tensors)
    trained = sum(weights.requires_grad for weights in recipe.build(8).parameters())
    assert len({name.split(".")[1] for name in tensors if name.startswith("optimizer.")}) == trained


def halves(graph: Data) -> list[Data]:
    """The first 30 nodes and the last, with the edges among each."""
    row, col = graph.edge_index
    return [
        Data(x=graph.x[start : start + 30], edge_index=torch.stack([row[inside], col[inside]]) - start, num_nodes=30)
        for start in (0, 30)
        for inside in [(row // 30 == start // 30) & (col // 30 == start // 30)]
    ]


def loss_and_gradient(parts: list[Data]) -> tuple[float, Tensor, Tensor]:
    """Of this process's part; views are the graph itself, so that chance plays no part."""
    method = make(augmentation=Identity())
    processes.synchronise(method)
    loss = method(parts[processes.rank()], seeded())
    loss.backward()
    grad = method.encoder.convolutions[0].weight.grad
    return loss.item(), grad, method.target.norms[0].running_mean


def test_two_processes_act_as_one(planted: Data) -> None:
    """Two graphs in two processes have the loss of both in one; the mean of their gradients is its gradient."""
    first, second = halves(planted)
    edges = torch.cat([first.edge_index, second.edge_index + 30], dim=1)
    expected, gradient, mean = loss_and_gradient([Data(x=planted.x, edge_index=edges, num_nodes=60)])
    parts = run_in_processes(loss_and_gradient, 2, [first, second])
    assert [loss for loss, _, _ in parts] == pytest.approx([expected] * 2, rel=1e-5)
    torch.testing.assert_close((parts[0][1] + parts[1][1]) / 2, gradient, rtol=1e-4, atol=1e-6)
    for _, _, found in parts:
        torch.testing.assert_close(found, mean)


def test_the_authors_settings() -> None:
    recipe = Recipe.parse({"method": "bgrl"})
    training = recipe.training
    assert (training.optimizer, training.epochs, training.warmup, training.cosine) == ("adamw", 10_000, 1000, True)
    assert (training.lr, training.weight_decay, training.patience) == (5e-4, 1e-5, None)
    for dataset, hidden, lr, edges, features in (
        ("wikics", 256, 5e-4, (0.2, 0.3), (0.2, 0.1)),
        ("computers", 128, 5e-4, (0.5, 0.4), (0.2, 0.1)),
        ("photo", 128, 1e-4, (0.4, 0.1), (0.1, 0.2)),
    ):
        shipped = load_recipe("bgrl", dataset)
        method, encoder, augmentation = shipped.method, shipped.encoder, shipped.augmentation
        assert isinstance(encoder, dict)
        assert isinstance(augmentation, dict)
        assert (encoder["hidden"], shipped.training.lr) == (hidden, lr)
        assert (tuple(augmentation["edge_drop"]), tuple(augmentation["feature_drop"])) == (edges, features)
        assert (method["prediction"], method["momentum"], shipped.training.epochs) == (512, 0.99, 10_000)
    assert load_recipe("bgrl", "wikics").feature_norm == "standard"
