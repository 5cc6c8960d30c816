"""Checkpoints hold everything, and a file that is none is refused, never executed."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from sfa.errors import InputError
from sfa.train import Callback, Progress, load_checkpoint, load_tensors, save_tensors
from sfa.train.checkpoint import save_checkpoint
from sfa.train.optim import LARS

MOMENTUM = {"momentum": 0.9}
PROGRESS = Progress(epoch=3, loss=1 / 3, best_loss=0.25, stale=2)


def model_and_optimizer(seed: int, width: int = 4) -> tuple[nn.Module, torch.optim.Optimizer]:
    """A model in the middle of its training, batch norm's counters included."""
    generator = torch.Generator().manual_seed(seed)
    model = nn.Sequential(nn.Linear(3, width), nn.BatchNorm1d(width))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01 + seed)
    for _ in range(2):
        optimizer.zero_grad()
        model(torch.randn(5, 3, generator=generator)).pow(3).sum().backward()
        optimizer.step()
    return model, optimizer


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoint.safetensors"
    save_checkpoint(path, *model_and_optimizer(0), PROGRESS)
    return path


def test_round_trip(tmp_path: Path) -> None:
    model, optimizer = model_and_optimizer(0)
    save_checkpoint(tmp_path / "c.safetensors", model, optimizer, PROGRESS)
    other, other_optimizer = model_and_optimizer(1)
    assert load_checkpoint(tmp_path / "c.safetensors", other, other_optimizer) == PROGRESS
    for key, value in model.state_dict().items():
        assert torch.equal(other.state_dict()[key], value)
        assert other.state_dict()[key].dtype == value.dtype
    state, other_state = optimizer.state_dict()["state"], other_optimizer.state_dict()["state"]
    assert state.keys() == other_state.keys()
    for index in state:
        assert state[index].keys() == other_state[index].keys() == {"step", "exp_avg", "exp_avg_sq"}
        assert all(torch.equal(state[index][name], other_state[index][name]) for name in state[index])


def test_infinite_progress_survives(tmp_path: Path) -> None:
    model, optimizer = model_and_optimizer(0)
    save_checkpoint(tmp_path / "c.safetensors", model, optimizer, Progress())
    assert load_checkpoint(tmp_path / "c.safetensors", model) == Progress()


@pytest.mark.parametrize("share", [0, 0.001, 0.01, 0.1, 0.5, 0.9, 0.999])
def test_truncated(checkpoint: Path, share: float) -> None:
    whole = checkpoint.read_bytes()
    checkpoint.write_bytes(whole[: int(share * len(whole))])
    model, _ = model_and_optimizer(1)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    with pytest.raises(InputError, match="truncated") as raised:
        load_checkpoint(checkpoint, model)
    assert str(checkpoint) in str(raised.value)
    assert all(torch.equal(model.state_dict()[key], before[key]) for key in before)


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no checkpoint at"):
        load_tensors(tmp_path / "checkpoint.safetensors")


def test_a_safetensors_file_of_somebody_else(tmp_path: Path) -> None:
    save_file({"weight": torch.ones(2)}, tmp_path / "theirs.safetensors")
    with pytest.raises(InputError, match="not one of sfa's"):
        load_tensors(tmp_path / "theirs.safetensors")


def test_other_shapes(checkpoint: Path) -> None:
    with pytest.raises(InputError, match="does not fit") as raised:
        load_checkpoint(checkpoint, model_and_optimizer(0, width=5)[0])
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("meta", [{"epoch": 3, "colour": "red"}, [3], None, "3"], ids=str)
def test_other_metadata(tmp_path: Path, meta: object) -> None:
    model, _ = model_and_optimizer(0)
    tensors = {f"model.{key}": value for key, value in model.state_dict().items()}
    save_tensors(tmp_path / "c.safetensors", tensors, meta)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"c\.safetensors"):
        load_checkpoint(tmp_path / "c.safetensors", model)


class Bomb:
    """Unpickling one makes a folder."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.marker),)


@pytest.mark.parametrize("with_torch", [False, True])
def test_pickles_are_never_opened(checkpoint: Path, tmp_path: Path, with_torch: bool) -> None:
    bomb = Bomb(tmp_path / "marker")
    if with_torch:
        torch.save(bomb, checkpoint)
    else:
        checkpoint.write_bytes(pickle.dumps(bomb))
    with pytest.raises(InputError):
        load_checkpoint(checkpoint, model_and_optimizer(0)[0])
    assert not bomb.marker.exists()
    if not with_torch:
        pickle.loads(checkpoint.read_bytes())  # the bomb is a live one
        assert bomb.marker.exists()


@pytest.mark.parametrize("optimizer_class", [torch.optim.Adam, torch.optim.SGD, LARS])
def test_the_state_of_an_optimiser_lies_in_memory_as_its_weights_do(tmp_path: Path, optimizer_class: Any) -> None:
    """A file has no strides, and sums in another order have other bits."""

    def make() -> tuple[nn.Module, torch.optim.Optimizer]:
        model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Conv2d(4, 5, 2)).to(memory_format=torch.channels_last)
        return model, optimizer_class(
            model.parameters(), lr=0.1, **({} if "Adam" in str(optimizer_class) else MOMENTUM)
        )

    model, optimizer = make()
    model(torch.rand(2, 3, 8, 8)).sum().backward()
    optimizer.step()
    save_checkpoint(tmp_path / "c.safetensors", model, optimizer, PROGRESS)
    again, other = make()
    load_checkpoint(tmp_path / "c.safetensors", again, other)
    for one, same in zip(model.parameters(), again.parameters(), strict=True):
        assert same.stride() == one.stride()
        assert other.state[same].keys() == optimizer.state[one].keys()
        for key, value in optimizer.state[one].items():
            assert torch.equal(other.state[same][key], value)
            assert other.state[same][key].stride() == value.stride(), key


class Counter(Callback):
    """Something else that is kept."""

    state_key = ""

    def __init__(self, key: str, **state: Tensor) -> None:
        self.state_key, self.state = key, state

    def state_dict(self) -> dict[str, Tensor]:
        return self.state

    def load_state_dict(self, state: dict[str, Tensor]) -> None:
        self.state = state


def test_other_things_are_kept_by_name_and_need_not_be_there(tmp_path: Path) -> None:
    model, optimizer = model_and_optimizer(0)
    path = tmp_path / "c.safetensors"
    kept = [Counter("online", **{"head.weight": torch.ones(2), "seen": torch.tensor(3)}), Counter("onl")]
    save_checkpoint(path, model, optimizer, PROGRESS, kept)
    found = {name: Counter(name, old=torch.zeros(1)) for name in ("online", "onl", "precision")}
    assert load_checkpoint(path, model, optimizer, list(found.values())) == PROGRESS
    assert found["online"].state.keys() == {"head.weight", "seen"}
    assert torch.equal(found["online"].state["head.weight"], torch.ones(2))
    assert found["online"].state["seen"].item() == 3
    assert found["onl"].state.keys() == found["precision"].state.keys() == {"old"}, "nothing of theirs was there"
    assert load_checkpoint(path, model) == PROGRESS, "nobody needs to ask for them"
