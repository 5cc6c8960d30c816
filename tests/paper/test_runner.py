"""A study measures what the ledger lacks, once, and lives through whatever stops it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from filelock import FileLock
from torch_geometric.data import Data

from sfa.data import build_graph
from sfa.errors import TrainingError
from sfa.evaluate import Classification
from sfa.evaluate import baselines as supervised_module
from sfa.evaluate.baselines import BASELINES, supervised
from sfa.paper import measure as measure_module
from sfa.paper.plans import Dataset, Plan, Study, Variant, make_plan
from sfa.paper.results import Ledger
from sfa.paper.runner import Runner, cells_folder
from sfa.paper.summary import summarise
from sfa.registry import resolve
from sfa.run.train_recipe import train_recipe
from sfa.train import Interrupted, RunFolder, load_checkpoint, versions
from tests.forks import run_forked, start_forked
from tests.paper.tiny import Recorder, results, run_plan, run_until_killed, shortened

NewPlan = Callable[..., Plan]
Results = list[dict[str, Any]]


def only(plan: Plan, found: Results) -> Results:
    """Those of a plan's cells."""
    keys = {cell.key for cell in plan.cells}
    return [result for result in found if result["key"] in keys]


def run(ledger: Ledger, plan: Plan, **options: Any) -> Recorder:
    watcher = Recorder()
    Runner(ledger, device="cpu", watcher=watcher, **options).run(plan)
    return watcher


def test_a_study_from_beginning_to_end(plan: NewPlan, ledger: Ledger, tmp_path: Path) -> None:
    study = shortened(plan("iterations", seeds=(5, 6)), 2)
    watcher = run(ledger, study)
    assert watcher.begun == ["k = 0", "k = 1"]
    assert watcher.epochs == [[1, 2, 3, 4, 5, 6]] * 2
    assert watcher.ended == [("k = 0", True), ("k = 1", True)]
    entries = ledger.select()
    assert [entry.labels for entry in entries] == [(("iterations", "k = 0"),), (("iterations", "k = 1"),)]
    for entry, cell in zip(entries, study.cells, strict=True):
        assert entry.key == cell.key
        assert (entry.dataset, entry.method, entry.spectral, entry.seed) == ("planted", "grace", "sfa", 5)
        assert entry.recipe == cell.variant.recipe.as_dict()
        assert entry.fingerprint == cell.dataset.fingerprint
        assert entry.versions == versions()
        assert (entry.epochs, entry.threads, entry.kind) == (6, torch.get_num_threads(), "trained")
        assert entry.train_seconds is not None
        assert entry.seconds_per_epoch == entry.train_seconds / 6 > 0
        assert entry.evaluate_seconds is not None
        assert entry.evaluate_seconds > 0
        assert entry.peak_memory_by in ("VmHWM", "ru_maxrss")
        assert entry.peak_memory is not None
        assert entry.peak_memory > 2**20

        # The values are those of the plain way: train, embed, score.
        folder = RunFolder.create(tmp_path / cell.key, {}, {})
        trained = train_recipe(cell.variant.recipe, cell.dataset.load(), folder, device="cpu", resume=False)
        score = resolve("protocol", "honest-10-10-80").evaluate(trained.method.embed(trained.data), trained.data)
        assert entry.scores[0].values == score.values
        assert entry.scores[0].name == "grace + sfa"
    assert list(cells_folder(ledger.path).iterdir()) == []


def test_what_is_there_is_not_run_again(plan: NewPlan, ledger: Ledger) -> None:
    run(ledger, shortened(plan(), 1))
    before = ledger.select()
    watcher = run(ledger, shortened(plan(), 2))
    assert watcher.begun == ["k = 1"]
    assert watcher.ended == [("k = 0", False), ("k = 1", True)]
    assert ledger.select()[:1] == before


def test_a_cell_of_two_studies_runs_once(plan: NewPlan, ledger: Ledger) -> None:
    """SFA with k = 1 is a cell of both: of the one as ``k = 1``, of the other as ``sfa``."""
    first, second = plan("iterations"), shortened(plan("kappa"), 1)
    assert run(ledger, Plan(first.study, first.protocols, first.jobs[1:2])).begun == ["k = 1"]
    watcher = run(ledger, second)
    assert watcher.begun == []
    assert watcher.ended == [("sfa", False)]
    (entry,) = ledger.select()
    assert entry.labels == (("iterations", "k = 1"), ("kappa", "sfa"))


def test_another_protocol_adds_scores(plan: NewPlan, ledger: Ledger) -> None:
    run(ledger, shortened(plan(), 1))
    (before,) = ledger.select()
    watcher = run(ledger, shortened(plan(protocols=["honest-10-10-80", "clustering"]), 1))
    assert watcher.begun == ["k = 0"]
    (entry,) = ledger.select()
    assert replace(entry, scores=entry.scores[:1]) == before
    assert list(entry.scores[1].values) == ["nmi", "ari", "accuracy"]
    assert run(ledger, shortened(plan(protocols=["clustering"]), 1)).begun == []


def test_runs_that_are_kept_serve_other_protocols_without_training(plan: NewPlan, ledger: Ledger) -> None:
    run(ledger, shortened(plan(), 2), keep_runs=True)
    folders = [RunFolder.open(cells_folder(ledger.path) / cell.key) for cell in shortened(plan(), 2).cells]
    run(ledger, shortened(plan(), 2))  # a run without --keep-runs leaves them
    assert [folder.checkpoint.is_file() for folder in folders] == [True, True]
    assert folders[0].record["source"]["data"].endswith("planted.npz")
    watcher = run(ledger, shortened(plan(protocols=["clustering"]), 2))
    assert watcher.begun == ["k = 0", "k = 1"]
    assert watcher.epochs == [[], []], "they were trained before"
    assert all(len(entry.scores) == 2 for entry in ledger.select())


@pytest.mark.slow
def test_yardsticks(plan: NewPlan, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = partial(supervised, epochs=3)
    monkeypatch.setattr(supervised_module, "supervised", quick)
    study = plan("methods", methods=["grace"], seeds=(4, 5))
    run(ledger, shortened(study, 5))
    raw, propagated, untrained, mlp, gcn = ledger.select()
    recipe, graph = study.cells[0].variant.recipe, study.cells[0].dataset.load()
    prepared, honest = recipe.prepare(graph), resolve("protocol", "honest-10-10-80")
    assert isinstance(honest, Classification)
    assert raw.scores[0].values == honest.evaluate(prepared.x, prepared).values
    hops = BASELINES["node"]["propagated features"](prepared)
    assert propagated.scores[0].values == honest.evaluate(hops, prepared).values
    z = recipe.build(graph.num_features).embed(prepared)
    assert untrained.scores[0].values == honest.evaluate(z, prepared).values
    for entry, model in ((mlp, "mlp"), (gcn, "gcn")):
        expected = quick(prepared, honest.draw(prepared), model=model, seed=4)
        assert entry.scores[0].values == {"accuracy": tuple(result.test for result in expected)}
        assert entry.scores[0].name == entry.kind == f"supervised {model}"
    assert [entry.method for entry in (raw, propagated, untrained, mlp, gcn)] == [None, None, "grace", None, None]
    assert [entry.seed for entry in (raw, propagated, untrained, mlp, gcn)] == [0, 0, 4, 4, 4]
    assert [entry.epochs for entry in (raw, propagated, untrained, mlp, gcn)] == [None] * 5


def test_a_cell_that_fails_is_entered_and_the_study_goes_on(
    plan: NewPlan, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    sick = {"training.lr": 1e30, "training.checkpoint_every": 1}
    study, healthy = shortened(plan(changes=sick), 1), shortened(plan(), 1)
    both = Plan(study.study, study.protocols, study.jobs + healthy.jobs)
    watcher = run(ledger, both)
    assert watcher.ended == [("k = 0", True), ("k = 0", True)]
    failed, done = ledger.select()
    assert failed.failure is not None
    assert "epoch" in failed.failure
    assert "\n" not in failed.failure
    assert (failed.scores, failed.epochs, failed.labels) == ((), None, (("iterations", "k = 0"),))
    assert done.failure is None
    assert run(ledger, both).begun == [], "a failure is not tried again unless asked"

    # What made it fail is mended: tried again it starts anew.
    folder = cells_folder(ledger.path) / study.cells[0].key
    assert folder.is_dir(), "kept for a look"
    monkeypatch.setattr("sfa.train.loop.require_finite", lambda *_: None)
    monkeypatch.setattr("sfa.train.loop.require_finite", lambda *_: None)
    monkeypatch.setattr(measure_module, "_score", lambda cell, *_: done.scores[0])
    watcher = run(ledger, both, retry_failed=True)
    assert watcher.epochs == [[1, 2, 3, 4, 5, 6]]
    assert [entry.failure for entry in ledger.select()] == [None, None]
    assert not folder.exists()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), "Not enough memory"),
        (MemoryError(), "Not enough memory"),
        (RuntimeError("surprise"), "Unforeseen RuntimeError: surprise"),
    ],
)
def test_failures_of_all_kinds(
    plan: NewPlan, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, error: Exception, says: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(measure_module, "train_recipe", fail)
    run(ledger, shortened(plan(), 2))
    assert [says in (entry.failure or "") for entry in ledger.select()] == [True, True]
    with pytest.raises(type(error)):
        run(ledger, shortened(plan(), 1), strict=True, retry_failed=True)


def test_a_recipe_that_cannot_be_built_is_a_failure_too(plan: NewPlan, ledger: Ledger) -> None:
    """A map of width 8 has no 8 directions to spare."""
    run(ledger, shortened(plan(changes={"spectral.name": "sfa", "spectral.directions": 8}), 1))
    (entry,) = ledger.select()
    assert entry.failure is not None
    assert "direction" in entry.failure


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), "explained"])
def test_a_full_disk_is_no_fault_of_the_cell(
    plan: NewPlan, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, error: OSError | str
) -> None:
    def fail(*_: object, **__: object) -> None:
        if isinstance(error, OSError):
            raise error
        raise TrainingError("Cannot write") from OSError(28, "No space left on device")

    monkeypatch.setattr(measure_module, "train_recipe", fail)
    with pytest.raises((OSError, TrainingError)):
        run(ledger, shortened(plan(), 2))
    assert ledger.select() == []


def test_an_interrupted_cell_goes_on_from_its_checkpoint(plan: NewPlan, ledger: Ledger, left_in_peace: Results) -> None:
    """Ctrl-C within the second cell: the loop finishes its step, saves, and says what to do."""
    study = shortened(plan(), 2)

    class Impatient(Recorder):
        def step(self, epochs: float, loss: float | None) -> None:
            if len(self.begun) == 2 and epochs == 3:
                signal.raise_signal(signal.SIGINT)

    with pytest.raises(Interrupted, match=r"k = 1, seed 0: Stopped after epoch 3 of 6; the same command goes on"):
        Runner(ledger, device="cpu", watcher=Impatient()).run(study)
    assert len(ledger.select()) == 1
    watcher = run(ledger, study)
    assert watcher.begun == ["k = 1"]
    assert watcher.epochs == [[4, 5, 6]]
    assert results(ledger) == only(study, left_in_peace)


@pytest.mark.parametrize(
    ("where", "rows", "begun", "first_epoch"),
    [
        ("in the second cell", 1, ["k = 1"], 5),
        ("between cells", 1, ["k = 1"], 1),
        ("while the folder is made", 0, ["k = 0", "k = 1"], 1),
        ("before scoring", 0, ["k = 0", "k = 1"], None),
        ("before the row is in", 0, ["k = 0", "k = 1"], None),
        ("before the folder is removed", 1, ["k = 1"], 1),
    ],
)
@pytest.mark.multiprocess
def test_a_study_that_is_killed_goes_on(
    plan: NewPlan,
    ledger: Ledger,
    planted_file: Path,
    left_in_peace: Results,
    where: str,
    rows: int,
    begun: list[str],
    first_epoch: int | None,
) -> None:
    """kill -9, then the same study: nothing is done twice, and the ledger is that of a study left in peace."""
    assert run_forked(run_until_killed, planted_file, ledger.path, where) == -signal.SIGKILL
    assert len(ledger.select()) == rows
    watcher = run(ledger, shortened(plan(), 2))
    assert watcher.begun == begun
    assert (watcher.epochs[0] or [None])[0] == first_epoch
    assert results(ledger) == only(shortened(plan(), 2), left_in_peace)
    assert list(cells_folder(ledger.path).iterdir()) == []


def test_what_another_version_began_is_begun_anew(plan: NewPlan, ledger: Ledger) -> None:
    study = shortened(plan(), 1)
    folder = cells_folder(ledger.path) / study.cells[0].key
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"format": 0}')
    (folder / "checkpoint.safetensors").write_text("of another time")
    watcher = run(ledger, study)
    assert watcher.epochs == [[1, 2, 3, 4, 5, 6]]
    assert [entry.failure for entry in ledger.select()] == [None]


@pytest.mark.multiprocess
def test_processes_share_a_study(ledger: Ledger, planted_file: Path, left_in_peace: Results) -> None:
    processes = [start_forked(run_plan, planted_file, ledger.path, 5) for _ in range(3)]
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert results(ledger) == left_in_peace
    assert list(cells_folder(ledger.path).iterdir()) == []


def test_a_cell_that_another_process_is_at_comes_last(plan: NewPlan, ledger: Ledger) -> None:
    study = shortened(plan(), 3)
    folder = cells_folder(ledger.path)
    folder.mkdir()
    watcher = Recorder()
    with FileLock(folder / f"{study.cells[0].key}.lock"):  # as another process would
        runner = Runner(ledger, device="cpu", watcher=watcher)
        assert [runner._settle(job, study, wait=False) for job in study.jobs] == [False, True, True]
    runner.run(study)
    assert watcher.begun == ["k = 1", "k = 2", "k = 0"]


def test_a_checkpoint_of_a_cell_is_one_of_a_run(plan: NewPlan, ledger: Ledger) -> None:
    study = shortened(plan(), 1)
    run(ledger, study, keep_runs=True)
    folder = RunFolder.open(cells_folder(ledger.path) / study.cells[0].key)
    method = study.cells[0].variant.recipe.build(8)
    assert load_checkpoint(folder.checkpoint, method).finished


def test_the_same_graph_with_other_public_splits_is_scored_anew(planted: Data, ledger: Ledger) -> None:
    """Masks are not part of the data's fingerprint, and decide the scores all the same."""

    def plan_of(name: str, first: int) -> Plan:
        order = (torch.arange(60) + first) % 60
        masks = {"train_mask": order < 30, "val_mask": (order >= 30) & (order < 40), "test_mask": order >= 40}
        graph = build_graph(planted.x, planted.edge_index, y=planted.y, name=name, masks=masks)
        study = Study("raw", lambda base: iter([Variant("raw features", base.recipe, kind="raw features")]))
        changes = {"feature_norm": "none"}
        return make_plan(study, [Dataset.of(lambda: graph, {})], [0], protocols=["public"], changes=changes)

    plans = plan_of("first", 0), plan_of("second", 20)
    assert plans[0].cells[0].key == plans[1].cells[0].key, "it is the same run"
    assert [run(ledger, plan).begun for plan in (*plans, *plans)] == [["raw features"], ["raw features"], [], []]
    (entry,) = ledger.select()
    for plan in plans:
        dataset = plan.cells[0].dataset
        table = summarise(plan, {entry.key: entry}, "public", "accuracy")
        assert (
            table["raw features", dataset.name].mean
            == resolve("protocol", "public").evaluate(planted.x, dataset.load()).mean()
        )


def test_a_protocol_that_fails_for_a_finished_run_is_told_of(
    plan: NewPlan, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(ledger, shortened(plan(), 1))

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("surprise")

    monkeypatch.setattr(measure_module, "_score", fail)
    runner = Runner(ledger, device="cpu")
    runner.run(shortened(plan(protocols=["knn"]), 1))
    (entry,) = ledger.select()
    assert entry.failure is None, "what was there stays good"
    (failure,) = runner.failures.values()
    assert failure.startswith("Unforeseen RuntimeError: surprise")
