"""A probe beside training: it learns and is kept, and the method does not notice."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from sfa.evaluate.online_probe import OnlineProbe
from sfa.methods import Method
from sfa.methods.base import FeatureMaps
from sfa.sampling.samplers import Images
from sfa.seeding import seeded_initialization
from sfa.train import Callback, Interrupted, OnlineProbeCallback, RunFolder, load_tensors, train
from tests.callbacks import on_epoch, on_step

NewFolder = Callable[..., RunFolder]
EPOCHS = 6


class Pixels(Method):
    """A linear encoder with batch normalization of noisy pixels, which pulls the two views of an image together."""

    def __init__(self) -> None:
        super().__init__(None, width=4)
        with seeded_initialization(0):
            self.encoder = nn.Sequential(nn.Linear(16, 4), nn.BatchNorm1d(4))

    def forward(self, graph: Data, generator: Any = None, observe: Any = None) -> Tensor:
        x = graph.x.flatten(1).float() / 255
        maps = [self.encoder(x + 0.1 * torch.randn(x.shape, generator=generator)) for _ in range(2)]
        h_alpha, h_beta = self.apply_spectral(*maps, generator=generator, observe=observe)
        return (h_alpha - h_beta).square().mean()

    def embeddings(self, graph: Data) -> Tensor:
        with torch.no_grad():
            return self.encoder(graph.x.flatten(1).float() / 255)


@pytest.fixture
def images() -> Data:
    """120 images of 4 × 4 pixels and 3 classes, each bright in rows of its own."""
    generator = torch.Generator().manual_seed(0)
    y = torch.arange(120) % 3
    x = torch.randint(0, 80, (120, 4, 4, 1), generator=generator)
    x[torch.arange(120), y] += 120
    test = torch.arange(120) >= 100
    return Data(x=x.to(torch.uint8), y=y, train_mask=~test, test_mask=test, name="rows")


def make_probe(images: Data) -> OnlineProbe:
    return OnlineProbe(4, images, epochs=EPOCHS, every=2)


def fit(
    images: Data, probe: OnlineProbe | None, callbacks: Sequence[Callback] = (), **options: Any
) -> tuple[dict[str, Tensor], list[dict[str, Any]]]:
    method, history = Pixels(), []
    settings = {"epochs": EPOCHS, "patience": None, "lr": 0.01, "sampler": partial(Images, batch_size=20)}
    probes = [OnlineProbeCallback(probe)] if probe else []
    train(method, images, **settings, callbacks=[*probes, on_epoch(history.append), *callbacks], **options)
    return method.state_dict(), history


@pytest.mark.parametrize(
    "options", [{}, {"accumulate": 3}, {"precision": "bf16-mixed"}, {"diagnose_every": 2}], ids=str
)
def test_training_is_the_same_to_the_bit(images: Data, options: dict[str, Any]) -> None:
    before = torch.get_rng_state()
    (plain, plain_history), (probed, history) = (fit(images, probe, **options) for probe in (None, make_probe(images)))
    assert plain.keys() == probed.keys()
    assert all(torch.equal(plain[name], probed[name]) for name in plain), "batch norm's statistics among it"
    for row, other in zip(plain_history, history, strict=True):
        assert {**row, "seconds": 0} == {**{key: other[key] for key in other if key != "online"}, "seconds": 0}
    assert torch.equal(torch.get_rng_state(), before)


def test_its_metrics_go_with_those_of_each_epoch(images: Data, new_folder: NewFolder) -> None:
    folder = new_folder()
    _, history = fit(images, make_probe(images), folder=folder)
    online = [row["online"] for row in history]
    assert [row["online"] for row in folder.read_metrics()] == online
    assert online[-1]["train"] > 60
    assert online[-1]["train"] > online[0]["train"]
    assert ["validation" in row for row in online] == [False, True] * 3


@pytest.mark.parametrize("accumulate", [1, 3])
def test_it_sees_the_plain_maps_of_each_part_with_its_batch(images: Data, accumulate: int) -> None:
    class Notes(OnlineProbe):
        def observe(self, maps: FeatureMaps, batch: Data) -> None:
            seen.append((len(maps.h_alpha), len(maps.h_beta), batch.images.tolist(), torch.is_autocast_enabled("cpu")))
            assert torch.equal(batch.y, images.y[batch.images])
            assert not maps.h_alpha.requires_grad
            super().observe(maps, batch)

    seen: list[tuple[int, int, list[int], bool]] = []
    fit(images, Notes(4, images, epochs=EPOCHS), accumulate=accumulate, precision="bf16-mixed")
    assert len(seen) == EPOCHS * 5 * accumulate
    assert all(one == other == len(numbers) for one, other, numbers, _ in seen)
    first = [number for _, _, numbers, _ in seen[: 5 * accumulate] for number in numbers]
    assert sorted(first) == list(range(100)), "every image of the training part once an epoch"
    assert not any(autocast for *_, autocast in seen)


@pytest.mark.parametrize("step", [2, 5])
def test_a_stop_and_a_resume(images: Data, new_folder: NewFolder, step: int) -> None:
    """Within the third epoch, and at its end."""

    def interrupt(e: int, s: int, of: int, loss: float) -> None:
        if (e, s) == (2, step):
            os.kill(os.getpid(), signal.SIGINT)

    whole, broken = new_folder("whole"), new_folder("broken")
    fit(images, make_probe(images), folder=whole, accumulate=2)
    with pytest.raises(Interrupted):
        fit(images, make_probe(images), folder=broken, accumulate=2, callbacks=[on_step(interrupt)])
    fit(images, make_probe(images), folder=broken, accumulate=2, resume=True)
    tensors, expected = (load_tensors(folder.checkpoint)[0] for folder in (broken, whole))
    assert tensors.keys() == expected.keys()
    assert any(name.startswith("online.") for name in expected)
    assert all(torch.equal(tensors[name], expected[name]) for name in expected)
    rows = [[{**row, "seconds": 0} for row in folder.read_metrics()] for folder in (broken, whole)]
    assert rows[0] == rows[1]


def test_a_run_that_had_none_can_be_gone_on_with_one(images: Data, new_folder: NewFolder) -> None:
    class Crash(Exception):
        pass

    def crash(e: int, s: int, of: int, loss: float) -> None:
        if e == 4:
            raise Crash

    plain, _ = fit(images, None)
    folder = new_folder()
    with pytest.raises(Crash):
        fit(images, None, folder=folder, checkpoint_every=1, callbacks=[on_step(crash)])
    probed, history = fit(images, make_probe(images), folder=folder, resume=True)
    assert [row["epoch"] for row in history] == [5, 6]
    assert all("online" in row for row in history)
    assert all(torch.equal(plain[name], probed[name]) for name in plain)
