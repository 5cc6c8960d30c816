"""The residual networks that have names."""

from collections.abc import Callable

import pytest
import torch

from sfa.errors import InputError
from sfa.nn import ResNet, resnet18, resnet18_imagenet, small, small_strided

Build = Callable[..., ResNet]


@pytest.mark.parametrize(
    ("build", "width", "side"), [(small, 4, 32), (small_strided, 4, 16), (resnet18, 8, 34), (resnet18_imagenet, 8, 16)]
)
@pytest.mark.parametrize("channels", [1, 3])
def test_widths_and_first_maps(build: Build, width: int, side: int, channels: int) -> None:
    encoder = build(channels, 2)
    assert encoder.width == 2 * width
    assert encoder.largest_map(32, 32) == 2 * side**2
    assert encoder(torch.rand(2, channels, 16, 16)).shape == (2, encoder.width)


def test_default_widths() -> None:
    assert [build(3).width for build in (small, small_strided, resnet18, resnet18_imagenet)] == [128, 128, 256, 256]


def test_a_small_one_has_a_block_in_each_of_three_stages() -> None:
    plain, strided = (dict(build(1, 8).named_parameters()) for build in (small, small_strided))
    assert {name: p.shape for name, p in plain.items()} == {name: p.shape for name, p in strided.items()}
    stem, first = 8 * 9 + 16, 2 * (8 * 8 * 9 + 16)
    second = 9 * (8 * 16 + 16 * 16) + 8 * 16 + 3 * 32
    third = 9 * (16 * 32 + 32 * 32) + 16 * 32 + 3 * 64
    assert sum(p.numel() for p in plain.values()) == stem + first + second + third


def test_no_channels_are_refused() -> None:
    with pytest.raises(InputError, match="needs 1 channel or more, not 0"):
        small(0)
