"""The lock, the peak of memory, and times by turns."""

from __future__ import annotations

import mmap
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from filelock import FileLock
from torch_geometric.data import Data

from sfa.atomic import locked
from sfa.paper import measure
from sfa.paper.measure import clear_peak_memory, peak_memory
from sfa.paper.plans import Plan
from sfa.paper.results import Ledger
from sfa.paper.runner import Runner
from sfa.run import Recipe
from sfa.spectral import SpectralFeatureAugmentation
from sfa.spectral.base import SpectralMap
from sfa.train import Callback
from tests.forks import run_forked, start_forked
from tests.paper.lockers import count_up, hold_and_die
from tests.paper.tiny import Recorder

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="asks Linux")


def test_a_lock_is_held_by_one(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with FileLock(path), locked(path, wait=False) as second:  # as another process would
        assert not second
    assert path.exists(), "who did not get it does not remove it"
    with locked(path, wait=False) as first, locked(path, wait=False) as again:
        assert (first, again) == (True, True), "one process may ask twice"
    assert not path.exists()


@pytest.mark.multiprocess
def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert run_forked(hold_and_die, path) == -signal.SIGKILL
    assert path.exists()
    with locked(path, wait=False) as ours:
        assert ours


@pytest.mark.multiprocess
def test_processes_that_wait_take_turns(tmp_path: Path) -> None:
    """Each reads a number, waits, and writes the next: none is lost, though the lock's file comes and goes."""
    counter = tmp_path / "counter"
    counter.write_text("0")
    processes = [start_forked(count_up, tmp_path / "lock", counter, 20) for _ in range(3)]
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert counter.read_text() == "60"


@LINUX
def test_the_peak_is_of_what_comes_after() -> None:
    def hold(size: int) -> None:
        """Fresh pages, which no allocator had at hand."""
        with mmap.mmap(-1, size) as pages:
            pages.write(b"x" * size)

    size = 2**27
    hold(size)
    by = clear_peak_memory()
    before = peak_memory(by)
    assert before is not None
    if by == "VmHWM":
        hold(size // 4)
        after = peak_memory(by)
        assert after is not None
        assert 0.2 * size < after - before < 0.75 * size, "the larger array before does not count"


def test_without_proc_it_is_that_since_the_beginning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "CLEAR", tmp_path / "no" / "clear_refs")
    assert clear_peak_memory() == "ru_maxrss"
    first = peak_memory("ru_maxrss")
    assert first is not None
    assert first > 2**20


def test_turns_alternate_and_leave_out_their_first_epoch(planted: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that only training moves: an epoch of the first takes 1 s, of the second 3 s, the first of a turn 100."""
    clock, turns = [0.0], []

    def train(method: object, graph: Data, *, epochs: int, callbacks: Sequence[Callback], **_: object) -> None:
        turns.append(type(method.spectral))  # type: ignore[attr-defined]
        assert epochs == 5
        for epoch in range(epochs):
            clock[0] += 100.0 if epoch == 0 else 1.0 if turns[-1] is SpectralMap else 3.0
            callbacks[0].on_epoch_end(None)  # type: ignore[arg-type]

    monkeypatch.setattr(measure, "train", train)
    monkeypatch.setattr(measure.time, "perf_counter", lambda: clock[0])
    recipes = [
        Recipe.parse({"spectral": spectral}).updated({"method.hidden": 8, "training.epochs": 45})
        for spectral in ("none", "sfa")
    ]
    epochs: list[float] = []
    measured = measure.measure_times(recipes, planted, device="cpu", on_turn=epochs.append)
    assert [one["scores"][0].of() for one in measured] == [(1.0,) * 10, (3.0,) * 10]
    assert [(one["seconds_per_epoch"], one["epochs"], one["train_seconds"]) for one in measured] == [
        (1.0, 40, 40.0),
        (3.0, 40, 120.0),
    ]
    assert turns[:4] == [SpectralMap, SpectralFeatureAugmentation, SpectralFeatureAugmentation, SpectralMap]
    assert len(turns) == 20
    assert (epochs[0], epochs[-1]) == (2, 40)


def test_the_run_time_study(plan: Callable[..., Plan], tmp_path: Path) -> None:
    watcher = Recorder()
    study = plan("run-time", changes={"training.epochs": 20})
    with Ledger(tmp_path / "l.sqlite", create=True) as ledger:
        Runner(ledger, device="cpu", watcher=watcher).run(study)
        entries = ledger.select()
        assert watcher.epochs[0][-1] == 20
        for entry in entries:
            (score,) = entry.scores
            assert (score.protocol, score.main, len(score.of())) == ("run-time", "seconds per epoch", 10)
            assert min(score.of()) > 0
            assert entry.seconds_per_epoch == pytest.approx(score.mean())
            assert entry.train_seconds == pytest.approx(20 * score.mean())
            assert (entry.epochs, entry.kind, entry.peak_memory) == (20, "timed", None)
        again = Recorder()
        Runner(ledger, device="cpu", watcher=again).run(study)
        assert again.begun == []
        assert ledger.select() == entries
