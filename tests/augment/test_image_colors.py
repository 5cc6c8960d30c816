"""Colors against kornia's and Pillow's operations, one image and one operation at a time."""

from __future__ import annotations

import colorsys
import itertools
import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageEnhance, ImageOps
from torch import Tensor

from sfa.augment.image_ops import (
    BRIGHTNESS,
    CONTRAST,
    HUE,
    SATURATION,
    jitter_colors,
    luma,
    rotate_hue,
    solarize,
    to_gray,
)

with warnings.catch_warnings():  # kornia's own import calls torch.jit.script, which torch 2.13 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kornia.color import rgb_to_grayscale
    from kornia.enhance import (
        adjust_brightness_accumulative,
        adjust_contrast_with_mean_subtraction,
        adjust_hue,
        adjust_saturation_with_gray_subtraction,
        solarize,
    )

NEUTRAL = (1.0, 1.0, 1.0, 0.0)
ORDERS = list(itertools.permutations(range(4)))


def random_images(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def slow_jitter(image: Tensor, factors: list[float], order: list[int]) -> Tensor:
    """Operation by operation, by kornia."""
    for kind in order:
        if kind == BRIGHTNESS:
            image = adjust_brightness_accumulative(image, factors[kind])
        elif kind == CONTRAST:
            image = adjust_contrast_with_mean_subtraction(image, factors[kind])
        elif kind == SATURATION and len(image) == 3:
            image = adjust_saturation_with_gray_subtraction(image, factors[kind])
        elif kind == HUE and len(image) == 3:
            image = adjust_hue(image, factors[kind] * 2 * math.pi)
    return image


@pytest.mark.parametrize("channels", [1, 3])
def test_jitter_is_that_of_kornia_in_every_order(channels: int) -> None:
    images, factors = random_images(48, channels, 5, 6), random_images(48, 4, seed=1) * 2
    factors[:, HUE] = factors[:, HUE] / 2 - 0.5
    orders = ORDERS * 2
    before = images.clone()
    view = jitter_colors(images, factors, torch.tensor(orders))
    assert torch.equal(images, before)
    for image, numbers, order, one in zip(images, factors.tolist(), orders, view, strict=True):
        # kornia divides by the value and 1e-8
        torch.testing.assert_close(one, slow_jitter(image, numbers, list(order)), atol=2e-7, rtol=0)


def test_orders_matter() -> None:
    images = random_images(1, 3, 8, 8).expand(24, -1, -1, -1)
    factors = torch.tensor([[1.6, 0.5, 1.7, 0.2]], dtype=torch.float64).expand(24, -1)
    views = jitter_colors(images, factors, torch.tensor(ORDERS))
    different = {tuple(view.flatten().mul(1e6).round().tolist()) for view in views}
    assert len(different) == 24


@pytest.mark.parametrize("channels", [1, 3])
def test_neutral_factors_change_nothing(channels: int) -> None:
    images = random_images(24, channels, 4, 4, dtype=torch.float32)
    view = jitter_colors(images, torch.tensor([NEUTRAL]).expand(24, -1), torch.tensor(ORDERS))
    torch.testing.assert_close(view, images, atol=5e-7, rtol=0)


def test_grey_images_have_neither_saturation_nor_hue() -> None:
    images = random_images(24, 1, 4, 4)
    view = jitter_colors(images, torch.tensor([[1.0, 1.0, 0.3, 0.4]]).double().expand(24, -1), torch.tensor(ORDERS))
    assert torch.equal(view, images)


@pytest.mark.parametrize(
    ("kind", "enhancer"),
    [(BRIGHTNESS, ImageEnhance.Brightness), (CONTRAST, ImageEnhance.Contrast), (SATURATION, ImageEnhance.Color)],
)
@pytest.mark.parametrize("factor", [0.0, 0.3, 1.4, 1.8])
def test_blends_are_those_of_pillow_but_for_its_rounding(
    kind: int, enhancer: type[ImageEnhance._Enhance], factor: float
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (9, 7, 3), dtype=np.uint8)
    factors = list(NEUTRAL)
    factors[kind] = factor
    image = torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255
    view = jitter_colors(image, torch.tensor([factors]), torch.tensor([[0, 1, 2, 3]]))
    expected = np.asarray(enhancer(Image.fromarray(pixels)).enhance(factor)).astype(np.float64)
    assert np.abs(view[0].permute(1, 2, 0).numpy() * 255 - expected).max() < 1.5


@given(
    pixel=st.tuples(*[st.integers(0, 255)] * 3),
    turn=st.floats(-0.5, 0.5),
    dtype=st.sampled_from([torch.float32, torch.float64]),
)
def test_hue_is_that_of_hsv(pixel: tuple[int, int, int], turn: float, dtype: torch.dtype) -> None:
    """Pixels of whole numbers, so that channels are often alike; by the standard library."""
    channels = [channel / 255 for channel in pixel]
    hue, saturation, value = colorsys.rgb_to_hsv(*channels)
    expected = colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)
    view = rotate_hue(torch.tensor(channels, dtype=dtype).view(1, 3, 1, 1), torch.tensor([turn], dtype=dtype))
    tolerance = 1e-12 if dtype == torch.float64 else 3e-6
    torch.testing.assert_close(view.flatten(), torch.tensor(expected, dtype=dtype), atol=tolerance, rtol=0)


@pytest.mark.parametrize("pixel", list(itertools.product([0.0, 0.5, 1.0], repeat=3)))
def test_hue_at_corners_and_edges(pixel: tuple[float, float, float]) -> None:
    turns = torch.arange(-6, 7, dtype=torch.float64) / 12
    view = rotate_hue(torch.tensor(pixel, dtype=torch.float64).view(1, 3, 1, 1).expand(13, -1, -1, -1), turns)
    hue, saturation, value = colorsys.rgb_to_hsv(*pixel)
    expected = [colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value) for turn in turns.tolist()]
    torch.testing.assert_close(view.view(13, 3), torch.tensor(expected, dtype=torch.float64), atol=1e-12, rtol=0)


def test_hue_is_that_of_kornia() -> None:
    images, turns = random_images(20, 3, 8, 8), random_images(20, seed=1) - 0.5
    torch.testing.assert_close(rotate_hue(images, turns), adjust_hue(images, turns * 2 * math.pi), atol=2e-7, rtol=0)


def test_luma_is_that_of_kornia() -> None:
    images = random_images(3, 3, 4, 5)
    torch.testing.assert_close(luma(images), rgb_to_grayscale(images))
    torch.testing.assert_close(to_gray(images), rgb_to_grayscale(images).expand(3, 3, 4, 5))
    assert luma(images[:, :1]).equal(images[:, :1])
    assert to_gray(images[:, :1]).equal(images[:, :1])


def test_solarised_is_that_of_kornia_and_pillow() -> None:
    images = random_images(3, 3, 4, 5)
    torch.testing.assert_close(solarize(images), solarize(images, 0.5))
    pixels = np.arange(256, dtype=np.uint8).reshape(16, 16)
    view = solarize(torch.from_numpy(pixels)[None, None] / 255)[0, 0] * 255
    assert np.array_equal(view.round().numpy(), np.asarray(ImageOps.solarize(Image.fromarray(pixels))))
