"""The probe by SGD, against torch's own modules and optimizer, one rate after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.errors import InputError
from sfa.evaluate.probes import SgdProbe
from sfa.evaluate.probes.linear import LinearClassifiers
from sfa.evaluate.splits import Split, random_splits
from sfa.seeding import derive_seed


def reference(probe: SgdProbe, x: Tensor, target: Tensor, lr: float, number: int) -> nn.Linear:
    """The loop as one would write it with torch, from the same weights and through the same batches."""
    classes = int(target.max()) + 1
    generator = torch.Generator().manual_seed(derive_seed(probe.seed, number))
    first = LinearClassifiers(x.shape[1], 1, classes, momentum=0.0, generator=generator)
    model = nn.Linear(x.shape[1], classes)
    with torch.no_grad():
        model.weight.copy_(first.w[:, 0].mT)
        model.bias.copy_(first.b[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, list(probe.milestones), gamma=0.1)
    for _ in range(probe.epochs):
        for batch in torch.randperm(len(x), generator=generator).split(probe.batch_size):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x[batch]), target[batch]).backward()
            optimizer.step()
        schedule.step()
    return model


def test_is_the_loop_with_torchs_sgd_at_each_rate(blobs: Callable[..., Data]) -> None:
    """13 rows a step leave 1 or so for the last of an epoch; the rate falls twice."""
    graph, told = blobs(200, classes=7), []
    z, y = graph.x.float(), 3 * graph.y.numpy() + 1
    probe = SgdProbe(lrs=(1.0, 0.01, 0.1), epochs=9, batch_size=13, milestones=(4, 7))
    splits = random_splits(y, train=0.33, validation=0.33, count=4)
    chosen = set()
    for number, (split, found) in enumerate(
        zip(splits, probe.predict(z, y, splits, lambda: told.append(1)), strict=True)
    ):
        rows, target = z[split.train], torch.from_numpy((y[split.train] - 1) // 3)
        models = {lr: reference(probe, rows, target, lr, number) for lr in (0.01, 0.1, 1.0)}
        validation = {
            lr: 100 * np.mean(3 * model(z[split.validation]).argmax(1).numpy() + 1 == y[split.validation])
            for lr, model in models.items()
        }
        best = min(validation, key=lambda lr: (-validation[lr], lr))
        assert (found.chosen, found.validation) == (best, pytest.approx(validation[best]))
        scores = models[best](z[split.test]).detach()
        for labels, row in zip(found.ranked, scores.tolist(), strict=True):  # type: ignore[arg-type]
            assert labels.tolist() == [3 * c + 1 for c in sorted(range(7), key=lambda c: -row[c])[:5]]
        assert np.array_equal(found.test, 3 * scores.argmax(1).numpy() + 1)
        chosen.add(best)
    assert len(told) == 4
    assert len(chosen) > 1, "splits choose for themselves"


def test_weights_are_those_of_the_reference(blobs: Callable[..., Data]) -> None:
    graph, probe, lrs = blobs(60), SgdProbe(epochs=5, batch_size=16, milestones=(3,)), [0.03, 0.3]
    generator = torch.Generator().manual_seed(derive_seed(0, 2))
    with torch.no_grad():
        fitted = probe.fit(graph.x.float(), graph.y, 3, lrs, generator)
    for place, lr in enumerate(lrs):
        model = reference(probe, graph.x.float(), graph.y, lr, 2)
        torch.testing.assert_close(fitted.w[:, place].mT, model.weight.detach())
        torch.testing.assert_close(fitted.b[place], model.bias.detach())


def test_gradients_are_autograds() -> None:
    generator = torch.Generator().manual_seed(0)
    x, target = torch.randn(9, 4, generator=generator), torch.randint(3, (9,), generator=generator)
    classifiers = LinearClassifiers(4, 2, 3, momentum=0.9, generator=generator)
    classifiers.w += torch.randn(4, 2, 3, generator=generator)
    w, b = classifiers.gradients(x, classifiers.scores(x), target)
    for place in range(2):
        own = [classifiers.w[:, place].clone().requires_grad_(), classifiers.b[place].clone().requires_grad_()]
        nn.functional.cross_entropy(x @ own[0] + own[1], target, reduction="sum").backward()
        torch.testing.assert_close(w[:, place], own[0].grad)
        torch.testing.assert_close(b[place], own[1].grad)


def test_first_weights_are_torchs_and_alike_for_all_rates() -> None:
    classifiers = LinearClassifiers(400, 3, 50, momentum=0.9, generator=torch.Generator().manual_seed(0))
    assert 0.049 < float(classifiers.w.max()) <= 0.05
    assert float(classifiers.w.std()) == pytest.approx(0.05 / 3**0.5, rel=0.02)
    assert 0.02 < float(classifiers.b.abs().max()) <= 0.05
    assert torch.equal(classifiers.w[:, 0], classifiers.w[:, 2])


def test_of_equally_good_rates_the_smallest_and_splits_have_seeds_of_their_own() -> None:
    y = np.arange(90) % 3
    splits = random_splits(y, train=0.3, validation=0.1, count=2)
    probe = SgdProbe(lrs=(10.0, 1.0, 3.0), epochs=20, batch_size=8)
    state = torch.get_rng_state()
    found = list(probe.predict(10 * torch.eye(3)[y], y, splits, lambda: None))
    assert [(prediction.validation, prediction.chosen) for prediction in found] == [(100.0, 1.0)] * 2
    assert torch.equal(state, torch.get_rng_state()), "nothing global is drawn from"
    noise, few = torch.randn(90, 6, generator=torch.Generator().manual_seed(0)), SgdProbe(epochs=1, lrs=(0.01,))
    same = [splits[0], splits[0]]
    first, second = few.predict(noise, y, same, lambda: None)
    (again,), (other,) = (
        list(probe.predict(noise, y, same[:1], lambda: None))
        for probe in (few, SgdProbe(epochs=1, lrs=(0.01,), seed=1))
    )
    assert np.array_equal(first.test, again.test)
    assert not np.array_equal(first.test, second.test)
    assert not np.array_equal(first.test, other.test)


def test_settings_are_the_published_ones_and_others_are_checked() -> None:
    probe = SgdProbe()
    assert (probe.epochs, probe.batch_size, probe.momentum, probe.milestones) == (100, 256, 0.9, (60, 80))
    assert (min(probe.lrs), max(probe.lrs), probe.unit_rows) == (0.01, 30.0, False)
    for options, message in (
        ({"epochs": 0}, "epochs must be a whole number, 1 or more"),
        ({"batch_size": 0}, "batch_size must be a whole number, 1 or more"),
        ({"lrs": (0.1, 0.0)}, "lrs must be a number, above 0"),
    ):
        with pytest.raises(InputError, match=message):
            SgdProbe(**options)  # type: ignore[arg-type]


def test_a_rate_far_too_high_is_not_chosen() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    z = torch.from_numpy(1e3 * (np.eye(2)[y] + 0.4 * rng.normal(size=(120, 2))))
    split = Split(np.arange(60), np.arange(60, 90), np.arange(90, 120))
    (found,) = SgdProbe(lrs=(1e-5, 1e30), epochs=40, batch_size=16).predict(z, y, [split], lambda: None)
    assert found.chosen == 1e-5
