"""SimCLR: its whole step against the paper's equation, view by view, and its settings."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from sfa.augment import ImageViews
from sfa.errors import InputError
from sfa.methods import SimCLR
from sfa.nn import small
from sfa.run import Recipe, load_recipe
from tests.methods.whole_steps import Changes, changed, cosine, gradients, images, pixels, seeded

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 4,
    "augmentation.strength": "digits",
    "method.head_hidden": 64,
    "method.head_width": 32,
    "sampler.batch_size": 64,
    "training.lr": 0.01,
    "training.epochs": 4,
}


def make(**options: Any) -> SimCLR:
    torch.manual_seed(0)
    return SimCLR(small(3, 2), ImageViews("identity"), head_hidden=7, head_width=5, **options).double()


def slow_loss(z_alpha: Tensor, z_beta: Tensor, tau: float) -> Tensor:
    """NT-Xent as in the paper's Algorithm 1: views 2k - 1 and 2k are of one image."""
    z = [row for pair in zip(z_alpha, z_beta, strict=True) for row in pair]
    losses = []
    for i in range(len(z)):
        logits = {j: cosine(z[i], z[j]) / tau for j in range(len(z)) if j != i}
        losses.append(torch.stack(list(logits.values())).logsumexp(0) - logits[i ^ 1])
    return torch.stack(losses).mean()


@pytest.mark.parametrize("tau", [0.2, 0.7])
def test_the_loss_of_a_step_is_the_papers_in_value_and_gradient(tau: float) -> None:
    """With the spectral map between encoder and projector; views are the images themselves."""
    spectral = Changes()
    method, batch = make(tau=tau, spectral=spectral), images()
    loss = method(batch, seeded())
    ((h_alpha, h_beta),) = spectral.calls
    torch.testing.assert_close(h_alpha, method.encoder(pixels(batch)))
    torch.testing.assert_close(h_beta, h_alpha, rtol=0, atol=0)

    h = method.encoder(pixels(batch))
    expected = slow_loss(*(method.head(h_tilde) for h_tilde in changed(h, h)), tau=tau)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients(method, loss), gradients(method, expected), rtol=1e-5, atol=1e-10)


def test_negatives_are_of_both_views() -> None:
    """Where all projections are equal, a view is told from the other ``2b - 1`` by chance alone."""
    method = make()
    same = torch.ones(4, 5, dtype=torch.float64)
    assert method.loss(same, same).item() == pytest.approx(torch.tensor(7.0).log().item())


def test_a_temperature_of_no_use_is_refused_before_any_work() -> None:
    with pytest.raises(InputError, match="at least"):
        make(tau=1e-5)
    with pytest.raises(InputError, match=r"method\.tau|tau"):
        Recipe.parse({"method": {"name": "simclr", "tau": 0}})


def test_settings() -> None:
    """Of any set, and the published ones."""
    recipe = Recipe.parse({"method": "simclr"})
    assert (recipe.training.epochs, recipe.training.optimizer, recipe.training.patience) == (100, "adamw", None)
    assert recipe.sampler == {"name": "images", "batch_size": 256}
    assert recipe.feature_norm == "none"
    for dataset, encoder, epochs, lr, heads in (
        ("cifar10", "resnet18", 1000, 0.4, (2048, 256)),
        ("cifar100", "resnet18", 1000, 0.4, (2048, 256)),
        ("imagenet-100", "resnet18-imagenet", 400, 0.3, (4096, 512)),
    ):
        shipped = load_recipe("simclr", dataset)
        method, training = shipped.method, shipped.training
        assert shipped.encoder == {"name": encoder, "hidden": 64}
        assert shipped.augmentation == {"name": "image", "strength": "strong"}
        assert (method["head_hidden"], method["head_width"], method["tau"]) == (*heads, 0.2)
        assert (training.optimizer, training.epochs, training.lr, training.weight_decay) == ("lars", epochs, lr, 1e-4)
        assert (training.warmup, training.warmup_from, training.cosine) == (10, 3e-5, True)
        assert (training.precision, training.accumulate, shipped.sampler["batch_size"]) == ("bf16-mixed", 1, 256)
        paper = load_recipe("paper", dataset)
        assert paper == shipped.updated({"spectral": {"name": "sfa", "iterations": 1}})
