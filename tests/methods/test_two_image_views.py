"""What SimCLR, Barlow Twins, SimSiam and BYOL share: random views, channels, small batches, half precision."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.augment.image import STRENGTHS, RandomViews, Strengths, to_float
from sfa.errors import InputError
from sfa.methods import Method, random_views, resolve
from sfa.spectral import SpectralFeatureAugmentation
from tests.methods.whole_steps import images, seeded

NAMES = ("simclr", "barlow-twins", "simsiam", "byol")


def make(name: str, channels: int = 3, **options: Any) -> Method:
    torch.manual_seed(0)
    small = {"hidden": 4, "head_hidden": 8, "head_width": 6}
    cls: Any = resolve(name)
    method: Method = cls(channels, **{**small, **options})
    return method


def test_each_view_has_the_strengths_meant_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the images as floats; alpha is drawn before beta, from the one generator."""
    calls: list[tuple[Tensor, Strengths, torch.Generator | None]] = []

    def record(given: Tensor, strengths: Strengths, generator: torch.Generator | None) -> Tensor:
        calls.append((given, strengths, generator))
        return given + len(calls)

    monkeypatch.setattr(random_views, "random_view", record)
    batch, generator = images(), seeded()
    views = RandomViews("asymmetric")(batch, generator)
    assert [strengths for _, strengths, _ in calls] == list(STRENGTHS["asymmetric"])
    for number, (given, _, used) in enumerate(calls, start=1):
        assert torch.equal(given, to_float(batch.x))
        assert used is generator
        assert torch.equal(views[number - 1], given + number)


def test_both_views_are_drawn_apart() -> None:
    alpha, beta = RandomViews("strong")(images(), seeded())
    assert alpha.shape == beta.shape == (6, 3, 8, 8)
    assert not torch.equal(alpha, beta)
    again, _ = RandomViews("strong")(images(), seeded())
    assert torch.equal(alpha, again)


@pytest.mark.parametrize("name", NAMES)
class TestEachMethod:
    def test_augmentations_of_no_such_name_are_refused(self, name: str) -> None:
        with pytest.raises(InputError, match="Unknown augmentation 'storng'"):
            make(name, augmentation="storng")

    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize("count", [2, 5])
    def test_grey_and_colour_images_and_a_batch_of_two(self, name: str, channels: int, count: int) -> None:
        method = make(name, channels, spectral=SpectralFeatureAugmentation())
        loss = method(images(count, channels), seeded())
        loss.backward()
        assert loss.isfinite()
        assert all(w.grad.isfinite().all() for w in method.parameters() if w.requires_grad and w.grad is not None)
        assert method.embed(images(count, channels)).shape == (count, method.encoder.width)

    def test_half_precision_ends_before_the_slot_and_the_loss(self, name: str) -> None:
        method, seen = make(name), []
        with torch.autocast("cpu", torch.bfloat16):
            loss = method(images(), seeded(), observe=seen.append)
        assert loss.dtype == torch.float32
        assert loss.isfinite()
        assert seen[0].h_alpha.dtype == seen[0].h_tilde_alpha.dtype == torch.float32
        torch.testing.assert_close(loss, make(name)(images(), seeded()), rtol=0.1, atol=0.05)
        loss.backward()
        assert all(w.grad.isfinite().all() for w in method.parameters() if w.grad is not None)

    def test_looks_at_the_pixels_of_the_training_images(self, name: str) -> None:
        method = make(name)
        data = Data(x=images().x, train_mask=torch.arange(6) < 4)
        method.look_at(data)
        pixels = data.x[:4].double().div(255)
        torch.testing.assert_close(method.encoder.mean, pixels.mean((0, 1, 2)).float())
        torch.testing.assert_close(method.encoder.std, pixels.std((0, 1, 2), correction=0).float())

    def test_embeddings_are_the_encoders_without_views(self, name: str) -> None:
        method, data = make(name), images()
        assert torch.equal(method.embed(data), method.encoder.embed(data))

    def test_a_step_of_identical_images_is_finite(self, name: str) -> None:
        """Black images have black views: features without spread, of which nothing can be told apart."""
        method = make(name, spectral=SpectralFeatureAugmentation())
        loss = method(Data(x=torch.zeros(4, 8, 8, 3, dtype=torch.uint8)), seeded())
        loss.backward()
        assert loss.isfinite()
        assert all(w.grad.isfinite().all() for w in method.parameters() if w.grad is not None)
