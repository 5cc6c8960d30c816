"""SimSiam: its whole step against the paper's equation, its stop-gradient, its predictor's rate, and its settings."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sfa.augment import ImageViews
from sfa.methods import SimSiam
from sfa.nn import small
from sfa.run import load_recipe
from tests.methods.whole_steps import Changes, changed, cosine, gradients, images, pixels, seeded

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 4,
    "augmentation.strength": "digits",
    "method.head_hidden": 64,
    "method.head_width": 32,
    "method.prediction": 16,
    "sampler.batch_size": 64,
    "training.lr": 0.01,
    "training.epochs": 4,
}


def make(**options: Any) -> SimSiam:
    torch.manual_seed(0)
    return SimSiam(small(3, 2), ImageViews("identity"), head_hidden=7, head_width=5, prediction=3, **options).double()


def slow_loss(p_alpha: Tensor, p_beta: Tensor, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
    """The mean of D over both directions, image by image; projections count as constants."""
    terms = [
        -cosine(p, z) / 2
        for ps, zs in ((p_alpha, z_beta.detach()), (p_beta, z_alpha.detach()))
        for p, z in zip(ps, zs, strict=True)
    ]
    return torch.stack(terms).sum() / len(p_alpha)


def test_the_loss_of_a_step_is_the_papers_in_value_and_gradient() -> None:
    """With the spectral map between encoder and projector; views are the images themselves."""
    spectral = Changes()
    method, batch = make(spectral=spectral), images(9)
    loss = method(batch, seeded())
    ((h_alpha, h_beta),) = spectral.calls
    torch.testing.assert_close(h_alpha, method.encoder(pixels(batch)))
    torch.testing.assert_close(h_beta, h_alpha, rtol=0, atol=0)

    h = method.encoder(pixels(batch))
    z_alpha, z_beta = (method.head(h_tilde) for h_tilde in changed(h, h))
    expected = slow_loss(method.predictor(z_alpha), method.predictor(z_beta), z_alpha, z_beta)
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients(method, loss), gradients(method, expected), rtol=1e-5, atol=1e-10)


def test_no_gradient_flows_into_what_is_predicted() -> None:
    method = make()
    p, z = (torch.randn(4, 5, generator=seeded(seed)).requires_grad_() for seed in (1, 2))
    method.distance(p, z).backward()
    assert z.grad is None
    assert p.grad is not None


def test_right_predictions_have_the_loss_minus_one() -> None:
    method = make()
    z = torch.randn(4, 5, generator=seeded())
    torch.testing.assert_close(method.distance(3 * z, z), torch.tensor(-1.0))
    torch.testing.assert_close(method.distance(-z, z), torch.tensor(1.0))


def test_the_predictors_rate_is_constant_and_no_others() -> None:
    method = make()
    assert [id(weight) for weight in method.constant_rate()] == [id(weight) for weight in method.predictor.parameters()]


def test_published_settings() -> None:
    for dataset, encoder, epochs in (
        ("cifar10", "resnet18", 1000),
        ("cifar100", "resnet18", 1000),
        ("imagenet-100", "resnet18-imagenet", 400),
    ):
        shipped = load_recipe("simsiam", dataset)
        method, training = shipped.method, shipped.training
        assert shipped.encoder == {"name": encoder, "hidden": 64}
        assert shipped.augmentation == {"name": "image", "strength": "weak"}
        assert (method["head_hidden"], method["head_width"], method["prediction"]) == (2048, 2048, 512)
        assert (training.optimizer, training.momentum, training.epochs) == ("sgd", 0.9, epochs)
        assert (training.lr, training.weight_decay) == (0.5, 1e-5)
        assert (training.warmup, training.warmup_from, training.cosine) == (10, 3e-5, True)
        assert (training.precision, training.accumulate, shipped.sampler["batch_size"]) == ("bf16-mixed", 1, 256)
