"""BYOL: its whole step against the paper's equation, the life of its target, and its settings."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from sfa.augment import ImageViews
from sfa.methods import BYOL, bgrl
from sfa.nn import small
from sfa.run import load_recipe
from tests.methods.whole_steps import Changes, changed, gradients, images, pixels, seeded

SHORT_RUN: dict[str, Any] = {
    "encoder.hidden": 4,
    "augmentation.strength": "digits",
    "method.head_hidden": 128,
    "method.head_width": 64,
    "method.prediction": 256,
    "method.momentum": 0.9,
    "sampler.batch_size": 64,
    "training.lr": 0.01,
    "training.epochs": 8,
}


def make(**options: Any) -> BYOL:
    """A small one whose target has gone other ways than the online network."""
    torch.manual_seed(0)
    method = BYOL(small(3, 2), ImageViews("identity"), head_hidden=7, head_width=5, prediction=3, **options).double()
    with torch.no_grad():
        for phi in target_weights(method):
            phi.add_(0.1 * torch.randn(phi.shape, generator=seeded()))
    return method


def target_weights(method: BYOL) -> list[nn.Parameter]:
    return [*method.target.parameters(), *method.target_projector.parameters()]


def online_weights(method: BYOL) -> list[nn.Parameter]:
    return [*method.encoder.parameters(), *method.projector.parameters()]


def slow_loss(q_alpha: Tensor, q_beta: Tensor, z_alpha: Tensor, z_beta: Tensor) -> Tensor:
    """Squared distances of unit vectors, image by image, the sum of both directions."""
    terms = [
        (q / q.norm() - z / z.norm()).square().sum()
        for qs, zs in ((q_alpha, z_beta), (q_beta, z_alpha))
        for q, z in zip(qs, zs, strict=True)
    ]
    return torch.stack(terms).sum() / len(q_alpha)


def test_the_loss_of_a_step_is_the_papers_in_value_and_gradient() -> None:
    """With the spectral map on the features of both networks, before both projectors; views are the images."""
    spectral = Changes()
    method, batch = make(spectral=spectral), images(9)
    loss = method(batch, seeded())
    (maps,) = spectral.calls
    for h, network in zip(maps, (method.encoder, method.encoder, method.target, method.target), strict=True):
        torch.testing.assert_close(h, network(pixels(batch)))
    assert [h.requires_grad for h in maps] == [True, True, False, False]

    h, t = method.encoder(pixels(batch)), method.target(pixels(batch)).detach()
    h_alpha, h_beta, t_alpha, t_beta = changed(h, h, t, t)
    expected = slow_loss(
        method.predictor(method.projector(h_alpha)),
        method.predictor(method.projector(h_beta)),
        method.target_projector(t_alpha).detach(),
        method.target_projector(t_beta).detach(),
    )
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(gradients(method, loss), gradients(method, expected), rtol=1e-5, atol=1e-10)


def test_the_target_learns_from_no_gradient() -> None:
    method = make()
    method(images(), seeded()).backward()
    assert not any(phi.requires_grad or phi.grad is not None for phi in target_weights(method))
    assert all(theta.grad is not None for theta in (*online_weights(method), *method.predictor.parameters()))


def test_the_loss_is_0_where_predictions_are_right() -> None:
    method = make()
    method.predictor, method.projector, method.target_projector = nn.Identity(), nn.Identity(), nn.Identity()
    z = torch.randn(4, 5, generator=seeded())
    torch.testing.assert_close(method.loss(2 * z, z), torch.tensor(0.0), rtol=0, atol=1e-6)
    torch.testing.assert_close(method.loss(-z, z), torch.tensor(8.0))


def test_half_precision_ends_before_predictions_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def record(q: Tensor, z: Tensor, *, across_processes: bool) -> Tensor:
        seen.extend((q.dtype, z.dtype, torch.is_autocast_enabled("cpu")))
        return (q * z).sum()

    seen: list[torch.dtype | bool] = []
    monkeypatch.setattr(bgrl, "bootstrap_latent", record)
    with torch.autocast("cpu", torch.bfloat16):
        make().float()(images(), seeded())
    assert seen == [torch.float32, torch.float32, False] * 2


def test_encoder_and_projector_of_the_target_follow_with_a_momentum_that_rises_to_one() -> None:
    method = make(momentum=0.9)
    phi, theta = ([w.detach().clone() for w in weights] for weights in (target_weights(method), online_weights(method)))
    method.after_step(0.25)
    m = 1 - 0.1 * (math.cos(math.pi / 4) + 1) / 2
    expected = [m * p + (1 - m) * t for p, t in zip(phi, theta, strict=True)]
    torch.testing.assert_close([p.detach() for p in target_weights(method)], expected)
    torch.testing.assert_close([t.detach() for t in online_weights(method)], theta, rtol=0, atol=0)
    before = [p.detach().clone() for p in target_weights(method)]
    method.after_step(1.0)
    torch.testing.assert_close([p.detach() for p in target_weights(method)], before, rtol=0, atol=0)


def test_the_target_starts_as_a_copy_that_has_looked_at_the_data_too() -> None:
    method = BYOL(small(3, 2), head_hidden=7, head_width=5, prediction=3)
    method.setup(images())
    for target, online in ((method.target, method.encoder), (method.target_projector, method.projector)):
        assert target is not online
        for name, value in online.state_dict().items():
            assert torch.equal(target.state_dict()[name], value), name
    expected = images().x.double().div(255).mean((0, 1, 2)).float()
    torch.testing.assert_close(method.target.mean, expected)


def test_published_settings() -> None:
    for dataset, encoder, epochs, augmentation, prediction, lr, weight_decay in (
        ("cifar10", "resnet18", 1000, "asymmetric", 4096, 1.0, 1e-5),
        ("cifar100", "resnet18", 1000, "asymmetric", 4096, 1.0, 1e-5),
        ("imagenet-100", "resnet18-imagenet", 400, "byol", 8192, 0.5, 1e-6),
    ):
        shipped = load_recipe("byol", dataset)
        method, training = shipped.method, shipped.training
        assert shipped.encoder == {"name": encoder, "hidden": 64}
        assert shipped.augmentation == {"name": "image", "strength": augmentation}
        assert (method["head_hidden"], method["head_width"], method["prediction"]) == (4096, 256, prediction)
        assert method["momentum"] == 0.99
        assert (training.optimizer, training.epochs) == ("lars", epochs)
        assert (training.lr, training.weight_decay) == (lr, weight_decay)
        assert (training.warmup, training.warmup_from, training.cosine) == (10, 3e-5, True)
        assert (training.precision, training.accumulate, shipped.sampler["batch_size"]) == ("bf16-mixed", 1, 256)
