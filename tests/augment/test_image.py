"""Random views of images: composed as published, drawn for each image alone, for every shape and type."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, get_args
from unittest.mock import patch

import pytest
import torch
from scipy.stats import binomtest, chisquare, kstest
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment import STRENGTHS, ImageViews, Strengths
from sfa.augment import image as views
from sfa.augment.image import Strength, random_view
from sfa.augment.image_ops import blur_images, crop_boxes, crop_images, jitter_colors, solarize, to_gray
from sfa.errors import InputError
from sfa.nn.image_encoder import to_float
from sfa.run import Recipe
from tests.methods.whole_steps import images

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
        view = crop_images(view, crop_boxes(tries, numbers[None, 20:22], size, strengths.crop), torch.tensor([False]))
    if jitter < strengths.jitter:
        amounts = []
        for number, strength in zip(
            factors, (strengths.brightness, strengths.contrast, strengths.saturation), strict=False
        ):
            least = max(0.0, 1 - strength)
            amounts.append(least + number * (1 + strength - least))
        amounts.append(-strengths.hue + 2 * strengths.hue * factors[3])
        order = sorted(range(4), key=lambda kind: orders[kind])
        view = jitter_colors(view, torch.tensor([amounts], dtype=view.dtype), torch.tensor([order]))
    if grey < strengths.grey:
        view = to_gray(view)
    if blur < strengths.blur:
        low, high = strengths.sigma
        view = blur_images(view, torch.tensor([low + sigma * (high - low)]), 8)
    if solarise < strengths.solarise:
        view = solarize(view)
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
        ("grey", lambda image: to_gray(image[None])[0]),
        ("solarise", lambda image: solarize(image[None])[0]),
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
                one = to_gray(row) if grey else row
                one = solarize(one) if solarise else one
                kinds[flip, grey, solarise] = (one.flip(3) if flip else one)[0]
    # The grey of this row is dark: solarising it does nothing, and those two kinds are one.
    counts = [
        sum(int((view - kinds[kind]).abs().flatten(1).amax(1).lt(1e-6).sum()) for kind in which)
        for which in [[(f, 0, s)] for f in (0, 1) for s in (0, 1)] + [[(f, 1, 0)] for f in (0, 1)]
    ]
    assert sum(counts) == 4000
    assert chisquare(counts, [500] * 4 + [1000] * 2).pvalue > 1e-4


def test_factors_and_orders_of_the_jitter(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch, "jitter_colors")
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
    calls = spied(monkeypatch, "blur_images")
    random_view(random_images(4000, 3, 2, 2), replace(NOTHING, blur=0.3, sigma=(0.5, 1.6)), seeded())
    some, sigma, reach = calls[0]
    assert binomtest(len(some), 4000, 0.3).pvalue > 1e-4
    assert kstest(sigma.numpy(), "uniform", args=(0.5, 1.1)).pvalue > 1e-4
    assert reach == 7


def test_boxes_of_the_crop(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = spied(monkeypatch, "crop_images")
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
    with patch.object(views, "to_gray", side_effect=to_gray) as spy:
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
        with pytest.raises(InputError, match="did you mean 'strong'"):
            ImageViews("strongs")  # type: ignore[arg-type]
        for wrong in (0.5, NOTHING, (NOTHING,), (NOTHING, 0.5), None):
            with pytest.raises(InputError, match="a pair of Strengths"):
                ImageViews(wrong)  # type: ignore[arg-type]

    def test_pixels_as_whole_numbers_without_a_set_are_refused(self, pictures: Data) -> None:
        with pytest.raises(InputError, match="Images to augment are floating point"):
            ImageViews()(pictures.x)


def test_each_view_has_the_strengths_meant_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the images as floats; alpha is drawn before beta, from the one generator."""
    calls: list[tuple[Tensor, Strengths, torch.Generator | None]] = []

    def record(given: Tensor, strengths: Strengths, generator: torch.Generator | None) -> Tensor:
        calls.append((given, strengths, generator))
        return given + len(calls)

    monkeypatch.setattr(views, "random_view", record)
    batch, generator = images(), seeded()
    made = ImageViews("asymmetric")(batch, generator)
    assert [strengths for _, strengths, _ in calls] == list(STRENGTHS["asymmetric"])
    for number, (given, _, used) in enumerate(calls, start=1):
        assert torch.equal(given, to_float(batch.x))
        assert used is generator
        assert torch.equal(made[number - 1], given + number)


def test_both_views_are_drawn_apart() -> None:
    alpha, beta = ImageViews("strong")(images(), seeded())
    assert alpha.shape == beta.shape == (6, 3, 8, 8)
    assert not torch.equal(alpha, beta)
    again, _ = ImageViews("strong")(images(), seeded())
    assert torch.equal(alpha, again)


def test_strengths_of_ones_own() -> None:
    flips = Strengths(crop=None, flip=1.0, jitter=0.0, grey=0.0, blur=0.0)
    alpha, beta = ImageViews((flips, STRENGTHS["identity"][1]))(images(), seeded())
    torch.testing.assert_close(alpha, to_float(images().x).flip(3))
    assert torch.equal(beta, to_float(images().x))


def test_strengths_of_no_such_name_are_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'strong'"):
        ImageViews("storng")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="strength"):
        Recipe.parse({"method": "simclr", "augmentation": {"strength": "storng"}})


COLOUR = ("brightness", "contrast", "saturation", "hue")


def test_every_name_has_its_strengths() -> None:
    assert set(STRENGTHS) == set(get_args(Strength))


@pytest.mark.parametrize(
    ("name", "colour", "blur", "solarise"),
    [
        ("strong", (0.8, 0.8, 0.8, 0.2), (0.5, 0.5), (0.0, 0.0)),
        ("weak", (0.4, 0.4, 0.4, 0.1), (0.5, 0.5), (0.0, 0.0)),
        ("asymmetric", (0.4, 0.4, 0.2, 0.1), (0.0, 0.0), (0.0, 0.2)),
        ("byol", (0.4, 0.4, 0.2, 0.1), (1.0, 0.1), (0.0, 0.2)),
    ],
)
def test_published_values(
    name: Strength, colour: tuple[float, ...], blur: tuple[float, float], solarise: tuple[float, float]
) -> None:
    """Of BYOL's Table 6 (``byol``) and of the YAML files of solo-learn."""
    common = {"crop": (0.08, 1.0), "flip": 0.5, "jitter": 0.8, "grey": 0.2, "sigma": (0.1, 2.0)}
    for side, strengths in enumerate(STRENGTHS[name]):
        expected = common | dict(zip(COLOUR, colour, strict=True)) | {"blur": blur[side], "solarise": solarise[side]}
        assert asdict(strengths) == expected


def test_digits_are_not_mirrored() -> None:
    assert all(strengths.flip == 0 for strengths in STRENGTHS["digits"])


def test_only_the_identity_changes_nothing() -> None:
    assert {name for name, pair in STRENGTHS.items() if any(one.changes_nothing for one in pair)} == {"identity"}
    assert all(one.changes_nothing for one in STRENGTHS["identity"])


@pytest.mark.parametrize("given", [{"flip": 0.1}, {"jitter": 0.1}, {"grey": 1.0}, {"blur": 0.1}, {"solarise": 0.1}])
def test_any_probability_changes_something(given: dict[str, float]) -> None:
    nothing: dict[str, Any] = {"crop": None, "flip": 0.0, "jitter": 0.0, "grey": 0.0, "blur": 0.0}
    assert not Strengths(**nothing | given).changes_nothing
    assert not Strengths(**nothing | {"crop": (0.5, 1.0)}).changes_nothing


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"flip": 1.1}, "at most 1, not 1.1"),
        ({"jitter": -0.1}, "0 or more and at most 1, not -0.1"),
        ({"grey": "0.2"}, "not '0.2'"),
        ({"blur": 2}, "at most 1, not 2"),
        ({"solarise": float("nan")}, "not nan"),
        ({"brightness": -0.5}, "0 or more, not -0.5"),
        ({"contrast": float("inf")}, "0 or more, not inf"),
        ({"saturation": None}, "0 or more, not None"),
        ({"hue": 0.6}, "at most 0.5, not 0.6"),
        ({"crop": (0.0, 1.0)}, "above 0 and at most 1, not 0.0"),
        ({"crop": (0.5, 1.5)}, "above 0 and at most 1, not 1.5"),
        ({"crop": (0.9, 0.5)}, "the least number and then the greatest"),
        ({"crop": 0.5}, "a pair of numbers"),
        ({"sigma": (0.1, 1.0, 2.0)}, "a pair of numbers"),
        ({"sigma": (0.0, 1.0)}, "above 0, not 0.0"),
        ({"sigma": (2.0, 1.0)}, "the least number and then the greatest"),
    ],
)
def test_what_cannot_be_is_said(given: dict[str, Any], message: str) -> None:
    (name,) = given
    with pytest.raises(InputError, match=rf"^{name} must be .*{re.escape(message)}"):
        Strengths(**given)
