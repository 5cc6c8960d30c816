"""Gaussian blur against kornia's, one image at a time, and near Pillow's."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, ImageFilter
from torch import Tensor

from sfa.augment.image_ops import blur_images

with warnings.catch_warnings():  # kornia's own import calls torch.jit.script, which torch 2.13 deprecates
    warnings.simplefilter("ignore", DeprecationWarning)
    from kornia.filters import gaussian_blur2d


def slow_blur(plane: Tensor, sigma: float, reach: int) -> Tensor:
    """Pixel by pixel."""
    height, width = plane.shape
    weights = [math.exp(-(step**2) / (2 * sigma**2)) for step in range(-reach, reach + 1)]
    view = torch.zeros_like(plane)
    for y in range(height):
        for x in range(width):
            for dy, by_row in zip(range(-reach, reach + 1), weights, strict=True):
                for dx, by_column in zip(range(-reach, reach + 1), weights, strict=True):
                    row, column = min(max(y + dy, 0), height - 1), min(max(x + dx, 0), width - 1)
                    view[y, x] += by_row * by_column * plane[row, column]
    return view / sum(weights) ** 2


def test_it_is_the_sum_over_pixels() -> None:
    images = torch.rand(2, 1, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    view = blur_images(images, torch.tensor([0.7, 1.3], dtype=torch.float64), 3)
    torch.testing.assert_close(view[0, 0], slow_blur(images[0, 0], 0.7, 3))
    torch.testing.assert_close(view[1, 0], slow_blur(images[1, 0], 1.3, 3))


@given(
    height=st.integers(1, 20),
    width=st.integers(1, 20),
    channels=st.sampled_from([1, 3]),
    sigmas=st.lists(st.floats(0.1, 2.0), min_size=1, max_size=4),
    reach=st.integers(1, 8),
)
def test_it_is_that_of_kornia(height: int, width: int, channels: int, sigmas: list[float], reach: int) -> None:
    """Of a smaller image than the kernel too."""
    shape = (len(sigmas), channels, height, width)
    images = torch.rand(shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    view = blur_images(images, torch.tensor(sigmas, dtype=torch.float64), reach)
    for image, sigma, one in zip(images, sigmas, view, strict=True):
        size = (2 * reach + 1, 2 * reach + 1)
        expected = gaussian_blur2d(image[None], size, (sigma, sigma), border_type="replicate")
        torch.testing.assert_close(one[None], expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.0])
def test_it_is_nearly_that_of_pillow(sigma: float) -> None:
    """Which approximates a Gaussian by boxes, and rounds to 8 bits: the published recipes for CIFAR blur by it."""
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32), dtype=np.uint8)
    view = (
        blur_images(torch.from_numpy(pixels)[None, None].double() / 255, torch.tensor([sigma]), 8)[0, 0].numpy() * 255
    )
    pillow = np.asarray(Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(sigma))).astype(np.float64)
    assert np.abs(view - pillow).mean() < 0.06 * np.abs(pixels - pillow).mean()


def test_a_constant_image_stays_so_and_values_stay_inside() -> None:
    white = torch.ones(5, 3, 8, 8)
    view = blur_images(white, torch.linspace(0.1, 2, 5), 8)
    torch.testing.assert_close(view, white)
    assert view.max() <= 1
