"""Large graphs are trained in batches, and what does not fit in memory is refused before training starts."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data

from sfa import NodeEmbedder, memory
from sfa.errors import InputError, TrainingError
from sfa.run import Recipe, large, open_run, train_run
from sfa.run.display import Display, Tracker
from sfa.run.large import in_batches
from sfa.train import LambdaCallback, train
from tests.cases import each

TINY = {"epochs": 1, "hidden": 8, "evaluate": False, "embed": "none"}


@pytest.fixture
def small_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "NODES", 30)
    monkeypatch.setattr(large, "BATCH_SIZE", 16)


@pytest.fixture
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device="cpu": 5e4)


@pytest.mark.usefixtures("small_limit")
def test_a_large_graph_is_trained_in_batches_which_is_said_and_recorded(
    planted: Data, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = train_run(planted, method="grace", out=tmp_path / "run", progress=True, **TINY)
    said = " ".join(capsys.readouterr().err.split())
    assert f"all {planted.num_nodes} nodes would take minutes" in said
    assert "batches of 16 (neighbours)" in said
    assert run.recipe.sampler == {"name": "neighbours", "batch_size": 16, "fanouts": (10, 10)}
    assert open_run(run.path, data=planted).recipe == run.recipe
    assert train_run(planted, out=run.path, resume=True, evaluate=False, embed="none").recipe == run.recipe


@pytest.mark.usefixtures("small_limit")
@each(
    "asked",
    [{"sampler": "whole"}, {"method": "cca-ssg"}, {"recipe": {"method": "grace"}}, {"batch_size": 32}],
)
def test_what_was_asked_for_and_what_is_quick_stays(planted: Data, tmp_path: Path, asked: dict[str, Any]) -> None:
    run = train_run(planted, out=tmp_path / next(iter(asked)), **{"method": "grace", **asked}, **TINY)
    expected = 32 if "batch_size" in asked else None
    assert run.recipe.sampler.get("batch_size") == expected


def test_epochs_become_as_many_as_have_the_steps_of_before(
    planted: Data, small_limit: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1e12)
    recipe, said = Recipe.parse({"method": "gae", "training": {"epochs": 10}}), []
    method = recipe.build_for(planted)
    method.compares_all_pairs = True  # type: ignore[misc]
    steps = -(-planted.num_nodes // 16)
    changed = in_batches(recipe, method, planted, (), said.append)
    assert changed.sampler["name"] == "random-walks"  # the first of those that the method takes
    assert changed.training.epochs == -(-10 // steps)
    assert in_batches(recipe, method, planted, ["training.epochs"], said.append).training.epochs == 10
    assert in_batches(recipe, method, planted, (), said.append, "cuda") == recipe  # a GPU is fast enough
    assert len(said) == 2


@pytest.mark.usefixtures("little_memory")
@each(
    ("method", "advice"),
    [
        ("grace", "--batch-size"),
        ("mvgrl", "augmentation.top_k"),
        ("propagate", "--hidden"),
        ("neighbor-contrast", "--hidden"),
    ],
)
def test_what_exceeds_the_free_memory_is_refused_with_the_figure_and_an_option(
    planted: Data, tmp_path: Path, method: str, advice: str
) -> None:
    with pytest.raises(InputError, match=rf"GB of memory.* 5e-05 GB are free: .*{advice}"):
        train_run(planted, method=method, sampler=None, out=tmp_path / "run", evaluate=False)
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match=advice):
        NodeEmbedder(method).fit(planted)


def test_batches_are_chosen_where_the_whole_graph_does_not_fit(planted: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(large, "BATCH_SIZE", 16)
    recipe, said = Recipe.parse({"method": "cca-ssg"}), []
    method = recipe.build_for(planted)
    monkeypatch.setattr(memory, "free_bytes", lambda device: 1e12)
    assert in_batches(recipe, method, planted, (), said.append) == recipe
    monkeypatch.setattr(memory, "free_bytes", lambda device: method.memory(planted) / 2)
    assert in_batches(recipe, method, planted, (), said.append).sampler["batch_size"] == large.BATCH_SIZE
    assert "would not fit in memory" in said[0]


def test_an_embedder_warns_that_it_trains_in_batches(planted: Data, small_limit: None) -> None:
    with pytest.warns(UserWarning, match="training in batches of 16"):
        embedder = NodeEmbedder("grace", hidden=8, epochs=1, random_state=0).fit(planted)
    assert embedder.recipe_.sampler["batch_size"] == 16


def test_free_memory_is_that_of_the_container(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "CGROUP", tmp_path)
    assert 0 < memory.free_bytes() <= memory.memory_bytes()
    for name, text in (("max", "1000000"), ("current", "900000"), ("stat", "anon 5\ninactive_file 50000\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert memory.free_bytes() == 150_000


def test_memory_that_runs_out_in_a_step_is_one_sentence(planted: Data) -> None:
    class Hungry(torch.nn.Linear):
        def forward(self, data: Data, generator: object = None) -> torch.Tensor:  # type: ignore[override]
            return self.weight.new_empty(1 << 60)

    with pytest.raises(TrainingError, match=r"Not enough memory: train in batches \(--batch-size"):
        train(Hungry(1, 1), planted, epochs=1)


MEASURE = """
import sys, torch
from sfa.data import as_graph
from sfa.paper.measure import clear_peak_memory, peak_memory
from sfa.run import Recipe
from sfa.train import train
from torch_geometric.data import Data
def graph(n):
    e = torch.randint(n, (2, 5 * n), generator=torch.Generator().manual_seed(0))
    return as_graph(Data(x=torch.randn(n, 50), edge_index=e, num_nodes=n))
recipe = Recipe.parse({"method": sys.argv[1], "spectral": "none", "training": {"epochs": 1, "diagnose_every": 0}})
for n in (100, int(sys.argv[2])):  # once before, so that all libraries are loaded
    data = graph(n)
    method = recipe.build_for(data)
    before = int(open("/proc/self/statm").read().split()[1]) * 4096
    by = clear_peak_memory()
    train(method, recipe.prepare(data), **recipe.training.arguments, device="cpu")
print((peak_memory(by) - before) / method.memory(data))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak in /proc")
@each(("method", "nodes"), [("cca-ssg", 10_000), ("mvgrl", 3000), ("propagate", 20_000), ("merit", 2000)])
def test_the_estimate_is_the_measured_peak_within_a_factor(method: str, nodes: int) -> None:
    told = subprocess.run(
        [sys.executable, "-c", MEASURE, method, str(nodes)], capture_output=True, text=True, check=True
    )
    assert 0.33 < float(told.stdout) < 3


class TestProgress:
    def tracked(self, steps: int, seconds: float, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """Return the lines that are shown of two epochs of so many steps, each of which takes so long."""
        now, lines = [0.0], []
        monkeypatch.setattr(time, "monotonic", lambda: now[0])
        display = Display(quiet=True)
        monkeypatch.setattr(display, "say", lines.append)
        tracker = Tracker("training", 2, display)
        now[0] = 1000.0  # the method looks at all data
        tracker.restart()
        for step in range(2 * steps):
            now[0] += seconds
            tracker.step((step + 1) / steps, of=steps, loss=0.5)
        return lines

    def test_counts_steps_where_epochs_are_long(self, monkeypatch: pytest.MonkeyPatch) -> None:
        lines = self.tracked(100, 2.0, monkeypatch)
        assert lines[0] == "training  epoch 1/2, step 3/100, loss 0.5, 0.5 steps/s, 7 min left"
        assert "epoch 1/2, step 99/100" in lines[32]
        assert lines[-1] == "training  epoch 2/2, step 100/100, loss 0.5, 0.5 steps/s, 7 min"

    def test_counts_epochs_where_they_are_short(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert self.tracked(2, 1.0, monkeypatch) == ["training  2/2  loss 0.5  0.5/s  4 s"]


def test_an_embedder_shows_progress_and_calls_callbacks(planted: Data, capsys: pytest.CaptureFixture[str]) -> None:
    epochs: list[int] = []
    note = LambdaCallback(on_epoch_end=lambda state: epochs.append(state.epoch))
    NodeEmbedder("grace", hidden=8, epochs=3, verbose=1, callbacks=[note]).fit(planted)
    assert epochs == [1, 2, 3]
    assert "training  3/3" in capsys.readouterr().err
    NodeEmbedder("grace", hidden=8, epochs=1).fit(planted)
    assert capsys.readouterr().err == ""
