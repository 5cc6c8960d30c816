"""A run that was broken off and resumed has the bits of one that was not."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa.errors import TrainingError
from sfa.run import Recipe
from sfa.train import Progress, RunFolder, load_checkpoint, load_tensors, train
from tests.callbacks import on_epoch

SmallRecipe = Callable[..., Recipe]
NewFolder = Callable[..., RunFolder]


class Crash(Exception):
    """Something breaks in the middle of a run."""


def crash_after(epoch: int) -> Callable[[dict[str, Any]], None]:
    def raise_then(metrics: dict[str, Any]) -> None:
        if metrics["epoch"] == epoch:
            raise Crash

    return raise_then


def go(recipe: Recipe, graph: Data, folder: RunFolder, **options: Any) -> Progress:
    return train(recipe.build(graph.num_features), graph, **recipe.training.arguments, folder=folder, **options)


def assert_same_run(one: RunFolder, other: RunFolder) -> None:
    (tensors, meta), (other_tensors, other_meta) = load_tensors(one.checkpoint), load_tensors(other.checkpoint)
    assert meta == other_meta
    assert tensors.keys() == other_tensors.keys()
    assert all(torch.equal(tensors[name], other_tensors[name]) for name in tensors)
    without_time = [[{**row, "seconds": 0} for row in folder.read_metrics()] for folder in (one, other)]
    assert without_time[0] == without_time[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "changes"),
    [
        ("grace", {}),
        ("grace", {"spectral": "none"}),
        ("grace", {"method__activation": "rrelu", "method__batch_norm": True}),
        ("g-bt", {}),
        ("grace", {"training__warmup": 5, "training__cosine": True, "training__weight_decay": 0.1}),
        ("grace", {"training__restore_best": True, "training__lr": 0.5}),
    ],
)
@pytest.mark.parametrize("crash", [2, 4, 9])
def test_a_crash_and_a_resume(
    planted: Data,
    small_recipe: SmallRecipe,
    new_folder: NewFolder,
    method: str,
    changes: dict[str, Any],
    crash: int,
) -> None:
    """Checkpoints are made at 3, 6 and 9: the crash comes before the first, between two, and at the door of one."""
    recipe = small_recipe(method, **changes)
    whole, broken = new_folder("whole"), new_folder("broken")
    go(recipe, planted, whole)
    with pytest.raises(Crash):
        go(recipe, planted, broken, callbacks=[on_epoch(crash_after(crash))])
    resumed = []
    go(recipe, planted, broken, resume=True, callbacks=[on_epoch(lambda metrics: resumed.append(metrics["epoch"]))])
    assert resumed[0] == {2: 1, 4: 4, 9: 7}[crash]
    assert_same_run(whole, broken)


def test_many_crashes(planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder) -> None:
    recipe = small_recipe(training__checkpoint_every=1)
    whole, broken = new_folder("whole"), new_folder("broken")
    go(recipe, planted, whole)
    for epoch in range(2, 11):
        with pytest.raises(Crash):
            go(recipe, planted, broken, resume=True, callbacks=[on_epoch(crash_after(epoch))])
    go(recipe, planted, broken, resume=True)
    assert_same_run(whole, broken)


def test_patience_is_remembered(planted: Data, scripted: Any, new_folder: NewFolder) -> None:
    folder = new_folder()
    options = {"epochs": 30, "patience": 5, "checkpoint_every": 1, "folder": folder}
    with pytest.raises(Crash):
        train(scripted([1.0] * 30), planted, **options, callbacks=[on_epoch(crash_after(13))])
    progress = train(scripted([1.0] * 30), planted, **options, resume=True)
    assert (progress.epoch, progress.stale) == (15, 5)


def test_time_goes_on_where_it_stopped(planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder) -> None:
    recipe, folder = small_recipe(), new_folder()
    with pytest.raises(Crash):
        go(recipe, planted, folder, callbacks=[on_epoch(crash_after(7))])
    rows = folder.read_metrics()
    rows[5]["seconds"] = 1000.0
    folder.metrics.unlink()
    for row in rows:
        folder.append(row)
    go(recipe, planted, folder, resume=True)
    seconds = [row["seconds"] for row in folder.read_metrics()]
    assert all(1000 <= value < 1100 for value in seconds[5:])


@pytest.mark.parametrize("torn", ['{"epoch": 7, "lo', '{"epoch": 7, "loss": 4.2, "lr": 0.01, "seconds": 0.1', "\0\0\0"])
def test_a_torn_last_line(planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder, torn: str) -> None:
    recipe = small_recipe()
    whole, broken = new_folder("whole"), new_folder("broken")
    go(recipe, planted, whole)
    with pytest.raises(Crash):
        go(recipe, planted, broken, callbacks=[on_epoch(crash_after(7))])
    with broken.metrics.open("a") as file:
        file.write(torn)
    assert len(broken.read_metrics()) == 6
    go(recipe, planted, broken, resume=True)
    assert_same_run(whole, broken)


def test_resuming_a_finished_run_changes_nothing(
    planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder
) -> None:
    recipe, folder = small_recipe(), new_folder()
    finished = go(recipe, planted, folder)
    before = {file.name: file.read_bytes() for file in folder.path.iterdir()}
    steps = []
    assert go(recipe, planted, folder, resume=True, callbacks=[on_epoch(steps.append)]) == finished
    assert steps == []
    assert {file.name: file.read_bytes() for file in folder.path.iterdir()} == before


def full_disk(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """From the ``after``-th flush on there is no space left."""
    fsync, calls = os.fsync, 0

    def fail(descriptor: int) -> None:
        nonlocal calls
        calls += 1
        if calls > after:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", fail)


def test_a_full_disk_leaves_the_last_checkpoint(
    planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = small_recipe()
    whole, broken = new_folder("whole"), new_folder("broken")
    go(recipe, planted, whole)
    with monkeypatch.context() as patch:
        full_disk(patch, after=2)  # a checkpoint is flushed twice, the file and its folder
        with pytest.raises(TrainingError, match=r"No space.*--resume"):
            go(recipe, planted, broken)
    assert load_checkpoint(broken.checkpoint, recipe.build(planted.num_features)).epoch == 3
    assert not list(broken.path.glob(".*"))
    go(recipe, planted, broken, resume=True)
    assert_same_run(whole, broken)


def test_a_disk_that_fills_while_the_tensors_are_written(
    planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder
) -> None:
    """The kernel refuses to let a file grow: the library that writes tensors meets a real failure of write(2)."""
    import resource

    recipe, folder = small_recipe(), new_folder()
    with pytest.raises(Crash):
        go(recipe, planted, folder, callbacks=[on_epoch(crash_after(4))])
    before = folder.checkpoint.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, limits[1]))
    try:
        with pytest.raises(TrainingError, match=r"File too large.*--resume"):
            go(recipe, planted, folder, resume=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert folder.checkpoint.read_bytes() == before
    assert not list(folder.path.glob(".*"))


def test_checkpoints_do_not_decide_the_result(
    planted: Data, small_recipe: SmallRecipe, new_folder: NewFolder, tmp_path: Path
) -> None:
    seldom, often = new_folder("seldom"), new_folder("often")
    go(small_recipe(training__checkpoint_every=100), planted, seldom)
    go(small_recipe(training__checkpoint_every=1), planted, often)
    assert_same_run(seldom, often)
