"""What every method for images must do: channels, small batches, half precision, and equal images."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data

from sfa.spectral import SpectralFeatureAugmentation
from tests.methods.conformance import build, built_in, seeded
from tests.methods.whole_steps import images


@pytest.mark.parametrize("name", built_in("image"))
class TestEveryImageMethod:
    @pytest.mark.parametrize("channels", [1, 3])
    @pytest.mark.parametrize("count", [2, 5])
    def test_grey_and_color_images_and_a_batch_of_two(self, name: str, channels: int, count: int) -> None:
        method = build(name, images(count, channels), SpectralFeatureAugmentation())
        loss = method(images(count, channels), seeded())
        loss.backward()
        assert loss.isfinite()
        assert all(w.grad.isfinite().all() for w in method.parameters() if w.requires_grad and w.grad is not None)
        assert method.embed(images(count, channels)).shape == (count, method.encoder.width)

    def test_half_precision_ends_before_the_slot_and_the_loss(self, name: str) -> None:
        method, seen = build(name, images()), []
        with torch.autocast("cpu", torch.bfloat16):
            loss = method(images(), seeded(), observe=seen.append)
        assert loss.dtype == torch.float32
        assert loss.isfinite()
        assert seen[0].h_alpha.dtype == seen[0].h_tilde_alpha.dtype == torch.float32
        torch.testing.assert_close(loss, build(name, images())(images(), seeded()), rtol=0.1, atol=0.05)
        loss.backward()
        assert all(w.grad.isfinite().all() for w in method.parameters() if w.grad is not None)

    def test_sets_up_with_the_pixels_of_the_training_images(self, name: str) -> None:
        data = Data(x=images().x, train_mask=torch.arange(6) < 4)
        method = build(name, images())
        method.setup(data)
        pixels = data.x[:4].double().div(255)
        torch.testing.assert_close(method.encoder.mean, pixels.mean((0, 1, 2)).float())
        torch.testing.assert_close(method.encoder.std, pixels.std((0, 1, 2), correction=0).float())

    def test_embeddings_are_the_encoders_without_views(self, name: str) -> None:
        method, data = build(name, images()), images()
        assert torch.equal(method.embed(data), method.encoder.embed(data))

    def test_a_step_of_identical_images_is_finite(self, name: str) -> None:
        """Black images have black views: features without spread, of which nothing can be told apart."""
        method = build(name, images(), SpectralFeatureAugmentation())
        loss = method(Data(x=torch.zeros(4, 8, 8, 3, dtype=torch.uint8)), seeded())
        loss.backward()
        assert loss.isfinite()
        assert all(w.grad.isfinite().all() for w in method.parameters() if w.grad is not None)
