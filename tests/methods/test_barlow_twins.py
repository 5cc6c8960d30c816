"""Barlow Twins: its whole step against the paper's equation, correlation by correlation, and its settings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from sfa.augment import ImageViews
from sfa.methods import BarlowTwins
from sfa.nn import small
from sfa.run import load_recipe
from tests.methods.whole_steps import Changes, changed, gradients, images, pixels, seeded

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 4,
    "augmentation.strength": "digits",
    "method.head_hidden": 64,
    "method.head_width": 32,
    "method.off_diagonal": 0.1,
    "sampler.batch_size": 64,
    "training.lr": 0.01,
    "training.epochs": 4,
}


def make(**options: Any) -> BarlowTwins:
    torch.manual_seed(0)
    return BarlowTwins(small(3, 2), ImageViews("identity"), head_hidden=7, head_width=5, **options).double()


def slow_loss(z_alpha: Tensor, z_beta: Tensor, off_diagonal: float) -> Tensor:
    """Column by column, standardised with the unbiased deviation as in the paper's Algorithm 1."""
    loss = z_alpha.new_zeros(())
    for i, a in enumerate(z_alpha.T):
        for j, b in enumerate(z_beta.T):
            correlation = ((a - a.mean()) / a.std() * (b - b.mean()) / b.std()).sum() / len(a)
            loss = loss + ((1 - correlation) ** 2 if i == j else off_diagonal * correlation**2)
    return loss


@pytest.mark.parametrize(("off_diagonal", "scale"), [(0.0051, 0.1), (0.3, 2.0)])
def test_the_loss_of_a_step_is_the_papers_in_value_and_gradient(off_diagonal: float, scale: float) -> None:
    """With the spectral map between encoder and projector; views are the images themselves."""
    spectral = Changes()
    method, batch = make(off_diagonal=off_diagonal, scale=scale, spectral=spectral), images(9)
    loss = method(batch, seeded())
    ((h_alpha, h_beta),) = spectral.calls
    torch.testing.assert_close(h_alpha, method.encoder(pixels(batch)))
    torch.testing.assert_close(h_beta, h_alpha, rtol=0, atol=0)

    h = method.encoder(pixels(batch))
    expected = scale * slow_loss(*(method.head(h_tilde) for h_tilde in changed(h, h)), off_diagonal=off_diagonal)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients(method, loss), gradients(method, expected), rtol=1e-5, atol=1e-9)


def test_published_settings() -> None:
    for dataset, encoder, epochs, augmentation in (
        ("cifar10", "resnet18", 1000, "asymmetric"),
        ("cifar100", "resnet18", 1000, "asymmetric"),
        ("imagenet-100", "resnet18-imagenet", 400, "byol"),
    ):
        shipped = load_recipe("barlow-twins", dataset)
        method, training = shipped.method, shipped.training
        assert shipped.encoder == {"name": encoder, "hidden": 64}
        assert shipped.augmentation == {"name": "image", "strength": augmentation}
        assert (method["head_hidden"], method["head_width"]) == (2048, 2048)
        assert (method["off_diagonal"], method["scale"]) == (0.0051, 0.1)
        assert (training.optimizer, training.epochs, training.lr, training.weight_decay) == ("lars", epochs, 0.3, 1e-4)
        assert (training.warmup, training.warmup_from, training.cosine) == (10, 3e-5, True)
        assert (training.precision, training.accumulate, shipped.sampler["batch_size"]) == ("bf16-mixed", 1, 256)
