"""The classifier beside the encoder: against torch's own, and what it must not see or disturb."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa import distributed
from sfa.errors import InputError
from sfa.evaluate import Classification, online_probe
from sfa.evaluate.online_probe import OnlineProbe
from sfa.methods.base import FeatureMaps, Method
from sfa.registry import resolve
from tests.processes import run_in_processes

WIDTH = 6


class Pixels(Method):
    """Embeds an image as the squares of its first pixels; a part of it is always in ``eval()``."""

    def __init__(self) -> None:
        super().__init__(None, width=WIDTH)
        self.frozen, self.other = nn.Dropout().eval(), nn.Dropout()
        self.modes: list[bool] = []

    def forward(self, graph: Data, generator: Any = None, observe: Any = None) -> Tensor:
        raise NotImplementedError

    def embeddings(self, graph: Data) -> Tensor:
        self.modes.append(self.training or self.other.training)
        return features(graph.x)


def features(x: Tensor) -> Tensor:
    return (x.flatten(1)[:, :WIDTH].double() / 100).square()


def image_set(classes: int = 3, *, masks: bool = True, n: int = 120) -> Data:
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, n)
    x = rng.integers(0, 60, (n, 3, 2, 1)) + 30 * (y[:, None, None, None] == np.arange(6).reshape(3, 2, 1))
    images = Data(x=torch.from_numpy(x.astype(np.uint8)), y=torch.from_numpy(2 * y), name="squares")
    images.y[::17] = -1
    if masks:
        images.train_mask = torch.arange(n) < 90
        images.test_mask = ~images.train_mask
    return images


def batches(images: Data, *, epoch: int, size: int = 25) -> list[tuple[FeatureMaps, Data]]:
    """The steps of an epoch: two noisy views of each image and, after a spectral map, something else."""
    generator = torch.Generator().manual_seed(epoch)
    steps = []
    for numbers in torch.split(torch.randperm(90, generator=generator), size):
        z = features(images.x[numbers]).float()
        views = [z + 0.1 * torch.randn(z.shape, generator=generator) for _ in range(2)]
        spoilt = [1e6 * view for view in views]
        steps.append((FeatureMaps(*views, *spoilt), Data(x=images.x[numbers], images=numbers, y=images.y[numbers])))
    return steps


def split_of(images: Data) -> Any:
    protocol = resolve("protocol", "image-linear")
    assert isinstance(protocol, Classification)
    return protocol.draw(images)[0]


def run(probe: OnlineProbe, images: Data, epochs: int, *, start: int = 0) -> list[dict[str, float]]:
    found = []
    for epoch in range(start, epochs):
        for maps, batch in batches(images, epoch=epoch):
            probe.observe(maps, batch)
        found.append(probe.end_of_epoch(Pixels().train(), images))
    return found


@pytest.mark.parametrize("classes", [3, 7])
@pytest.mark.parametrize("masks", [True, False])
def test_is_torchs_classifier_on_the_same_features(classes: int, masks: bool) -> None:
    images = image_set(classes, masks=masks)
    split, probe = split_of(images), OnlineProbe(WIDTH, images, lr=0.3, epochs=4)
    model = nn.Linear(WIDTH, classes)
    with torch.no_grad():
        model.weight.copy_(probe.classifier.w[:, 0].mT)
        model.bias.copy_(probe.classifier.b[0])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3, momentum=0.9)
    found = run(probe, images, 4)
    for epoch in range(4):
        optimizer.param_groups[0]["lr"] = 0.3 * (1 + math.cos(math.pi * epoch / 4)) / 2
        right: list[bool] = []
        for maps, batch in batches(images, epoch=epoch):
            rows = [i for i, number in enumerate(batch.images.tolist()) if number in split.train]
            x, target = torch.cat([maps.h_alpha[rows], maps.h_beta[rows]]), (batch.y[rows] // 2).repeat(2)
            scores = model(x)
            right += (scores.argmax(1) == target).tolist()
            optimizer.zero_grad()
            nn.functional.cross_entropy(scores, target).backward()
            optimizer.step()
        scores = model(features(images.x[split.validation]).float())
        ranks = scores.argsort(1, descending=True).numpy()
        labels = images.y.numpy()[split.validation, None] // 2
        expected = {"train": 100 * np.mean(right), "validation": 100 * np.mean(ranks[:, :1] == labels)}
        if classes > 5:
            expected["validation_top5"] = 100 * np.mean((ranks[:, :5] == labels).any(1))
        assert found[epoch] == pytest.approx(expected)
    torch.testing.assert_close(probe.classifier.w[:, 0].mT, model.weight.detach())
    torch.testing.assert_close(probe.classifier.b[0], model.bias.detach())
    assert found[-1]["train"] > found[0]["train"] + 5, "it learns"


@pytest.mark.parametrize("masks", [True, False])
def test_labels_of_validation_and_test_images_teach_nothing(masks: bool) -> None:
    images = image_set(masks=masks)
    split, first, second = split_of(images), OnlineProbe(WIDTH, images), OnlineProbe(WIDTH, images)
    hidden = torch.from_numpy(np.concatenate([split.validation, split.test]))
    lied = images.clone()
    lied.y[hidden] = (images.y[hidden] + 2) % 6
    for one, other in zip(batches(images, epoch=0), batches(lied, epoch=0), strict=True):
        first.observe(*one)
        second.observe(*other)
    assert any(
        not torch.equal(one[1].y, other[1].y)
        for one, other in zip(batches(images, epoch=0), batches(lied, epoch=0), strict=True)
    )
    assert all(torch.equal(first.state_dict()[name], tensor) for name, tensor in second.state_dict().items())
    moved = images.clone()
    moved.x[split.test] = 255
    assert first.end_of_epoch(Pixels(), images) == second.end_of_epoch(Pixels(), moved), "test images are not looked at"


def test_neither_the_features_nor_global_randomness_nor_modes_are_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(online_probe, "TOGETHER", 4)
    images, method = image_set(), Pixels().train()
    method.frozen.eval()
    state = torch.get_rng_state()
    probe = OnlineProbe(WIDTH, images)
    (maps, batch), *_ = batches(images, epoch=0)
    before = [view.clone() for view in maps]
    h = maps.h_alpha.requires_grad_()
    probe.observe(maps, batch)
    found = probe.end_of_epoch(method, images)
    assert h.grad is None
    assert not any(tensor.requires_grad for tensor in probe.state_dict().values())
    assert all(torch.equal(view, kept) for view, kept in zip(maps, before, strict=True))
    assert torch.equal(state, torch.get_rng_state())
    assert (method.training, method.frozen.training, method.other.training) == (True, False, True)
    assert len(method.modes) == math.ceil(len(split_of(images).validation) / 4)
    assert not any(method.modes), "embedded in eval()"
    assert set(found) == {"train", "validation"}


def test_validation_is_looked_at_when_due_and_at_the_end() -> None:
    images = image_set()
    found = run(OnlineProbe(WIDTH, images, every=3, epochs=5), images, 5)
    assert ["validation" in epoch for epoch in found] == [False, False, True, False, True]
    assert all("train" in epoch for epoch in found)


def test_a_single_view_and_a_batch_with_nothing_to_learn_from() -> None:
    images = image_set()
    split, probe = split_of(images), OnlineProbe(WIDTH, images)
    (maps, batch), *_ = batches(images, epoch=0)
    hidden = torch.from_numpy(split.validation)
    before = {name: tensor.clone() for name, tensor in probe.state_dict().items()}
    z = features(images.x[hidden]).float()
    probe.observe(FeatureMaps(z, z, z, z), Data(images=hidden, y=images.y[hidden]))
    assert all(torch.equal(before[name], tensor) for name, tensor in probe.state_dict().items())
    assert set(probe.end_of_epoch(Pixels(), images)) == {"validation"}
    twice = OnlineProbe(WIDTH, images)
    probe = OnlineProbe(WIDTH, images)
    probe.observe(FeatureMaps(maps.h_alpha, None, maps.h_tilde_alpha, None), batch)
    twice.observe(maps._replace(h_beta=maps.h_alpha), batch)
    torch.testing.assert_close(probe.classifier.w, twice.classifier.w)
    assert (2 * probe.seen, 2 * probe.right) == (twice.seen, twice.right)


def test_a_run_goes_on_from_its_state_to_the_same_bits() -> None:
    images = image_set(7)
    whole = OnlineProbe(WIDTH, images, epochs=4, seed=1)
    found = run(whole, images, 4)
    begun = OnlineProbe(WIDTH, images, epochs=4, seed=1)
    run(begun, images, 2)
    steps = batches(images, epoch=2)
    begun.observe(*steps[0])  # and it ends within the third epoch
    state = {name: tensor.clone() for name, tensor in begun.state_dict().items()}
    assert all(isinstance(tensor, Tensor) for tensor in state.values())
    resumed = OnlineProbe(WIDTH, images, epochs=4, seed=9)
    resumed.load_state_dict(state)
    for step in steps[1:]:
        resumed.observe(*step)
    third = resumed.end_of_epoch(Pixels(), images)
    assert [third, *run(resumed, images, 4, start=3)] == found[2:]
    assert all(torch.equal(whole.state_dict()[name], tensor) for name, tensor in resumed.state_dict().items())


def test_a_seed_decides_on_the_first_weights() -> None:
    images = image_set()
    first, same, other = (OnlineProbe(WIDTH, images, seed=seed).classifier.w for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, other)


def test_computes_in_full_under_autocast() -> None:
    images = image_set()
    plain, mixed = OnlineProbe(WIDTH, images), OnlineProbe(WIDTH, images)
    for step in batches(images, epoch=0):
        plain.observe(*step)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mixed.observe(*step)
    assert torch.equal(plain.classifier.w, mixed.classifier.w)


def parts_of_steps(images: Data) -> tuple[list[dict[str, float]], dict[str, Tensor]]:
    """Two epochs of which this process has its rows."""
    probe, found = OnlineProbe(WIDTH, images, epochs=2), []
    for epoch in range(2):
        for maps, batch in batches(images, epoch=epoch):
            own = torch.arange(len(batch.images)).tensor_split(distributed.world_size())[distributed.rank()]
            rows = FeatureMaps(*(view[own] for view in maps))
            probe.observe(rows, Data(images=batch.images[own], y=batch.y[own]))
        found.append(probe.end_of_epoch(Pixels(), images))
    return found, probe.state_dict()


@pytest.mark.slow
def test_two_processes_train_one_classifier() -> None:
    images = image_set(7)
    found, state = parts_of_steps(images)
    for others_found, others_state in run_in_processes(parts_of_steps, 2, images):
        assert others_found == found
        for name, tensor in state.items():
            torch.testing.assert_close(others_state[name], tensor)


def test_wrong_input_is_named(planted: Data) -> None:
    images = image_set()
    with pytest.raises(InputError, match="while they are learned"):
        OnlineProbe(WIDTH, planted)
    for options, message in (
        ({"lr": 0.0}, "lr must be a number, above 0"),
        ({"epochs": 0}, "epochs must be a whole number, 1 or more"),
        ({"every": 0}, "every must be a whole number, 1 or more"),
    ):
        with pytest.raises(InputError, match=message):
            OnlineProbe(WIDTH, images, **options)  # type: ignore[arg-type]
    state = OnlineProbe(WIDTH + 1, images).state_dict()
    with pytest.raises(InputError, match=r"\(7, 1, 3\), not"):
        OnlineProbe(WIDTH, images).load_state_dict(state)
    del images.y
    with pytest.raises(InputError, match="this image set has none"):
        OnlineProbe(WIDTH, images)
