"""Supervised baselines: what they learn, what they choose on, and what they never see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.data import build_graph, load
from sfa.errors import InputError
from sfa.evaluate import baselines as module
from sfa.evaluate.baselines import GraphClassifier, SupervisedModel, SupervisedResult, supervised
from sfa.evaluate.splits import Split, random_splits
from sfa.graph.features import normalize_features
from sfa.matrices import csr_matrix
from sfa.nn.layers import dropout
from sfa.nn.sparse import propagation_of

MODELS = get_args(SupervisedModel)
QUICK: dict[str, Any] = {"hidden": 8, "epochs": 12}


def splits_of(graph: Data, count: int = 2) -> list[Split]:
    return random_splits(graph.y.numpy(), train=0.3, validation=0.2, count=count)


@pytest.fixture
def learned(monkeypatch: pytest.MonkeyPatch) -> list[list[Tensor]]:
    """The weights of every epoch of all runs, in order: all that was learned."""
    seen: list[list[Tensor]] = []
    validated = module._validate

    def spy(network: torch.nn.Module, *rest: Any) -> Any:
        seen.append([weights.detach().clone() for weights in network.parameters()])
        return validated(network, *rest)

    monkeypatch.setattr(module, "_validate", spy)
    return seen


@pytest.mark.parametrize("model", MODELS)
def test_test_labels_change_neither_what_is_learnt_nor_what_is_chosen(
    planted: Data, model: SupervisedModel, learned: list[list[Tensor]]
) -> None:
    (split,) = splits_of(planted, 1)
    before = supervised(planted, [split], model=model, **QUICK)[0]
    weights = list(learned)
    learned.clear()
    permuted = planted.clone()
    permuted.y[split.test] = (planted.y[split.test] + 1) % 3
    permuted.y[split.test[0]] = 7  # not even that there is such a class is known
    after = supervised(permuted, [split], model=model, **QUICK)[0]
    assert (after.validation, after.epoch) == (before.validation, before.epoch)
    assert len(learned) == len(weights) == 12
    assert all(
        torch.equal(a, b) for one, other in zip(learned, weights, strict=True) for a, b in zip(one, other, strict=True)
    )
    assert after.test < before.test - 30


@pytest.mark.parametrize("model", MODELS)
def test_validation_labels_choose_and_do_not_teach(
    planted: Data, model: SupervisedModel, learned: list[list[Tensor]]
) -> None:
    (split,) = splits_of(planted, 1)
    before = supervised(planted, [split], model=model, **QUICK)[0]
    weights = list(learned)
    learned.clear()
    permuted = planted.clone()
    permuted.y[split.validation] = (planted.y[split.validation] + 1) % 3
    after = supervised(permuted, [split], model=model, **QUICK)[0]
    assert all(
        torch.equal(a, b) for one, other in zip(learned, weights, strict=True) for a, b in zip(one, other, strict=True)
    )
    assert after.validation < before.validation - 30
    assert after.epoch != before.epoch


def test_the_gcn_is_two_convolutions_with_dropout_before_each(planted: Data) -> None:
    network = GraphClassifier(propagation_of(planted), 8, 5, 3, 0.4)
    adjacency = propagation_of(planted).matrix.to_dense()
    with torch.no_grad():
        network.first.bias.uniform_(-1, 1)

    def by_hand(x: Tensor, rate: float, generator: torch.Generator) -> Tensor:
        h = (adjacency @ dropout(x, rate, generator) @ network.first.weight + network.first.bias).relu()
        return adjacency @ dropout(h, rate, generator) @ network.second.weight + network.second.bias

    seeds = [torch.Generator().manual_seed(0) for _ in range(2)]
    torch.testing.assert_close(network(planted.x, seeds[0]), by_hand(planted.x, 0.4, seeds[1]))
    torch.testing.assert_close(network.eval()(planted.x, seeds[0]), by_hand(planted.x, 0.0, seeds[1]))


class Scripted(torch.nn.Module):
    """Predicts class 1 for so many nodes of the validation part, with so much confidence, epoch by epoch."""

    def __init__(self, right: list[int], confidence: list[float]) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.right, self.confidence, self.epoch = right, confidence, -1

    def forward(self, x: Tensor, generator: torch.Generator | None = None) -> Tensor:
        self.epoch += self.training
        logits = torch.zeros(len(x), 2)
        ones = torch.arange(len(x)) < self.right[self.epoch]
        logits[:, 1] = torch.where(ones, self.confidence[self.epoch], -self.confidence[self.epoch])
        return logits + 0 * self.weight


@pytest.mark.parametrize(
    ("right", "confidence", "patience", "epoch"),
    [
        ([1, 3, 2, 2], [1.0] * 4, 10, 2),  # the best
        ([1, 3, 3, 2], [1.0] * 4, 10, 2),  # the first of equals
        ([4, 4, 4, 4], [1.0, 3.0, 2.0, 2.5], 10, 2),  # of those right alike the surest, that is of least loss
        ([1, 0, 0, 4], [1.0] * 4, 2, 1),  # patience ends before the fourth
        ([1, 0, 4, 0], [1.0] * 4, 2, 3),
    ],
)
def test_the_epoch_is_chosen_by_accuracy_then_loss_and_patience_ends_it(
    right: list[int], confidence: list[float], patience: int, epoch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes 0 to 3 are for validation, all of class 1; of the test nodes 8 to 11 two are."""
    monkeypatch.setattr(module, "_network", lambda *_: Scripted(right, confidence))
    y = [1, 1, 1, 1, 0, 0, 1, 1, 0, 1, 0, 1]
    graph = build_graph(np.eye(12, dtype=np.float32), np.array([[0], [1]]), y=y)
    split = Split(train=np.arange(4, 8), validation=np.arange(4), test=np.arange(8, 12))
    (result,) = supervised(graph, [split], epochs=4, patience=patience)
    assert result == SupervisedResult(test=50.0, validation=25.0 * right[epoch - 1], epoch=epoch)


@pytest.mark.parametrize("model", MODELS)
def test_a_seed_decides_and_nothing_global_does(planted: Data, model: SupervisedModel) -> None:
    splits = splits_of(planted)

    def run(seed: int, disturbance: int, which: list[Split] = splits) -> list[SupervisedResult]:
        torch.manual_seed(disturbance)
        return supervised(planted, which, model=model, seed=seed, **QUICK)

    first = run(0, 1)
    assert first == run(0, 2)
    assert first[:1] == run(0, 1, splits[:1]), "a split's result does not depend on how many there are"
    assert any(first != run(seed, 1) for seed in (1, 2, 3))
    before = torch.random.get_rng_state()
    supervised(planted, splits[:1], model=model, **QUICK)
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("model", MODELS)
def test_unlabelled_nodes_are_neither_taught_nor_scored(planted: Data, model: SupervisedModel) -> None:
    partly = planted.clone()
    partly.y[::4] = -1
    results = supervised(partly, splits_of(partly), model=model, **QUICK, lr=0.05)
    assert all(result.test > 60 for result in results)


def test_edges_help_the_gcn_alone(planted: Data) -> None:
    """Features that say nothing leave a perceptron at chance, and a network with edges far above it."""
    blind = planted.clone()
    blind.x = torch.eye(60)
    scores = {
        model: np.mean([result.test for result in supervised(blind, splits_of(blind), model=model, **QUICK, lr=0.1)])
        for model in MODELS
    }
    assert scores["mlp"] < 50
    assert scores["gcn"] > 75


@pytest.mark.parametrize("model", MODELS)
def test_sparse_features_are_what_they_are_dense(planted: Data, model: SupervisedModel) -> None:
    sparse = planted.clone()
    sparse.x = csr_matrix(torch.arange(61) * 8, torch.arange(8).repeat(60), planted.x.flatten(), (60, 8))
    dense_results, sparse_results = (
        supervised(graph, splits_of(planted), model=model, **QUICK) for graph in (planted, sparse)
    )
    for one, other in zip(dense_results, sparse_results, strict=True):
        assert other.test == pytest.approx(one.test, abs=5)


def test_learns_cora() -> None:
    cora = normalize_features(load("cora"), "row")
    (split,) = random_splits(cora.y.numpy(), train=0.1, validation=0.1, count=1)
    mlp, gcn = (supervised(cora, [split], model=model, epochs=20, lr=0.1)[0].test for model in MODELS)
    assert 50 < mlp < 72
    assert gcn > 78


def test_each_split_is_told(planted: Data) -> None:
    told: list[int] = []
    supervised(planted, splits_of(planted, 3), **QUICK, on_split=lambda: told.append(1))
    assert len(told) == 3


def test_wrong_input_is_named(planted: Data) -> None:
    (split,) = splits_of(planted, 1)
    with pytest.raises(InputError, match="did you mean 'gcn'"):
        supervised(planted, [split], model="gnc")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="number, 1 or more"):
        supervised(planted, [split], hidden=0)
    with pytest.raises(InputError, match="those, in the validation"):
        supervised(planted, [replace(split, validation=np.empty(0, dtype=np.int64))])
    unknown = planted.clone()
    unknown.y[split.test[:2]] = -1
    with pytest.raises(InputError, match="labeled nodes, and only"):
        supervised(unknown, [split])
    unknown.y = None
    with pytest.raises(InputError, match="needs labels"):
        supervised(unknown, [split])
    with pytest.raises(InputError, match="one graph, and these"):
        supervised(Data(x=torch.zeros(60, 2, 2, 3, dtype=torch.uint8), y=planted.y), [split])
