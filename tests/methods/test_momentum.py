"""Target networks: copies that only their own rule moves."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from sfa.errors import InputError
from sfa.methods.bgrl import cosine_momentum, make_target, update_target_
from sfa.methods.graphcl import perturbed
from sfa.nn.layers import BatchNorm


def network(seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, 4), BatchNorm(4), nn.PReLU())


def weights(module: nn.Module) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in module.parameters()]


def test_a_target_is_a_frozen_copy_with_tensors_of_its_own() -> None:
    online = network()
    target = make_target(online)
    assert type(target) is type(online)
    assert list(target.state_dict()) == list(online.state_dict())
    for (name, ours), theirs in zip(target.state_dict().items(), online.state_dict().values(), strict=True):
        assert torch.equal(ours, theirs), name
        assert ours.data_ptr() != theirs.data_ptr(), name
    assert not any(parameter.requires_grad for parameter in target.parameters())
    assert all(parameter.requires_grad for parameter in online.parameters())


def test_no_gradient_reaches_a_target() -> None:
    target = make_target(network())
    x = torch.rand(5, 3, requires_grad=True)
    target(x).sum().backward()
    assert all(parameter.grad is None for parameter in target.parameters())


@given(momentum=st.floats(0, 1), steps=st.integers(1, 4))
def test_an_update_follows_the_formula(momentum: float, steps: int) -> None:
    """Against the moving average written out: the weights of the past decay as powers of the momentum."""
    online = network(0).double()
    target = make_target(online)
    history = [weights(online)]
    for step in range(steps):
        with torch.no_grad():
            for index, parameter in enumerate(online.parameters()):
                parameter.add_(math.sin(step + index))
        history.append(weights(online))
        update_target_(target, online, momentum)
    expected = [momentum**steps * phi for phi in history[0]]
    for step, past in enumerate(history[1:], start=1):
        share = (1 - momentum) * momentum ** (steps - step)
        expected = [phi + share * theta for phi, theta in zip(expected, past, strict=True)]
    torch.testing.assert_close(weights(target), expected)
    torch.testing.assert_close(weights(online), history[-1], rtol=0, atol=0)


@pytest.mark.parametrize(("momentum", "equals"), [(1.0, "itself"), (0.0, "the online network")])
def test_the_ends_are_exact(momentum: float, equals: str) -> None:
    online, target = network(1), make_target(network(2))
    expected = weights(target if equals == "itself" else online)
    update_target_(target, online, momentum)
    assert all(torch.equal(phi, theta) for phi, theta in zip(weights(target), expected, strict=True))


def test_running_statistics_are_those_of_what_the_target_saw() -> None:
    online, x = network(), torch.rand(6, 3)
    target = make_target(online)
    online(10 + x)
    update_target_(target, online, 0.5)
    norm = target[1]
    assert torch.equal(norm.running_mean, torch.zeros(4))
    target(x)
    torch.testing.assert_close(norm.running_mean, 0.1 * target[0](x).mean(0))


@pytest.mark.parametrize("momentum", [-0.1, 1.5, math.nan])
def test_a_momentum_beyond_its_range_is_named(momentum: float) -> None:
    with pytest.raises(InputError, match="number, 0 or more"):
        update_target_(make_target(network()), network(), momentum)


def test_another_network_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        update_target_(nn.Linear(3, 4), network(), 0.5)


@given(done=st.floats(0, 1), start=st.floats(0, 1))
def test_cosine_momentum(done: float, start: float) -> None:
    momentum = cosine_momentum(done, start)
    assert start - 1e-12 <= momentum <= 1 + 1e-12
    # 1 - m falls as the squared cosine of half the angle
    assert 1 - momentum == pytest.approx((1 - start) * math.cos(math.pi * done / 2) ** 2, abs=1e-12)


def test_cosine_momentum_rises_to_one_exactly() -> None:
    values = [cosine_momentum(step / 50, 0.9) for step in range(51)]
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0.9, 1.0)


def test_noise_has_the_deviation_of_its_own_tensor() -> None:
    """Of ``eta`` times that, and mean 0; a single number and equal ones have none, and keep their values."""
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(200, 200), nn.BatchNorm1d(50), nn.PReLU())
    with torch.no_grad():
        network[0].weight.mul_(7)
    noisy = perturbed(network, 3.0, torch.Generator().manual_seed(0))
    assert noisy.keys() == dict(network.named_parameters()).keys()
    for name in ("0.weight", "0.bias"):
        theta = network.get_parameter(name).detach()
        noise = (noisy[name] - theta) / (3 * theta.std())
        assert noise.std().item() == pytest.approx(1, abs=4 / len(noise.flatten()) ** 0.5), name
        assert noise.mean().item() == pytest.approx(0, abs=4 / len(noise.flatten()) ** 0.5), name
    for name in ("1.weight", "1.bias", "2.weight"):
        assert torch.equal(noisy[name], network.get_parameter(name)), name
    for name, theta in perturbed(network, 0.0).items():
        assert torch.equal(theta, network.get_parameter(name)), name
