"""Random views of images: composed as published, drawn for each image alone, for every shape and type."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import torch
from scipy.stats import binomtest, chisquare, kstest
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import STRENGTHS, ImageViews, Strengths
from sfa.augment import image as views
from sfa.augment.image import random_view
from sfa.augment.strengths import Strength
from sfa.errors import InputError
from sfa.image.blur import blurred
from sfa.image.colour import greyed, jittered, solarised
from sfa.image.crops import boxes_of, cropped
from sfa.image.pixels import to_float

NOTHING = STRENGTHS["identity"][0]
SIMCLR = STRENGTHS["strong"][0]
ALL = replace(SIMCLR, solarise=0.3)


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_images(*shape: int, seed: int = 7, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.rand(shape, generator=seeded(seed), dtype=dtype).contiguous(memory_format=torch.channels_last)


def spied(monkeypatch: pytest.MonkeyPatch, name: str) -> list[tuple[Any, ...]]:
    """The arguments that a function is called with from now on."""
    calls: list[tuple[Any, ...]] = []
    function: Callable[..., Tensor] = getattr(views, name)

    def spy(*arguments: Any) -> Tensor:
        calls.append(arguments)
        return function(*arguments)

    monkeypatch.setattr(views, name, spy)
    return calls


def slow_view(image: Tensor, numbers: Tensor, strengths: Strengths) -> Tensor:
    """One image, one operation after the other in the published order, with the flip at the end."""
    tries, rest = numbers[:20].view(1, 2, 10), numbers[22:].tolist()
    flip, jitter, factors, orders, (grey, blur, sigma, solarise) = rest[0], rest[1], rest[2:6], rest[6:10], rest[10:]
    view = image[None]
    if strengths.crop is not None:
        size = (view.shape[2], view.shape[3])
        view = cropped(view, boxes_of(tries, numbers[None, 20:22], size, strengths.crop), torch.tensor([False]))
    if jitter < strengths.jitter:
        amounts = []
        for number, strength in zip(
            factors, (strengths.brightness, strengths.contrast, strengths.saturation), strict=False
        ):
            least = max(0.0, 1 - strength)
            amounts.append(least + number * (1 + strength - least))
        amounts.append(-strengths.hue + 2 * strengths.hue * factors[3])
        order = sorted(range(4), key=lambda kind: orders[kind])
        view = jittered(view, torch.tensor([amounts], dtype=view.dtype), torch.tensor([order]))
    if grey < strengths.grey:
        view = greyed(view)
    if blur < strengths.blur:
        low, high = strengths.sigma
        view = blurred(view, torch.tensor([low + sigma * (high - low)]), 8)
    if solarise < strengths.solarise:
        view = solarised(view)
    return view[0].flip(2) if flip < strengths.flip else view[0]


@pytest.mark.parametrize("shape", [(40, 3, 32, 32), (40, 1, 8, 8), (30, 3, 12, 20), (30, 3, 21, 9)])
@pytest.mark.parametrize("strengths", [ALL, replace(ALL, crop=None), replace(ALL, jitter=1.0, blur=1.0, flip=1.0)])
def test_each_view_is_that_of_the_image_alone(shape: tuple[int, ...], strengths: Strengths) -> None:
    images = random_images(*shape)
    view = random_view(images, strengths, seeded())
    for image, numbers, one in zip(images, torch.rand(len(images), 36, generator=seeded()), view, strict=True):
        torch.testing.assert_close(one, slow_view(image, numbers, strengths), atol=5e-6, rtol=0)


@pytest.mark.parametrize("name", list(STRENGTHS))
@pytest.mark.parametrize("channels", [1, 3])
def test_values_type_and_memory(name: Strength, channels: int) -> None:
    images = random_images(30, channels, 8, 8)
    before = images.clone()
    for strengths in STRENGTHS[name]:
        view = random_view(images, strengths, seeded())
        assert view.shape == images.shape
        assert view.dtype == images.dtype
        assert view.is_contiguous(memory_format=torch.channels_last)
        assert view.min() >= 0
        assert view.max() <= 1
        assert torch.equal(images, before)
        assert (view is images) == (name == "identity")


def test_the_identity_draws_nothing() -> None:
    generator = seeded()
    images = random_images(3, 3, 8, 8)
    assert random_view(images, NOTHING, generator) is images
    assert torch.equal(generator.get_state(), seeded().get_state())


def test_it_is_a_function_of_the_generator() -> None:
    images = random_images(20, 3, 16, 16)
    first, again, other = (random_view(images, SIMCLR, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(first, again)
    assert (first != other).flatten(1).any(1).all()
    state = torch.get_rng_state()
    generator = seeded(1)
    assert torch.equal(random_view(images, SIMCLR, generator), first)
    assert not torch.equal(random_view(images, SIMCLR, generator), first)
    assert torch.equal(torch.get_rng_state(), state)


def test_the_rest_of_the_batch_does_not_matter() -> None:
    images = random_images(30, 3, 16, 16)
    view = random_view(images, ALL, seeded())
    torch.testing.assert_close(random_view(images[:11], ALL, seeded()), view[:11], atol=1e-6, rtol=0)
    others = torch.cat([images[:11], random_images(19, 3, 16, 16, seed=8)])
    torch.testing.assert_close(random_view(others, ALL, seeded())[:11], view[:11], atol=1e-6, rtol=0)


def test_copies_of_an_image_get_views_of_their_own() -> None:
    view = random_view(random_images(1, 3, 16, 16).expand(50, -1, -1, -1), SIMCLR, seeded())
    assert len({tuple(one.flatten().tolist()) for one in view}) == 50


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("flip", lambda image: image.flip(2)),
        ("grey", lambda image: greyed(image[None])[0]),
        ("solarise", lambda image: solarised(image[None])[0]),
    ],
)
@pytest.mark.parametrize("probability", [0.2, 1.0])
def test_so_many_images_are_changed(name: str, change: Callable[[Tensor], Tensor], probability: float) -> None:
    images = random_images(2000, 3, 4, 4)
    view = random_view(images, replace(NOTHING, **{name: probability}), seeded())
    changed = (view != images).flatten(1).any(1)
    assert binomtest(int(changed.sum()), 2000, probability).pvalue > 1e-4
    for image, one in zip(images[changed][:20], view[changed], strict=False):
        torch.testing.assert_close(one, change(image))


def test_which_operations_befall_an_image_is_independent() -> None:
    """Flip, grey and solarisation of one pixel row, told apart by what is left of it."""
    row = torch.tensor([[0.1, 0.2], [0.3, 0.1], [0.9, 0.6]]).view(1, 3, 1, 2)
    strengths = replace(NOTHING, flip=0.5, grey=0.5, solarise=0.5)
    view = random_view(row.expand(4000, -1, -1, -1), strengths, seeded())
    kinds = {}
    for flip in (0, 1):
        for grey in (0, 1):
            for solarise in (0, 1):
                one = greyed(row) if grey else row
                one = solarised(one) if solarise else one
                kinds[flip, grey, solarise] = (one.flip(3) if flip else one)[0]
    # The grey of this row is dark: solarising it does nothing, and those two kinds are one.
    counts = [
        sum(int((view - kinds[kind]).abs().flatten(1).amax(1).lt(1e-6).sum()) for kind in which)
        for which in [[(f, 0, s)] for f in (0, 1) for s in (0, 1)] + [[(f, 1, 0)] for f in (0, 1)]
    ]
    assert sum(counts) == 4000
    assert chisquare(counts, [500] * 4 + [1000] * 2).pvalue > 1e-4


def test_factors_and_orders_of_the_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch, "jittered")
    strengths = replace(NOTHING, jitter=0.8, brightness=0.4, contrast=1.5, saturation=0.8, hue=0.2)
    random_view(random_images(4000, 3, 2, 2), strengths, seeded())
    some, factors, orders = calls[0]
    assert binomtest(len(some), 4000, 0.8).pvalue > 1e-4
    ranges = [(0.6, 1.4), (0.0, 2.5), (0.2, 1.8), (-0.2, 0.2)]
    for (low, high), factor in zip(ranges, factors.T, strict=True):
        assert kstest(factor.numpy(), "uniform", args=(low, high - low)).pvalue > 1e-4
    assert (factors.T.corrcoef() - torch.eye(4)).abs().max() < 0.06
    numbers = (orders * torch.tensor([64, 16, 4, 1])).sum(1)
    _, counts = numbers.unique(return_counts=True)
    assert len(counts) == 24
    assert torch.equal(orders.sort(1).values, torch.arange(4).expand(len(some), 4))
    assert chisquare(counts).pvalue > 1e-4


def test_sigmas_of_the_blur(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch, "blurred")
    random_view(random_images(4000, 3, 2, 2), replace(NOTHING, blur=0.3, sigma=(0.5, 1.6)), seeded())
    some, sigma, reach = calls[0]
    assert binomtest(len(some), 4000, 0.3).pvalue > 1e-4
    assert kstest(sigma.numpy(), "uniform", args=(0.5, 1.1)).pvalue > 1e-4
    assert reach == 7


def test_boxes_of_the_crop(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch, "cropped")
    random_view(torch.zeros(300, 1, 40, 60), replace(NOTHING, crop=(0.2, 0.4)), seeded())
    boxes = calls[0][1]
    area = boxes[:, 2] * boxes[:, 3] / 2400
    assert len(boxes.unique(dim=0)) > 290
    assert 0.18 < area.min() < 0.21
    assert 0.39 < area.max() < 0.42
    assert not calls[0][2].any()


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float16, 1e-3), (torch.bfloat16, 8e-3), (torch.float64, 5e-6)])
def test_other_types_get_the_same_views(dtype: torch.dtype, tolerance: float) -> None:
    images = random_images(40, 3, 16, 16).to(dtype)
    view = random_view(images, ALL, seeded())
    assert view.dtype == dtype
    assert view.is_contiguous(memory_format=torch.channels_last)
    expected = random_view(images.float(), ALL, seeded())
    torch.testing.assert_close(view.double(), expected.double(), atol=tolerance, rtol=0)


def test_autocast_does_not_matter() -> None:
    images = random_images(10, 3, 16, 16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        view = random_view(images, ALL, seeded())
    assert torch.equal(view, random_view(images, ALL, seeded()))


def test_no_gradient_is_kept() -> None:
    images = random_images(4, 3, 8, 8).requires_grad_()
    assert not random_view(images, ALL, seeded()).requires_grad


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize("channels", [1, 3])
def test_none_and_one(count: int, channels: int) -> None:
    images = random_images(count, channels, 8, 8)
    for pair in STRENGTHS.values():
        for strengths in pair:
            assert random_view(images, strengths, seeded()).shape == images.shape


@pytest.mark.parametrize("size", [(1, 1), (1, 5), (2, 2)])
def test_tiny_images(size: tuple[int, int]) -> None:
    view = random_view(random_images(20, 3, *size), ALL, seeded())
    assert view.isfinite().all()


def test_memory_formats_make_no_difference() -> None:
    images = random_images(10, 3, 8, 8)
    expected = random_view(images, ALL, seeded())
    view = random_view(images.contiguous(), ALL, seeded())
    torch.testing.assert_close(view, expected, atol=1e-6, rtol=0)
    assert view.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize("probability", [0.0, 1e-9])
def test_what_nobody_drew_is_harmless(probability: float) -> None:
    images = random_images(5, 3, 8, 8)
    strengths = Strengths(None, 0, probability, 0.8, 0.8, 0.8, 0.2, probability, probability, solarise=probability)
    assert torch.equal(random_view(images, strengths, seeded()), images)


@pytest.mark.parametrize(
    "images", [torch.zeros(3, 8, 8), torch.zeros(2, 2, 8, 8), torch.zeros(2, 3, 8, 8, dtype=torch.uint8)]
)
def test_what_is_no_batch_of_images_is_said(images: Tensor) -> None:
    with pytest.raises(InputError) as error:
        random_view(images, NOTHING)
    assert str(error.value) == (
        "Images to augment are floating point (B, C, H, W) with one channel or three, not "
        f"{images.dtype} {tuple(images.shape)}."
    )


def test_an_operation_sees_the_images_that_drew_it_alone() -> None:
    with patch.object(views, "greyed", side_effect=greyed) as spy:
        random_view(random_images(100, 3, 4, 4), replace(NOTHING, grey=0.2), seeded())
    assert 0 < len(spy.call_args.args[0]) < 50


def test_neither_kornia_nor_pillow_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kornia", "PIL"):
        monkeypatch.setitem(sys.modules, name, None)
    random_view(random_images(20, 3, 8, 8), ALL, seeded())


class TestImageViews:
    def test_a_set_of_images_and_its_pixels_as_floats_have_the_same_views(self, pictures: Data) -> None:
        augmentation, images = ImageViews("byol"), to_float(pictures.x)
        views = augmentation(pictures, seeded())
        generator = seeded()
        for view, from_images, strengths in zip(views, augmentation(images, seeded()), STRENGTHS["byol"], strict=True):
            assert view.shape == (60, 3, 12, 12)
            assert torch.equal(view, random_view(images, strengths, generator))
            assert torch.equal(view, from_images)

    def test_single_views(self, pictures: Data) -> None:
        augmentation, generator = ImageViews("asymmetric"), seeded()
        for index, view in enumerate(augmentation(pictures, seeded())):
            assert torch.equal(augmentation.view(pictures, generator, index), view)

    def test_strengths_of_ones_own(self, pictures: Data) -> None:
        flipped = replace(NOTHING, flip=1.0)
        alpha, beta = ImageViews((NOTHING, flipped))(pictures, seeded())
        assert torch.equal(alpha, to_float(pictures.x))
        torch.testing.assert_close(beta, to_float(pictures.x).flip(3))

    def test_the_identity(self, pictures: Data) -> None:
        alpha, beta = ImageViews("identity")(pictures)
        assert alpha is beta
        assert torch.equal(alpha, to_float(pictures.x))

    def test_unknown_strengths_and_no_pairs_are_refused(self) -> None:
        with pytest.raises(InputError, match="Unknown strength 'strongs': did you mean 'strong'"):
            ImageViews("strongs")  # type: ignore[arg-type]
        for wrong in (0.5, NOTHING, (NOTHING,), (NOTHING, 0.5), None):
            with pytest.raises(InputError, match="strength is a name or a pair of Strengths"):
                ImageViews(wrong)  # type: ignore[arg-type]

    def test_pixels_as_whole_numbers_without_a_set_are_refused(self, pictures: Data) -> None:
        with pytest.raises(InputError, match="Images to augment are floating point"):
            ImageViews()(pictures.x)
