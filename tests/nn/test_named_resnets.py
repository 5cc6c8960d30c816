"""Encoders of images by name."""

from typing import get_args

import pytest
import torch

from sfa.errors import InputError
from sfa.image import ImageEncoder, make_encoder
from sfa.nn.image_encoders import ENCODERS, EncoderName

WIDTHS: dict[EncoderName, int] = {"small": 4, "small-strided": 4, "resnet18": 8, "resnet18-imagenet": 8}
MAPS: dict[EncoderName, int] = {"small": 32, "small-strided": 16, "resnet18": 34, "resnet18-imagenet": 16}


def test_every_name_is_known() -> None:
    assert set(get_args(EncoderName)) == set(ENCODERS) == set(WIDTHS)


@pytest.mark.parametrize("name", WIDTHS)
@pytest.mark.parametrize("channels", [1, 3])
def test_widths_and_first_maps(name: EncoderName, channels: int) -> None:
    encoder = make_encoder(channels, encoder=name, hidden=2)
    assert isinstance(encoder, ImageEncoder)
    assert encoder.width == 2 * WIDTHS[name]
    assert encoder.largest_map(32, 32) == 2 * MAPS[name] ** 2
    assert encoder(torch.rand(2, channels, 16, 16)).shape == (2, encoder.width)


def test_by_default_a_small_one() -> None:
    default, small = (dict(make_encoder(3, **options).named_parameters()) for options in ({}, {"encoder": "small"}))
    assert {name: p.shape for name, p in default.items()} == {name: p.shape for name, p in small.items()}
    assert make_encoder(3).width == 128


def test_a_small_one_has_a_block_in_each_of_three_stages() -> None:
    small, strided = (dict(make_encoder(1, encoder=name, hidden=8).named_parameters()) for name in list(WIDTHS)[:2])
    assert {name: p.shape for name, p in small.items()} == {name: p.shape for name, p in strided.items()}
    stem, first = 8 * 9 + 16, 2 * (8 * 8 * 9 + 16)
    second = 9 * (8 * 16 + 16 * 16) + 8 * 16 + 3 * 32
    third = 9 * (16 * 32 + 32 * 32) + 16 * 32 + 3 * 64
    assert sum(p.numel() for p in small.values()) == stem + first + second + third


def test_unknown_names_and_no_channels_are_refused() -> None:
    with pytest.raises(InputError, match="Unknown encoder 'resnet-18': did you mean 'resnet18'"):
        make_encoder(3, encoder="resnet-18")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="needs 1 channel or more, not 0"):
        make_encoder(0)
