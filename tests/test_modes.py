"""Modes that a module works in for a while: buffers that are kept leave no trace of the passes inside."""

import pytest
import torch
from torch import nn

from sfa.modes import kept_buffers


def network() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.BatchNorm1d(3), nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3)))


def test_buffers_are_the_same_tensors_with_the_same_values_afterwards() -> None:
    module, x = network(), torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    before = {name: (buffer, buffer.clone()) for name, buffer in module.named_buffers()}
    with kept_buffers(module):
        result = module(x)
        assert int(module[0].num_batches_tracked) == 1
    assert torch.equal(result, network()(x))
    for name, buffer in module.named_buffers():
        same, value = before[name]
        assert buffer is same, name
        assert torch.equal(buffer, value), name
    assert list(module.state_dict()) == list(network().state_dict())


def test_an_earlier_pass_can_still_go_back() -> None:
    module, x = network(), torch.randn(5, 3, generator=torch.Generator().manual_seed(0))
    loss = module(x).square().sum()
    with torch.no_grad(), kept_buffers(module):
        module(2 * x)
    loss.backward()


def test_what_fails_inside_leaves_no_trace_either() -> None:
    module = network()
    buffer = module[0].running_mean
    with pytest.raises(RuntimeError), kept_buffers(module):
        module(torch.randn(5, 4))
    assert module[0].running_mean is buffer
    assert not buffer.any()
