"""Two views of a batch of images: which strengths each has, and that they are drawn apart."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from sfa.augment import STRENGTHS, ImageViews, Strengths, image
from sfa.errors import InputError
from sfa.image.pixels import to_float
from sfa.run import Recipe
from tests.methods.whole_steps import images, seeded


def test_each_view_has_the_strengths_meant_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the images as floats; alpha is drawn before beta, from the one generator."""
    calls: list[tuple[Tensor, Strengths, torch.Generator | None]] = []

    def record(given: Tensor, strengths: Strengths, generator: torch.Generator | None) -> Tensor:
        calls.append((given, strengths, generator))
        return given + len(calls)

    monkeypatch.setattr(image, "random_view", record)
    batch, generator = images(), seeded()
    views = ImageViews("asymmetric")(batch, generator)
    assert [strengths for _, strengths, _ in calls] == list(STRENGTHS["asymmetric"])
    for number, (given, _, used) in enumerate(calls, start=1):
        assert torch.equal(given, to_float(batch.x))
        assert used is generator
        assert torch.equal(views[number - 1], given + number)


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
    with pytest.raises(InputError, match="Unknown strength 'storng': did you mean 'strong'"):
        ImageViews("storng")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="strength"):
        Recipe.parse({"method": "simclr", "augmentation": {"strength": "storng"}})
