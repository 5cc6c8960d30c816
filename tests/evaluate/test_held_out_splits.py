"""Parts of image sets: with the sets' own training and test images, and without."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.online_probe import OnlineProbe
from sfa.evaluate.splits import HeldOutSplits, stratified_parts
from sfa.registry import resolve


def image_set(y: np.ndarray, test: np.ndarray | None = None, names: list[str] | None = None) -> Data:
    """Images of these labels; ``test`` tells which of them are the test part."""
    images = Data(x=torch.zeros(len(y), 1, 1, 1, dtype=torch.uint8), y=torch.from_numpy(y))
    if test is not None:
        images.train_mask, images.test_mask = torch.from_numpy(~test), torch.from_numpy(test)
    if names is not None:
        images.class_names = names
    return images


@settings(max_examples=60)
@given(
    members=st.lists(st.integers(3, 60), min_size=1, max_size=5),
    shares=st.sampled_from([(0.1,), (0.1, 0.2), (0.25, 0.25), (0.3, 0.1)]),
    unknown=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_every_class_has_its_share_in_every_part(
    members: list[int], shares: tuple[float, ...], unknown: int, seed: int
) -> None:
    labels = np.repeat(np.arange(-1, len(members)), [unknown, *members])
    y = np.random.default_rng(seed).permutation(labels)
    items = np.flatnonzero(y >= 0)
    parts = stratified_parts(y, items, shares, np.random.default_rng(seed))
    assert np.array_equal(np.sort(np.concatenate(parts)), items), "each once, and none without a label"
    for label, count in enumerate(members):
        sizes = [int((y[part] == label).sum()) for part in parts]
        expected = [max(1, round(share * count)) for share in shares]
        assert sizes == [*expected, count - sum(expected)]
        assert min(sizes) >= 1
    assert all((np.diff(part) > 0).all() for part in parts)


def test_own_parts_are_kept_and_a_tenth_of_the_training_images_validates() -> None:
    rng = np.random.default_rng(0)
    y, test = rng.integers(0, 4, 500), rng.random(500) < 0.3
    y[rng.random(500) < 0.1] = -1
    splits = HeldOutSplits().of(image_set(y, test), 3)
    known = np.flatnonzero(~test & (y >= 0))
    for split in splits:
        assert np.array_equal(split.test, np.flatnonzero(test & (y >= 0)))
        assert np.array_equal(np.sort(np.concatenate([split.train, split.validation])), known)
        for label in range(4):
            assert (y[split.validation] == label).sum() == round(0.1 * (y[known] == label).sum())
    assert len({tuple(split.validation) for split in splits}) == 3, "each split draws its own"


def test_without_parts_it_is_70_10_20_drawn_for_each_split() -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1, -1], [100, 40, 7]))
    splits = HeldOutSplits().of(image_set(y), 3)
    for split in splits:
        assert (len(split.train), len(split.validation), len(split.test)) == (98, 14, 28)
        assert np.array_equal(
            np.sort(np.concatenate([split.train, split.validation, split.test])), np.flatnonzero(y >= 0)
        )
        assert np.bincount(y[split.test]).tolist() == [20, 8]
    assert len({tuple(split.test) for split in splits}) == 3


@pytest.mark.parametrize("masks", [False, True])
def test_a_split_is_a_function_of_labels_masks_and_seed_alone(masks: bool) -> None:
    y, test = np.arange(90) % 3, np.arange(90) >= 60 if masks else None
    first = HeldOutSplits().of(image_set(y, test), 3)
    images = image_set(y, test)
    images.x += 7
    np.random.seed(5)  # noqa: NPY002 (that nothing global matters is the point)
    for one, other in zip(first, HeldOutSplits().of(images, 2), strict=False):
        for part in ("train", "validation", "test"):
            assert np.array_equal(getattr(one, part), getattr(other, part))
    (reseeded,) = HeldOutSplits(seed=1).of(images, 1)
    assert not np.array_equal(reseeded.validation, first[0].validation)


def test_labels_of_test_images_have_no_say_in_what_trains() -> None:
    y, test = np.arange(90) % 3, np.arange(90) % 2 == 0
    (before,) = HeldOutSplits().of(image_set(y, test), 1)
    changed = np.where(test, 1, y)
    changed[0] = -1
    (after,) = HeldOutSplits().of(image_set(changed, test), 1)
    assert np.array_equal(before.train, after.train)
    assert np.array_equal(before.validation, after.validation)


def in_three_parts(y: np.ndarray, part: np.ndarray, names: list[str] | None = None) -> Data:
    """Images that train (0), test (1) and validate (2); those of another part do none of these."""
    images = image_set(y, names=names)
    images.train_mask, images.test_mask, images.val_mask = (torch.from_numpy(part == number) for number in range(3))
    return images


def test_a_validation_part_of_its_own_validates_and_nothing_is_drawn() -> None:
    rng = np.random.default_rng(0)
    y, part = rng.integers(0, 4, 300), rng.integers(0, 4, 300)
    y[rng.random(300) < 0.1] = -1
    (split,) = HeldOutSplits().of(in_three_parts(y, part), 3)
    for number, found in enumerate((split.train, split.test, split.validation)):
        assert np.array_equal(found, np.flatnonzero((part == number) & (y >= 0)))
    (reseeded,) = HeldOutSplits(seed=1).of(in_three_parts(y, part), 1)
    assert np.array_equal(reseeded.validation, split.validation)


def test_one_image_of_a_class_is_enough_to_learn_from_beside_a_validation_part() -> None:
    (split,) = HeldOutSplits().of(in_three_parts(np.array([0, 1, 1, 0]), np.array([0, 0, 1, 2])), 1)
    assert [part.tolist() for part in (split.train, split.validation, split.test)] == [[0, 1], [3], [2]]


@pytest.mark.parametrize("protocol", ["image-linear", "image-sgd"])
def test_settings_are_chosen_on_the_validation_part(protocol: str) -> None:
    """Where its labels lie, something else is chosen."""
    rng = np.random.default_rng(0)
    y, part = np.arange(90) % 3, np.arange(90) // 3 % 3
    z = torch.from_numpy(np.eye(3)[y] + 0.6 * rng.standard_normal((90, 3))).float()
    images = in_three_parts(y, part)
    score = resolve("protocol", protocol).evaluate(z, images, name="noisy classes")
    assert 50 < score.mean() <= 100
    images.y[images.val_mask] = (images.y[images.val_mask] + 1) % 3
    assert resolve("protocol", protocol).evaluate(z, images, name="lied").chosen != score.chosen


def test_an_online_probe_is_looked_at_on_the_validation_part() -> None:
    y, part = np.arange(60) % 3, np.arange(60) // 3 % 4
    probe = OnlineProbe(4, in_three_parts(y, part))
    assert probe.learns_from.tolist() == (part == 0).tolist()
    assert probe.validation.tolist() == np.flatnonzero(part == 2).tolist()


def spoilt(how: str) -> Data:
    y, test = np.arange(40) % 4, np.arange(40) >= 28
    if how.startswith("validation"):
        images = in_three_parts(y, np.repeat([0, 1, 2], [20, 10, 10]), ["ant", "bee", "cat", "dog"])
        if how == "validation overlap":
            images.val_mask[18:22] = True
        elif how == "validation unlabeled":
            images.y[images.val_mask] = -1
        elif how == "validation unseen":
            images.y[(images.y == 2) & ~images.val_mask] = 0
        elif how == "validation numbers":
            images.val_mask = images.val_mask.long()
        return images
    if how == "one image":
        y[np.flatnonzero(~test & (y == 2))[1:]] = -1
    elif how == "unseen class":
        y[~test & (y == 2)] = 0
    elif how == "no test":
        y[test] = -1
    elif how == "one class":
        y[:] = 3
    elif how == "two images":
        y, test = np.repeat([0, 1, 2, 3], [20, 10, 2, 8]), None  # type: ignore[assignment]
    images = image_set(y, test, ["ant", "bee", "cat", "dog"])
    if how == "overlap":
        images.test_mask[[3, 5]] = True
    elif how == "numbers":
        images.test_mask = images.test_mask.long()
    elif how == "short":
        images.train_mask = images.train_mask[:-1]
    elif how == "half":
        del images.test_mask
    elif how == "labels":
        del images.y
    return images


@pytest.mark.parametrize(
    ("how", "message"),
    [
        (
            "one image",
            "Class 'cat' has 1 labeled training image; a split needs at least 2, one for each of training and "
            "validation.",
        ),
        (
            "two images",
            "Class 'cat' has 2 labeled images; a split needs at least 3, one for each of training, validation and "
            "test.",
        ),
        ("unseen class", "Class 'cat' has images in `test_mask` but no labeled training images."),
        ("no test", "`test_mask` has no labeled image."),
        ("one class", "Labels of at least 2 classes are needed to evaluate; there are 1."),
        ("overlap", "The masks overlap: 2 images are in both `train_mask` and `test_mask`."),
        ("validation overlap", "The masks overlap: 2 images are in both `train_mask` and `val_mask`."),
        ("validation unlabeled", "`val_mask` has no labeled image."),
        ("validation unseen", "Class 'cat' has images in `val_mask` but no labeled training images."),
        ("validation numbers", "`val_mask` is a mask of 40 booleans, not int64 of shape (40,)."),
        ("numbers", "`test_mask` is a mask of 40 booleans, not int64 of shape (40,)."),
        ("short", "`train_mask` is a mask of 40 booleans, not bool of shape (39,)."),
        ("half", "The images have a `train_mask` but no `test_mask`: give both, or neither."),
        (
            "labels",
            "Evaluation needs labels, and this image set has none: give a table of ids and labels by --labels "
            "(labels=).",
        ),
    ],
)
def test_sets_that_allow_no_split_are_named(how: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        HeldOutSplits().of(spoilt(how), 1)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ({"validation": 0.4}, "at most half of the images together, not 0.4 and 0.2"),
        ({"validation": 0.0}, "validation must be a number, above 0"),
        ({"test": -1.0}, "test must be a number, above 0"),
    ],
)
def test_shares_that_leave_nothing_are_refused(shares: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        HeldOutSplits(**shares)  # type: ignore[arg-type]


def test_fewest_images_that_a_set_can_have(blob_images: Callable[..., Data]) -> None:
    """Two to learn from of each class, or three where no test part is set apart."""
    (split,) = HeldOutSplits().of(image_set(np.arange(6) % 2), 1)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [2, 2, 2]
    (split,) = HeldOutSplits().of(image_set(np.arange(5) % 2, np.arange(5) == 4), 1)
    assert [len(part) for part in (split.train, split.validation, split.test)] == [2, 2, 1]
