"""Weights with noise of their own size."""

import pytest
import torch
from torch import nn

from sfa.nn.perturbed import perturbed


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
