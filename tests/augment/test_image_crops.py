"""Random resized crops: boxes against torchvision's rule in a loop, interpolation against Pillow's."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from scipy.stats import chisquare, kstest
from torch import Tensor

from sfa.augment.image_ops import crop_boxes, crop_images, resample

Box = tuple[int, int, int, int]


def numbers(count: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(count, 2, 10, generator=generator), torch.rand(count, 2, generator=generator)


def slow_box(
    areas: list[float], aspects: list[float], place: list[float], size: tuple[int, int], scale: list[float]
) -> Box:
    """Try by try."""
    height, width = size
    for area_number, aspect_number in zip(areas, aspects, strict=True):
        area = height * width * (scale[0] + (scale[1] - scale[0]) * area_number)
        aspect = math.exp(math.log(3 / 4) + aspect_number * (math.log(4 / 3) - math.log(3 / 4)))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return int(place[0] * (height - h + 1)), int(place[1] * (width - w + 1)), h, w
    h, w = height, width
    if width / height < 3 / 4:
        h = round(width / (3 / 4))
    elif width / height > 4 / 3:
        w = round(height * (4 / 3))
    return (height - h) // 2, (width - w) // 2, h, w


@given(
    height=st.integers(1, 40),
    width=st.integers(1, 40),
    scale=st.tuples(st.floats(0.05, 1), st.floats(0.05, 1)).map(sorted),
    seed=st.integers(0, 2**31),
)
def test_boxes_are_those_of_the_loop(height: int, width: int, scale: list[float], seed: int) -> None:
    """In double precision, where no rounding to whole pixels is a matter of the last bit."""
    tries, places = (number.double() for number in numbers(20, seed))
    boxes = crop_boxes(tries, places, (height, width), (scale[0], scale[1]))
    assert boxes.dtype == torch.int64
    for box, one, place in zip(boxes.tolist(), tries.tolist(), places.tolist(), strict=True):
        assert tuple(box) == slow_box(*one, place, (height, width), scale)


@pytest.mark.parametrize(
    ("size", "middle"), [((8, 40), (0, 14, 8, 11)), ((40, 8), (14, 0, 11, 8)), ((9, 9), (0, 0, 9, 9))]
)
def test_where_no_try_fits_it_is_the_middle(size: tuple[int, int], middle: Box) -> None:
    tries, places = torch.full((1, 2, 10), 0.999), torch.full((1, 2), 0.7)
    tries[:, 1] = 0.999 if size[1] <= size[0] else 0.0
    assert tuple(crop_boxes(tries, places, size, (1.0, 1.0))[0].tolist()) == middle


def test_boxes_stay_inside_at_the_last_number_below_one() -> None:
    """Of torch.rand in single precision, which has 24 bits."""
    last = torch.full((1, 2), 1 - 2**-24)
    for side in range(1, 400):
        one_pixel = crop_boxes(torch.full((1, 2, 10), 0.5), last, (side, side), (1 / side**2, 1 / side**2))
        assert one_pixel.tolist() == [[side - 1, side - 1, 1, 1]]


def test_distribution_of_area_aspect_and_place() -> None:
    """On an image so large that rounding shows no more and at shares that always fit."""
    boxes = crop_boxes(*numbers(5000), (10000, 10000), (0.1, 0.5)).double()
    top, left, height, width = boxes.unbind(1)
    assert kstest((height * width / 1e8).numpy(), "uniform", args=(0.1, 0.4)).pvalue > 1e-4
    log_aspect = (width / height).log().numpy()
    assert kstest(log_aspect, "uniform", args=(math.log(3 / 4), math.log(16 / 9))).pvalue > 1e-4
    assert kstest((top / (10000 - height)).numpy(), "uniform").pvalue > 1e-4
    assert kstest((left / (10000 - width)).numpy(), "uniform").pvalue > 1e-4
    together = np.corrcoef(np.stack([height * width, log_aspect, top / (10000 - height), left / (10000 - width)]))
    assert np.abs(together - np.eye(4)).max() < 0.06


def test_every_place_is_as_likely() -> None:
    tries, places = numbers(6000)
    tries[:] = 0.5
    top, left, height, width = crop_boxes(tries, places, (8, 8), (0.5, 0.5)).unbind(1)
    assert set(zip(height.tolist(), width.tolist(), strict=True)) == {(6, 6)}
    assert chisquare(torch.bincount(top * 3 + left, minlength=9)).pvalue > 1e-4


def slow_crop(image: Tensor, box: Box, flipped: bool) -> Tensor:
    """Channel by channel, by Pillow in single precision."""
    top, left, h, w = box
    height, width = image.shape[1:]
    planes = []
    for channel in image.float().numpy():
        piece = Image.fromarray(channel).crop((left, top, left + w, top + h))
        plane = np.asarray(piece.resize((width, height), Image.Resampling.BICUBIC)).clip(0, 1)
        planes.append(torch.from_numpy(plane[:, ::-1].copy() if flipped else plane.copy()))
    return torch.stack(planes)


def boxes_in(height: int, width: int) -> st.SearchStrategy[Box]:
    def at(sides: tuple[int, int]) -> st.SearchStrategy[Box]:
        h, w = sides
        return st.tuples(st.integers(0, height - h), st.integers(0, width - w), st.just(h), st.just(w))

    return st.tuples(st.integers(1, height), st.integers(1, width)).flatmap(at)


@given(data=st.data(), height=st.integers(1, 24), width=st.integers(1, 24), channels=st.sampled_from([1, 3]))
def test_crops_are_those_of_pillow(data: st.DataObject, height: int, width: int, channels: int) -> None:
    boxes = data.draw(st.lists(boxes_in(height, width), min_size=1, max_size=4))
    flips = [data.draw(st.booleans()) for _ in boxes]
    generator = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    images = torch.rand(len(boxes), channels, height, width, generator=generator)
    if data.draw(st.booleans()):
        images = images.contiguous(memory_format=torch.channels_last)
    view = crop_images(images, torch.tensor(boxes), torch.tensor(flips))
    for image, box, flip, one in zip(images, boxes, flips, view, strict=True):
        torch.testing.assert_close(one, slow_crop(image, box, flip), atol=2e-6, rtol=0)


def test_interpolation_is_exact_in_double_precision() -> None:
    """A cubic kernel reproduces a parabola away from the borders of the box."""
    line = torch.arange(20, dtype=torch.float64) / 40
    image = (line.square() - line)[None, None, None].expand(1, 1, 20, 20) + 0.5
    view = crop_images(image, torch.tensor([[3, 2, 10, 10]]), torch.tensor([False]))
    places = (2 + (torch.arange(20, dtype=torch.float64) + 0.5) / 2 - 0.5) / 40
    torch.testing.assert_close(view[0, 0, 7, 3:-3], (places.square() - places + 0.5)[3:-3], atol=1e-13, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_whole_image_stays_as_it_is(dtype: torch.dtype) -> None:
    images = torch.rand(2, 3, 7, 9, generator=torch.Generator().manual_seed(0), dtype=dtype)
    view = crop_images(images, torch.tensor([[0, 0, 7, 9]] * 2), torch.tensor([False, True]))
    assert torch.equal(view[0], images[0])
    assert torch.equal(view[1], images[1].flip(2))


def test_resampled_is_two_products_a_channel() -> None:
    generator = torch.Generator().manual_seed(0)
    images, rows, columns = (
        torch.randn(shape, generator=generator, dtype=torch.float64) for shape in ((2, 3, 4, 5), (2, 6, 4), (2, 7, 5))
    )
    view = resample(images, rows, columns)
    assert view.is_contiguous()
    for i in range(2):
        for channel in range(3):
            torch.testing.assert_close(view[i, channel], rows[i] @ images[i, channel] @ columns[i].T)
