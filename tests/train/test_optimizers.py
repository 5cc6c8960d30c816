"""Which weights an optimiser treats apart, and how."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.methods import Method
from sfa.sampling import Neighbors
from sfa.train import train
from sfa.train.lars import LARS
from sfa.train.optimizers import make_optimizer
from sfa.train.schedule import learning_rate
from tests.callbacks import on_epoch

SETTINGS = {"lr": 0.1, "weight_decay": 0.01, "momentum": 0.8}
CLASSES = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW, "sgd": torch.optim.SGD, "lars": LARS}


class Predicts(Method):
    """A projector, and a predictor whose rate is constant, both with biases; its gradient is one everywhere."""

    def __init__(self) -> None:
        super().__init__(None, width=1)
        self.predictor = nn.Linear(2, 2)
        self.projector = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
        self.scale = nn.Parameter(torch.ones(()))
        self.target = nn.Linear(2, 2).requires_grad_(False)

    def forward(self, graph: Data, generator: Any = None, observe: Any = None) -> Tensor:
        return sum((one.sum() for one in self.parameters() if one.requires_grad), start=torch.zeros(()))

    def embeddings(self, graph: Data) -> Tensor:
        raise AssertionError("not asked for")

    def constant_rate(self) -> Iterable[nn.Parameter]:
        return self.predictor.parameters()


def names(method: nn.Module, group: dict[str, Any]) -> list[str]:
    by_weights = {weights: name for name, weights in method.named_parameters()}
    return [by_weights[weights] for weights in group["params"]]


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_all_trained_weights_are_one_group_in_their_order(name: Any) -> None:
    """As in runs of versions that knew no groups: the order is that of the states in a checkpoint."""
    module = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Linear(3, 1))
    module[0].bias.requires_grad_(False)
    optimizer = make_optimizer(name, module, **SETTINGS)
    assert type(optimizer) is CLASSES[name]
    (group,) = optimizer.param_groups
    assert names(module, group) == ["0.weight", "1.weight", "1.bias", "2.weight", "2.bias"]
    assert (group["lr"], group["weight_decay"]) == (0.1, 0.01)
    assert group.get("momentum", 0.8) == 0.8
    plain = CLASSES[name]([one for one in module.parameters() if one.requires_grad], lr=0.1, weight_decay=0.01)
    assert group.keys() == plain.param_groups[0].keys()


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_weights_of_constant_rate_are_a_group_after_the_others(name: Any) -> None:
    method = Predicts()
    rest, constant = make_optimizer(name, method, **SETTINGS).param_groups
    assert names(method, constant) == ["predictor.weight", "predictor.bias"]
    assert set(names(method, rest)) == {
        "scale", "projector.0.weight", "projector.0.bias", "projector.1.weight", "projector.1.bias"
    }  # fmt: skip
    assert constant["constant"] is True
    assert "constant" not in rest


def test_lars_leaves_biases_and_batch_norm_to_sgd_without_decay() -> None:
    method = Predicts()
    optimizer = make_optimizer("lars", method, **SETTINGS)
    assert type(optimizer) is LARS
    groups = {
        (group.get("constant", False), group["adaptive"]): (set(names(method, group)), group["weight_decay"])
        for group in optimizer.param_groups
    }
    assert groups == {
        (False, True): ({"projector.0.weight"}, 0.01),
        (False, False): ({"scale", "projector.0.bias", "projector.1.weight", "projector.1.bias"}, 0.0),
        (True, True): ({"predictor.weight"}, 0.01),
        (True, False): ({"predictor.bias"}, 0.0),
    }
    assert not optimizer.param_groups[0].get("constant", False), "its rate is the one that metrics show"
    assert all(
        (group["momentum"], group["eta"], group["clip"]) == (0.8, 0.02, True) for group in optimizer.param_groups
    )


def test_the_schedule_leaves_a_constant_rate_alone(planted: Data) -> None:
    """SGD under a gradient of one moves a weight by the rate at each step."""
    method, rates = Predicts(), []
    before = {name: weights.detach().clone() for name, weights in method.named_parameters()}
    train(
        method, planted, epochs=3, optimizer="sgd", momentum=0.0, lr=0.1, weight_decay=0, warmup=1, warmup_from=0.01,
        cosine=True, patience=None, sampler=partial(Neighbors, batch_size=30),
        callbacks=[on_epoch(lambda metrics: rates.append(metrics["lr"]))],
    )  # fmt: skip
    expected = [
        learning_rate(step / 2, peak=0.1, epochs=3, warmup=1, warmup_from=0.01, cosine=True) for step in range(6)
    ]
    assert rates == expected[1::2]
    for name, weights in method.named_parameters():
        moved = 0.6 if name.startswith("predictor") else 0.0 if name.startswith("target") else sum(expected)
        torch.testing.assert_close(before[name] - weights.detach(), torch.full_like(weights, moved), msg=name)


def test_momentum_reaches_the_optimiser(planted: Data, scripted: Any) -> None:
    """Two steps of 0.1, the second with half of the first once more; LARS leaves a single number to SGD."""
    for name in ("sgd", "lars"):
        method = scripted([1.0] * 2, gradients=[1.0] * 2)
        train(method, planted, epochs=2, optimizer=name, momentum=0.5, lr=0.1, weight_decay=0)
        assert method.weight.item() == pytest.approx(1 - 0.1 - 0.15)
