"""Searches: what they choose by, that they go on, and that they say the same twice."""

from __future__ import annotations

import csv
import json
import multiprocessing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from torch_geometric.data import Data

from sfa.data import build_images, load, stochastic_block_model
from sfa.errors import InputError
from sfa.evaluate.labels import labels_of
from sfa.ledger import Ledger
from sfa.ledger.identity import LATER
from sfa.run import Recipe, load_recipe
from sfa.run.legacy import STEPS, flatten
from sfa.studies import measure
from sfa.sweep import Record, Search, SearchWatcher, Settings, best_of, recipe_of
from sfa.sweep import search as module
from sfa.sweep.development import development_part
from sfa.sweep.trials import Trials
from tests.sweep.tiny import search_a_share, search_until_killed, tiny_search, told

MakeSearch = Callable[..., Search]


def run(made: Search, path: Path, **options: Any) -> list[Record]:
    with Ledger(path, create=True) as ledger:
        return made.run(ledger, device="cpu", **options)


@pytest.fixture(scope="module")
def in_one_go(planted_file: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Four trials without a break."""
    folder = tmp_path_factory.mktemp("one-go")
    return run(tiny_search(load(planted_file), folder / "search"), folder / "ledger.sqlite", trials=4)


def test_trials_are_entered(planted_file: Path, tmp_path: Path, in_one_go: list[Record]) -> None:
    made = tiny_search(load(planted_file), tmp_path / "search")
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        records = made.run(ledger, trials=4, device="cpu")
        entries = ledger.select(study="sweep")
    assert told(records) == told(in_one_go), "the same seed, the same trials"
    assert [record.state for record in records] == ["done"] * 4
    assert len({record.params["training.lr"] for record in records}) == 4
    labels = {entry.labels[0][1]: entry for entry in entries}
    assert labels.keys() == {f"search: trial {number}" for number in range(4)}
    for record in records:
        entry = labels[f"search: trial {record.number}"]
        assert entry.recipe["training"]["lr"] == record.params["training.lr"]
        assert [score.protocol for score in entry.scores] == ["honest-10-10-80 validation"], "nothing was tested"
        assert entry.scores[0].mean() == record.value
    assert not (tmp_path / "cells").exists() or not list((tmp_path / "cells").iterdir())

    best = best_of(records)
    assert best is not None
    assert best.value == max(record.value for record in records if record.value is not None)
    recipe = load_recipe(made.folder / "best.yaml")
    assert recipe.training.diagnose_every == 10
    assert recipe.updated({"training.diagnose_every": made.settings.recipe.training.diagnose_every}) == recipe_of(
        made.arms[""], best
    )
    with (made.folder / "trials.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["validation"]) for row in rows] == [record.value for record in records]
    assert [float(row["method.tau"]) for row in rows] == [record.params["method.tau"] for record in records]


@pytest.mark.parametrize("level", ["node", "graph", "image"])
def test_no_test_label_decides_anything(level: str, molecules: Data, pictures: Data, tmp_path: Path) -> None:
    """All labels but those of the development part are scrambled: trials and choice are the same."""
    blocks = stochastic_block_model(nodes=150, edges=500, features=20, classes=3, seed=0)
    graph = {"node": blocks, "graph": molecules, "image": pictures}[level]
    true = tiny_search(graph, tmp_path / "true", ranges=("training.lr=1e-3..1e-1:log", "spectral=none,sfa"))
    seen = np.isin(np.arange(len(labels_of(graph))), development_part(true.protocol, graph))
    y = labels_of(graph).copy()
    y[~seen] = np.random.default_rng(1).permutation(y[~seen])
    assert (y != labels_of(graph)).sum() > 0.2 * (~seen).sum()
    other = (
        graph.clone()
        if level != "image"
        else build_images(graph.x, y=y, train_mask=graph.train_mask, test_mask=graph.test_mask, name=graph.name)
    )
    other.y = torch.from_numpy(y)
    false = tiny_search(other, tmp_path / "false", ranges=("training.lr=1e-3..1e-1:log", "spectral=none,sfa"))
    records = [run(made, tmp_path / made.folder.name / "ledger.sqlite", trials=2) for made in (true, false)]
    assert told(records[0]) == told(records[1])
    chosen = [yaml.safe_load((made.folder / "best.yaml").read_text()) for made in (true, false)]
    assert chosen[0] == chosen[1]


def test_the_labels_that_are_seen_do_decide(planted: Data, tmp_path: Path, in_one_go: list[Record]) -> None:
    made = tiny_search(planted, tmp_path / "before")
    seen = labels_of(made.data().load()) >= 0
    y = labels_of(planted).copy()
    y[seen] = (y[seen] + np.arange(seen.sum())) % 3
    planted.y = torch.from_numpy(y)
    records = run(tiny_search(planted, tmp_path / "search"), tmp_path / "ledger.sqlite", trials=2)
    assert [record.value for record in records] != [record.value for record in in_one_go[:2]]


def test_stopped_anywhere_it_proposes_the_same(
    search: MakeSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the ten trials at random with which TPE begins."""

    def value(self: Any, recipe: Recipe, seed: int, label: str) -> tuple[float | None, str]:
        return 90 - abs(np.log10(recipe.training.lr) + 2) - recipe.method["tau"], ""

    monkeypatch.setattr(module.Objective, "value", value)
    whole = run(search(folder=tmp_path / "whole"), tmp_path / "ledger.sqlite", trials=12)
    for trials in (3, 11, 12):
        parts = run(search(folder=tmp_path / "parts"), tmp_path / "ledger.sqlite", trials=trials)
    assert told(parts) == told(whole)
    assert len({record.params["training.lr"] for record in whole}) == 12, "a sampler begun again would repeat itself"
    other = run(search(folder=tmp_path / "other", seed=1), tmp_path / "ledger.sqlite", trials=1)
    assert other[0].params != whole[0].params
    at_random = run(search(folder=tmp_path / "random", sampler="random"), tmp_path / "ledger.sqlite", trials=12)
    assert [record.params for record in at_random[:10]] == [record.params for record in whole[:10]]
    assert at_random[11].params != whole[11].params, "TPE learns from the trials before"


@pytest.mark.parametrize("at", [1])
def test_killed_and_gone_on_with(at: int, planted_file: Path, tmp_path: Path, in_one_go: list[Record]) -> None:
    folder, path = tmp_path / "search", tmp_path / "ledger.sqlite"
    process = multiprocessing.get_context("fork").Process(
        target=search_until_killed, args=(planted_file, folder, path, at)
    )
    process.start()
    process.join()
    assert process.exitcode == -9
    made = tiny_search(load(planted_file), folder)
    with made.trials() as trials:
        assert [record.state for record in trials.records("")] == ["done"] * at + ["running"]
        with trials.at_rest():
            assert trials.busy("") == [], "whoever was at it is gone"
    assert told(run(made, path, trials=4)) == told(in_one_go)


def test_asked_again_for_more(planted_file: Path, tmp_path: Path, in_one_go: list[Record]) -> None:
    made = tiny_search(load(planted_file), tmp_path / "search")
    assert len(run(made, tmp_path / "ledger.sqlite", trials=2)) == 2
    assert told(run(made, tmp_path / "ledger.sqlite", trials=4)) == told(in_one_go)
    assert told(run(made, tmp_path / "ledger.sqlite", trials=3)) == told(in_one_go), "there are enough"
    assert len(run(made, tmp_path / "ledger.sqlite", trials=9, timeout=0.0)) == 4, "there is no time"


def test_two_processes_share_a_search(planted_file: Path, tmp_path: Path) -> None:
    folder, path = tmp_path / "search", tmp_path / "ledger.sqlite"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=search_a_share, args=(planted_file, folder, path, 6)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    with tiny_search(load(planted_file), folder).trials() as trials:
        records = trials.records("")
    assert [record.state for record in records] == ["done"] * 6, "no more and no fewer"


def test_a_trial_of_another_process_is_left_to_it(search: MakeSearch) -> None:
    made = search()
    made.settings.settle(made.folder)
    with made.trials() as ours, made.trials() as theirs, theirs.claimed("", 5) as trial:
        assert trial is not None
        with ours.at_rest():
            assert ours.busy("") == [0]
        with ours.claimed("", 5) as other:
            assert other is not None
            assert other.number == 1
        with ours.claimed("", 5) as again:
            assert again is not None
            assert again.number == 1, "it was let go of unfinished"


def test_a_trial_that_is_finished_meanwhile_is_not_taken_up(
    search: MakeSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = search()
    made.settings.settle(made.folder)
    with made.trials() as ours, made.trials() as theirs:
        with theirs.claimed("", 5) as trial:
            assert trial is not None
            before = ours._study("").get_trials()  # it is under way in these
            theirs.finish("", trial, 50.0)
        listed = ours._study("").get_trials
        monkeypatch.setattr(
            ours._study(""), "get_trials", lambda states=None, **how: before if states else listed(states=states, **how)
        )
        with ours.claimed("", 5) as other:
            assert other is not None
            assert other.number == 1


@pytest.mark.usefixtures("no_training")
def test_a_grid_is_gone_through_once(search: MakeSearch, tmp_path: Path) -> None:
    made = search(ranges=("spectral=none,sfa", "spectral.iterations=0..1", "method.tau=0.2,0.4"), sampler="grid")
    assert made.total(None) == 6
    assert made.total(4) == 4
    records = run(made, tmp_path / "ledger.sqlite", trials=4)
    assert len(records) == 4
    records = run(made, tmp_path / "ledger.sqlite")
    assert [record.state for record in records] == ["done"] * 6
    expected = [made.arms[""].with_values(point) for point in made.arms[""].grid()]
    assert [recipe_of(made.arms[""], record) for record in records] == expected
    with pytest.raises(InputError, match="has no grid"):
        search(sampler="grid").total(None)


def test_steps_are_round_numbers(search: MakeSearch, tmp_path: Path) -> None:
    made = search(ranges=("method.edge_drop.0=0..0.9:0.1",), seeds=(0,), sampler="random")
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        (record,) = made.run(ledger, trials=1, device="cpu")
        (entry,) = ledger.select()
    assert entry.recipe["augmentation"]["edge_drop"][0] in [round(0.1 * n, 1) for n in range(10)]
    assert recipe_of(made.arms[""], record).as_dict()["augmentation"] == entry.recipe["augmentation"]


def test_seeds_are_averaged(search: MakeSearch, tmp_path: Path) -> None:
    one, two, both = (
        run(search(folder=tmp_path / name, seeds=seeds), tmp_path / "ledger.sqlite", trials=1)[0]
        for name, seeds in {"a": (3,), "b": (4,), "both": (3, 4)}.items()
    )
    assert both.values == (one.value, two.value)
    assert both.value == pytest.approx(np.mean(both.values))


def test_a_trial_below_the_median_is_given_up(
    search: MakeSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def falling(self: Any, recipe: Recipe, seed: int, label: str) -> tuple[float | None, str]:
        return 90.0 - 10 * int(label.rsplit(" ", 1)[1]) + seed, ""

    monkeypatch.setattr(module.Objective, "value", falling)
    records = run(search(seeds=(0, 1), pruner="median"), tmp_path / "ledger.sqlite", trials=7)
    assert [record.state for record in records] == ["done"] * 5 + ["pruned"] * 2
    assert [len(record.values) for record in records] == [2] * 5 + [1] * 2
    best = best_of(records)
    assert best is not None
    assert best.number == 0
    with pytest.raises(InputError, match="there is but one"):
        search(pruner="median")


def test_failures_are_entered_and_passed_over(
    search: MakeSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = measure.train_recipe

    def fail(recipe: Recipe, *args: Any, **options: Any) -> Any:
        if recipe.spectral["name"] == "none":
            raise MemoryError
        return train(recipe, *args, **options)

    monkeypatch.setattr(measure, "train_recipe", fail)
    made = search(ranges=("spectral=none,sfa",), sampler="grid")
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger:
        failed, done = made.run(ledger, device="cpu")
        assert failed.state == "failed"
        assert failed.failure is not None
        assert "Not enough memory" in failed.failure
        assert [entry.failure for entry in ledger.select()] == [failed.failure, None]
    assert best_of([failed, done]) == done
    assert load_recipe(made.folder / "best.yaml").spectral["name"] == "sfa"
    with Ledger(tmp_path / "other.sqlite", create=True) as ledger, pytest.raises(MemoryError):
        search(folder=tmp_path / "strict", ranges=("spectral=none,sfa",), sampler="grid").run(ledger, strict=True)


def test_settings_that_do_not_go_together_fail_alone(search: MakeSearch, tmp_path: Path) -> None:
    made = search(ranges=("method.tau=0.2,0.4",), sampler="grid")
    space = made.arms[""]

    def not_both(values: Any) -> Recipe:
        if values["method.tau"] == 0.2:
            raise InputError("These do not go together.")
        return space.with_values(values)

    class Picky:
        ranges, recipe, values, grid = space.ranges, space.recipe, space.values, space.grid
        with_values = staticmethod(not_both)

    made.folder.mkdir()
    with Ledger(tmp_path / "ledger.sqlite", create=True) as ledger, made.trials() as trials:
        objective = module.Objective("x", made.data(), (0,), ledger, "cpu")
        for _ in range(2):
            with trials.claimed("", 2, [{"method.tau": "0.2"}, {"method.tau": "0.4"}]) as trial:
                assert trial is not None
                objective.attempt(trials, "", Picky(), trial)  # type: ignore[arg-type]
        assert [record.state for record in trials.records("")] == ["failed", "done"]
        assert trials.records("")[0].failure == "These do not go together."


@pytest.mark.usefixtures("no_training")
def test_a_grid_whose_laying_down_was_interrupted(
    search: MakeSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import optuna

    made, enqueue = search(ranges=("method.tau=0.2,0.4,0.6,0.8",), sampler="grid"), optuna.Study.enqueue_trial

    def interrupted(study: optuna.Study, params: dict[str, Any]) -> None:
        if len(study.get_trials(deepcopy=False)) == 2:
            raise KeyboardInterrupt
        enqueue(study, params)

    monkeypatch.setattr(optuna.Study, "enqueue_trial", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(made, tmp_path / "ledger.sqlite")
    monkeypatch.setattr(optuna.Study, "enqueue_trial", enqueue)
    records = run(made, tmp_path / "ledger.sqlite")
    assert [record.params["method.tau"] for record in records] == ["0.2", "0.4", "0.6", "0.8"]


def test_interrupted_and_gone_on_with(search: MakeSearch, tmp_path: Path, in_one_go: list[Record]) -> None:
    class Impatient(SearchWatcher):
        def trial_begins(self, arm: str, number: int) -> None:
            if number == 2:
                raise KeyboardInterrupt

    made = search()
    with pytest.raises(KeyboardInterrupt):
        run(made, tmp_path / "ledger.sqlite", trials=4, watcher=Impatient())
    assert load_recipe(made.folder / "best.yaml").method["name"] == "grace", "what was found is of use"
    assert told(run(made, tmp_path / "ledger.sqlite", trials=4)) == told(in_one_go)


def test_another_search_in_the_same_folder(search: MakeSearch, tmp_path: Path, planted: Data) -> None:
    run(search(), tmp_path / "ledger.sqlite", trials=1)
    for options, what in [
        ({"seeds": (1,)}, "seeds"),
        ({"ranges": ("method.tau=0.1..1",)}, "ranges"),
        ({"sampler": "random", "seed": 1}, "sampler and seed"),
    ]:
        with pytest.raises(InputError, match=f"begun with other {what}"):
            run(search(**options), tmp_path / "ledger.sqlite", trials=2)
    (tmp_path / "search" / "search.json").write_text("{}")
    with pytest.raises(InputError, match="is damaged"):
        run(search(), tmp_path / "ledger.sqlite", trials=2)


def test_data_that_do_not_fit(search: MakeSearch, planted: Data, molecules: Data) -> None:
    made = search()
    planted.x = planted.x + 1
    with pytest.raises(InputError, match="data have changed"):
        Search(made.settings, planted, made.folder)
    with pytest.raises(InputError, match="scores whole graphs"):
        search(graph=stochastic_block_model(60, 90, 4, 2), protocol="tu-svm-10fold")
    with pytest.raises(InputError, match="judged by classification"):
        search(protocol="clustering")


@pytest.mark.parametrize("content", [b"no database at all " * 99, None])
def test_a_storage_that_is_none(content: bytes | None, tmp_path: Path) -> None:
    if content is None:
        (tmp_path / "trials.sqlite").mkdir()
    else:
        (tmp_path / "trials.sqlite").write_bytes(content)
    with pytest.raises(InputError, match="cannot be used as the storage"):
        Trials(tmp_path)


def test_without_optuna(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "optuna", None)
    with pytest.raises(InputError, match=r"pip install 'sfa\[sweep\]'"):
        Trials(tmp_path)


def test_a_search_of_the_old_layout_is_gone_on_with(search: MakeSearch, tmp_path: Path) -> None:
    """Its recipe has encoder and augmentation among the options of the method, and so have the keys of its trials."""
    ranges = ("method.edge_drop.0=0..0.9:0.1", "method.hidden=4,8", "smoothing=0,1", "method.tau=0.2..1")
    folder, ledger = tmp_path / "old", tmp_path / "ledger.sqlite"
    made = search(folder=folder, ranges=ranges, seeds=(0,))
    before = run(made, ledger, trials=2)
    path = folder / "search.json"
    noted = json.loads(path.read_text())
    noted["recipe"] = {**{key: LATER[key] for key in STEPS}, **flatten(noted["recipe"])}
    assert "encoder" not in noted["recipe"]
    assert noted["recipe"]["method"]["hidden"] == 8
    path.write_text(json.dumps(noted))
    settings = Settings.read(folder)
    assert settings == made.settings
    assert [found.key for found in settings.ranges] == [
        "method.edge_drop.0",
        "method.hidden",
        "smoothing",
        "method.tau",
    ]
    again = Search(settings, made.graph, folder)
    records = run(again, ledger, trials=4)
    assert told(records[:2]) == told(before)
    assert [record.state for record in records] == ["done"] * 4
    assert all(record.params.keys() == {found.key for found in settings.ranges} for record in records)
    recipe = recipe_of(again.arms[""], records[0])
    assert recipe.augmentation["edge_drop"][0] == records[0].params["method.edge_drop.0"]
    assert str(recipe.encoder["hidden"]) == records[0].params["method.hidden"]
    assert len(recipe.postprocess) == int(records[0].params["smoothing"])
    assert (folder / "best.yaml").exists()
    with pytest.raises(InputError, match="was begun with other ranges"):
        run(
            search(
                folder=folder,
                ranges=tuple(one.replace("method.edge", "augmentation.edge") for one in ranges),
                seeds=(0,),
            ),
            ledger,
        )
