"""Learning rates, which weights an optimizer treats apart, and LARS against its formula, a number at a time."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.methods import Method
from sfa.sampling import Neighbors
from sfa.train import train
from sfa.train.optim import LARS, learning_rate, make_optimizer
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


def test_an_unknown_optimizer_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'adam'"):
        make_optimizer("adma", nn.Linear(2, 2), **SETTINGS)  # type: ignore[arg-type]


def whole_schedule(epochs: int, peak: float, warmup: int, cosine: bool) -> list[float]:
    """The whole schedule written out: a ramp, then a plateau or half a cosine sampled at its left ends."""
    ramp = [peak * step / warmup for step in range(1, warmup + 1)]
    rest = epochs - warmup
    tail = [peak * math.cos(math.pi * i / rest / 2) ** 2 if cosine else peak for i in range(rest)]
    return (ramp + tail)[:epochs]


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize(("epochs", "warmup"), [(10, 0), (10, 3), (7, 6), (1, 0), (3, 3), (2, 5)])
def test_the_rate_against_the_schedule_written_out(epochs: int, warmup: int, cosine: bool) -> None:
    rates = [learning_rate(e, peak=0.3, epochs=epochs, warmup=warmup, cosine=cosine) for e in range(epochs)]
    assert rates == pytest.approx(whole_schedule(epochs, 0.3, warmup, cosine), rel=1e-12)


def test_shape_of_the_schedule() -> None:
    rates = [learning_rate(e, peak=1.0, epochs=100, warmup=10, cosine=True) for e in range(100)]
    assert max(rates) == rates[9] == rates[10] == 1
    assert all(low < high for low, high in pairwise(rates[:10]))
    assert all(high > low > 0 for high, low in pairwise(rates[10:]))


@pytest.mark.parametrize(("epochs", "warmup", "steps"), [(10, 3, 4), (5, 1, 7), (4, 0, 3), (6, 6, 2), (2, 5, 3)])
def test_a_warm_up_from_a_rate_rises_step_by_step_and_is_at_the_peak_when_it_ends(
    epochs: int, warmup: int, steps: int
) -> None:
    ramp = [3e-5 + (0.4 - 3e-5) * step / (warmup * steps) for step in range(warmup * steps)]
    rest = max(0, epochs - warmup) * steps
    tail = [0.4 * math.cos(math.pi * step / rest / 2) ** 2 for step in range(rest)]
    rates = [
        learning_rate(step / steps, peak=0.4, epochs=epochs, warmup=warmup, warmup_from=3e-5, cosine=True)
        for step in range(epochs * steps)
    ]
    assert rates == pytest.approx((ramp + tail)[: epochs * steps], rel=1e-12)
    if warmup < epochs:
        assert rates[warmup * steps] == 0.4
        assert max(rates) == 0.4
    assert learning_rate(float(warmup), peak=0.4, epochs=epochs, warmup=warmup, warmup_from=0.0) == 0.4
    assert learning_rate(epochs, peak=0.4, epochs=epochs, warmup=0, warmup_from=0.0, cosine=True) == pytest.approx(0)


Weights = list[float]


def reference(
    w: Weights,
    gradients: Sequence[Weights],
    rates: Sequence[float],
    *,
    momentum: float,
    weight_decay: float,
    eta: float,
    clip: bool,
    adaptive: bool = True,
) -> list[Weights]:
    """The weights after each step, as the docstring of LARS has it."""
    v, path = [0.0] * len(w), []
    for g, lr in zip(gradients, rates, strict=True):
        w_norm, g_norm = math.sqrt(sum(a * a for a in w)), math.sqrt(sum(a * a for a in g))
        if not adaptive:
            rate, decay = 1.0, weight_decay
        elif w_norm == 0 or g_norm == 0:
            rate, decay = 1.0, 0.0
        else:
            rate, decay = eta * w_norm / (g_norm + weight_decay * w_norm + 1e-8), weight_decay
            if clip:
                rate = 1.0 if lr == 0 else min(rate / lr, 1.0)
        v = [momentum * a + rate * (b + decay * c) for a, b, c in zip(v, g, w, strict=True)]
        w = [a - lr * b for a, b in zip(w, v, strict=True)]
        path.append(w)
    return path


def run(w: Weights, gradients: Sequence[Weights], rates: Sequence[float], **settings: float) -> list[Weights]:
    adaptive = settings.pop("adaptive", True)
    weights = torch.nn.Parameter(torch.tensor(w, dtype=torch.float64).reshape(2, -1))
    optimizer = LARS([{"params": [weights], "adaptive": adaptive}], 1.0, **settings)
    path = []
    for g, lr in zip(gradients, rates, strict=True):
        optimizer.param_groups[0]["lr"] = lr
        weights.grad = torch.tensor(g, dtype=torch.float64).reshape(2, -1)
        optimizer.step()
        path.append(weights.detach().flatten().tolist())
    return path


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("clip", [True, False])
@pytest.mark.parametrize(("momentum", "weight_decay", "eta"), [(0.9, 1e-4, 0.02), (0.0, 0.5, 1.0), (0.5, 0.0, 0.1)])
def test_against_the_formula(momentum: float, weight_decay: float, eta: float, clip: bool, adaptive: bool) -> None:
    """Rates rise and fall around the local rate, so that it is clipped at some steps and not at others."""
    rng = np.random.default_rng(0)
    w, gradients, rates = rng.normal(size=6).tolist(), rng.normal(size=(8, 6)).tolist(), [0.0, 3e-5, 0.01, 0.4, 2.0]
    settings = {"momentum": momentum, "weight_decay": weight_decay, "eta": eta, "clip": clip, "adaptive": adaptive}
    rates = [*rates, *rates[:-3:-1], 0.05]
    np.testing.assert_allclose(
        run(w, gradients, rates, **settings), reference(w, gradients, rates, **settings), rtol=1e-12
    )


numbers = st.floats(-1e3, 1e3).filter(lambda a: a == 0 or abs(a) > 1e-3)


@given(
    w=st.lists(numbers, min_size=4, max_size=4),
    gradients=st.lists(st.lists(numbers, min_size=4, max_size=4), min_size=1, max_size=4),
    lr=st.floats(0, 2),
)
def test_against_the_formula_with_zeros_among_it(w: Weights, gradients: list[Weights], lr: float) -> None:
    settings = {"momentum": 0.9, "weight_decay": 0.1, "eta": 0.02, "clip": True}
    rates = [lr] * len(gradients)
    np.testing.assert_allclose(
        run(w, gradients, rates, **settings), reference(w, gradients, rates, **settings), rtol=1e-9, atol=1e-9
    )


def test_where_a_norm_is_zero_there_is_no_ratio() -> None:
    zero, g = [0.0] * 4, [1.0, 2.0, 3.0, 4.0]
    settings = {"momentum": 0.0, "weight_decay": 0.5, "eta": 0.02, "clip": True}
    assert run(zero, [g], [0.5], **settings) == [[-0.5, -1.0, -1.5, -2.0]]
    assert run(g, [zero], [0.5], **settings) == [g]
    assert run(g, [g], [0.0], **settings) == [g]


def test_the_step_is_a_share_of_the_weights_whatever_the_gradient() -> None:
    """The point of it: ``eta`` of the norm of the weights, for gradients a million times apart."""
    settings = {"momentum": 0.0, "weight_decay": 0.0, "eta": 0.02, "clip": True}
    for scale in (1.0, 1e6):
        ((a, b),) = run([3.0, 4.0], [[0.6 * scale, 0.8 * scale]], [0.4], **settings)
        assert math.hypot(3 - a, 4 - b) == pytest.approx(0.02 * 5 if scale > 1 else min(0.02 * 5, 0.4), rel=1e-6)


def test_weights_without_a_gradient_stay() -> None:
    moved, still = (torch.nn.Parameter(torch.ones(2, 2)) for _ in range(2))
    optimizer = LARS([moved, still], 0.1, weight_decay=0.5)
    moved.grad = torch.ones(2, 2)
    optimizer.step()
    assert torch.equal(still, torch.ones(2, 2))
    assert still not in optimizer.state
    assert bool((moved < 1).all())
