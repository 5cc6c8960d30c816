"""Searches: what they choose by, that they go on, and that they say the same twice."""

from __future__ import annotations

import csv
import json
import multiprocessing
import warnings
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
from sfa.evaluate import Score
from sfa.evaluate.inputs import labels_of
from sfa.run import Recipe, load_recipe
from sfa.run.identity import LATER
from sfa.run.legacy import STEPS, flatten
from sfa.sweep import Record, Search, SearchCallback, Settings, Space, best_of, make_report, recipe_of
from sfa.sweep import search as module
from sfa.sweep.development import development_part
from sfa.sweep.trials import Trials
from tests.sweep.tiny import TINY, search_a_share, search_until_killed, tiny_search, told

MakeSearch = Callable[..., Search]


def run(made: Search, **options: Any) -> list[Record]:
    return made.run(device="cpu", **options)


@pytest.fixture(scope="module")
def in_one_go(planted_file: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Four trials without a break."""
    folder = tmp_path_factory.mktemp("one-go")
    return run(tiny_search(load(planted_file), folder / "search"), trials=4)


@pytest.mark.slow
def test_trials_are_stored(planted_file: Path, tmp_path: Path, in_one_go: list[Record]) -> None:
    made = tiny_search(load(planted_file), tmp_path / "search")
    records = made.run(trials=4, device="cpu")
    assert told(records) == told(in_one_go), "the same seed, the same trials"
    assert [record.state for record in records] == ["done"] * 4
    assert len({record.params["training.lr"] for record in records}) == 4
    assert all(record.values == (record.value,) for record in records)
    assert not (made.folder / "runs").exists(), "run folders are removed"
    (score,) = made.train_and_score(
        recipe_of(made.arms[""], records[2]), made.hidden, [made.validation], "cpu", SearchCallback()
    )
    assert score.mean() == records[2].value, "what was validated is what a training of the recipe gives"

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


@pytest.mark.slow
def test_trials_that_differ_in_postprocessing_share_a_training(planted_file: Path, tmp_path: Path) -> None:
    class Steps(SearchCallback):
        count = 0

        def on_step_end(self, epochs: float, loss: float) -> None:
            self.count += 1

    start = Recipe.parse({**TINY["node"], "postprocess": [{"name": "power"}]})
    options: dict[str, Any] = {"recipe": start, "sampler": "grid"}
    ranges = ("postprocess.0.p=0,1,3", "training.lr=1e-3,1e-1")
    steps, made = Steps(), tiny_search(load(planted_file), tmp_path / "shared", ranges=ranges, **options)
    records = run(made, callback=steps)
    assert (len(records), steps.count) == (6, 2 * start.training.epochs)
    assert not (made.folder / "runs").exists(), "trained weights are removed in the end"
    alone = tiny_search(load(planted_file), tmp_path / "alone", ranges=("training.lr=1e-3,1e-1",), **options)
    for record in records:
        recipe = recipe_of(made.arms[""], record)
        (score,) = alone.train_and_score(recipe, alone.hidden, [alone.validation], "cpu", SearchCallback())
        assert score.mean() == record.value
    assert len({record.value for record in records}) > 2, "the steps make a difference"
    make_report(made, seeds=[1], device="cpu")
    assert not (made.folder / "runs").exists(), "and so are those of the report"


@pytest.mark.slow
@pytest.mark.parametrize("task", ["node", "graph", "image"])
def test_no_test_label_decides_anything(task: str, molecules: Data, pictures: Data, tmp_path: Path) -> None:
    """All labels but those of the development part are scrambled: trials and choice are the same."""
    blocks = stochastic_block_model(nodes=150, edges=500, features=20, classes=3, seed=0)
    graph = {"node": blocks, "graph": molecules, "image": pictures}[task]
    true = tiny_search(graph, tmp_path / "true", ranges=("training.lr=1e-3..1e-1:log", "spectral=none,sfa"))
    seen = np.isin(np.arange(len(labels_of(graph))), development_part(true.protocol, graph))
    y = labels_of(graph).copy()
    y[~seen] = np.random.default_rng(1).permutation(y[~seen])
    assert (y != labels_of(graph)).sum() > 0.2 * (~seen).sum()
    other = (
        graph.clone()
        if task != "image"
        else build_images(graph.x, y=y, train_mask=graph.train_mask, test_mask=graph.test_mask, name=graph.name)
    )
    other.y = torch.from_numpy(y)
    false = tiny_search(other, tmp_path / "false", ranges=("training.lr=1e-3..1e-1:log", "spectral=none,sfa"))
    records = [run(made, trials=2) for made in (true, false)]
    assert told(records[0]) == told(records[1])
    chosen = [yaml.safe_load((made.folder / "best.yaml").read_text()) for made in (true, false)]
    assert chosen[0] == chosen[1]


def test_the_labels_that_are_seen_do_decide(planted: Data, tmp_path: Path, in_one_go: list[Record]) -> None:
    made = tiny_search(planted, tmp_path / "before")
    seen = labels_of(made.hidden) >= 0
    y = labels_of(planted).copy()
    y[seen] = (y[seen] + np.arange(seen.sum())) % 3
    planted.y = torch.from_numpy(y)
    records = run(tiny_search(planted, tmp_path / "search"), trials=2)
    assert [record.value for record in records] != [record.value for record in in_one_go[:2]]


@pytest.mark.slow
def test_stopped_anywhere_it_proposes_the_same(
    search: MakeSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the ten trials at random with which TPE begins."""

    def scores(self: Search, recipe: Recipe, *_: Any) -> list[Score]:
        value = 90 - abs(np.log10(recipe.training.lr) + 2) - recipe.method["tau"]
        return [Score("pretended", "validation", {"accuracy": (value,)})]

    monkeypatch.setattr(Search, "train_and_score", scores)
    whole = run(search(folder=tmp_path / "whole"), trials=12)
    for trials in (3, 11, 12):
        parts = run(search(folder=tmp_path / "parts"), trials=trials)
    assert told(parts) == told(whole)
    assert len({record.params["training.lr"] for record in whole}) == 12, "a sampler begun again would repeat itself"
    other = run(search(folder=tmp_path / "other", seed=1), trials=1)
    assert other[0].params != whole[0].params
    at_random = run(search(folder=tmp_path / "random", sampler="random"), trials=12)
    assert [record.params for record in at_random[:10]] == [record.params for record in whole[:10]]
    assert at_random[11].params != whole[11].params, "TPE learns from the trials before"


@pytest.mark.slow
def test_killed_and_gone_on_with(
    planted_file: Path, tmp_path: Path, in_one_go: list[Record], short_heartbeats: None
) -> None:
    folder = tmp_path / "search"
    process = multiprocessing.get_context("fork").Process(target=search_until_killed, args=(planted_file, folder, 1))
    process.start()
    process.join()
    assert process.exitcode == -9
    made = tiny_search(load(planted_file), folder)
    with made.trials() as trials:
        assert [record.state for record in trials.records("")] == ["done", "running"]
    assert sum(one.is_dir() for one in (folder / "runs").iterdir()) == 1, "its run folder, from which it goes on"
    assert told(run(made, trials=4)) == told(in_one_go), "the trial was retried, with its values and its number"
    assert not (folder / "runs").exists()


def test_a_trial_of_a_version_without_heartbeats_is_retried(search: MakeSearch, in_one_go: list[Record]) -> None:
    made = search()
    made.settings.save(made.folder)
    with made.trials() as trials:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Optuna misses the heartbeats too
            trial = trials._study("").ask()
        assert made.arms[""].values(lambda found: found.suggest(trial))
    assert told(run(made, trials=1)) == told(in_one_go[:1])


def test_asked_again_for_more(planted_file: Path, tmp_path: Path, in_one_go: list[Record]) -> None:
    made = tiny_search(load(planted_file), tmp_path / "search")
    assert len(run(made, trials=2)) == 2
    assert told(run(made, trials=4)) == told(in_one_go)
    assert told(run(made, trials=3)) == told(in_one_go), "there are enough"
    assert len(run(made, trials=9, timeout=0.0)) == 4, "there is no time"


@pytest.mark.slow
def test_two_processes_share_a_search(planted_file: Path, tmp_path: Path) -> None:
    folder = tmp_path / "search"
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=search_a_share, args=(planted_file, folder, 6)) for _ in range(2)]
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
    made.settings.save(made.folder)
    with made.trials() as ours, made.trials() as theirs:

        def objective(trial: Any, number: int) -> float:
            assert number == 0
            assert ours.run_next("", 2, lambda trial, number: 50.0 + number) == 1, "the next one"
            assert ours.run_next("", 2, lambda trial, number: 99.0) is None, "no more are wanted"
            return 40.0

        assert theirs.run_next("", 2, objective) == 0
        assert [record.value for record in ours.records("")] == [40.0, 51.0]


def test_a_trial_that_is_interrupted_is_the_next(search: MakeSearch) -> None:
    made = search()
    made.settings.save(made.folder)
    seen: list[int] = []

    def objective(trial: Any, number: int) -> float:
        seen.append(number)
        if len(seen) == 1:
            trial.set_user_attr("values", [70.0])
            raise KeyboardInterrupt
        assert number == 1 or trial.user_attrs["values"] == [70.0], "the seeds that are done are kept"
        return 80.0

    with made.trials() as trials:
        with pytest.raises(KeyboardInterrupt):
            trials.run_next("", 2, objective)
        assert trials.records("") == []
        assert [trials.run_next("", 2, objective) for _ in range(3)] == [0, 1, None]
        assert [record.number for record in trials.records("")] == [0, 1]
    assert seen == [0, 0, 1]


@pytest.mark.usefixtures("no_training")
def test_a_grid_is_gone_through_once(search: MakeSearch, tmp_path: Path) -> None:
    made = search(ranges=("spectral=none,sfa", "spectral.iterations=0..1", "method.tau=0.2,0.4"), sampler="grid")
    assert made.trials_by_arm(None)[""] == 6
    assert made.trials_by_arm(4)[""] == 4
    records = run(made, trials=4)
    assert len(records) == 4
    records = run(made)
    assert [record.state for record in records] == ["done"] * 6
    expected = [made.arms[""].with_values(point) for point in made.arms[""].grid()]
    assert [recipe_of(made.arms[""], record) for record in records] == expected
    with pytest.raises(InputError, match="has no grid"):
        search(sampler="grid")


def test_steps_are_round_numbers(search: MakeSearch, tmp_path: Path) -> None:
    made = search(ranges=("method.edge_drop.0=0..0.9:0.1",), seeds=(0,), sampler="random")
    (record,) = made.run(trials=1, device="cpu")
    drop = recipe_of(made.arms[""], record).augmentation["edge_drop"][0]
    assert drop in [round(0.1 * n, 1) for n in range(10)]
    assert drop == record.params["method.edge_drop.0"]


@pytest.mark.slow
def test_seeds_are_averaged(search: MakeSearch, tmp_path: Path) -> None:
    one, two, both = (
        run(search(folder=tmp_path / name, seeds=seeds), trials=1)[0]
        for name, seeds in {"a": (3,), "b": (4,), "both": (3, 4)}.items()
    )
    assert both.values == (one.value, two.value)
    assert both.value == pytest.approx(np.mean(both.values))


def test_a_trial_below_the_median_is_given_up(
    search: MakeSearch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[float] = []

    def falling(self: Search, recipe: Recipe, *_: Any) -> list[Score]:
        begun.extend([] if recipe.method["tau"] in begun else [recipe.method["tau"]])
        value = 90.0 - 10 * begun.index(recipe.method["tau"]) + recipe.training.seed
        return [Score("pretended", "validation", {"accuracy": (value,)})]

    monkeypatch.setattr(Search, "train_and_score", falling)
    records = run(search(seeds=(0, 1), pruner="median"), trials=7)
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
    train = module.train_recipe

    def fail(recipe: Recipe, *args: Any, **options: Any) -> Any:
        if recipe.spectral["name"] == "none":
            raise MemoryError
        return train(recipe, *args, **options)

    monkeypatch.setattr(module, "train_recipe", fail)
    made = search(ranges=("spectral=none,sfa",), sampler="grid")
    failed, done = made.run(device="cpu")
    assert (failed.state, done.state) == ("failed", "done")
    assert failed.failure is not None
    assert "Not enough memory" in failed.failure
    assert best_of([failed, done]) == done
    assert load_recipe(made.folder / "best.yaml").spectral["name"] == "sfa"
    with pytest.raises(MemoryError):
        search(folder=tmp_path / "strict", ranges=("spectral=none,sfa",), sampler="grid").run(strict=True)


@pytest.mark.usefixtures("no_training")
def test_settings_that_do_not_go_together_fail_alone(search: MakeSearch, monkeypatch: pytest.MonkeyPatch) -> None:
    made, with_values = search(ranges=("method.tau=0.2,0.4",), sampler="grid"), Space.with_values

    def not_both(space: Space, values: Any) -> Recipe:
        if values["method.tau"] == 0.2:
            raise InputError("These do not go together.")
        return with_values(space, values)

    monkeypatch.setattr(Space, "with_values", not_both)
    records = made.run(device="cpu", strict=True)
    assert [record.state for record in records] == ["failed", "done"]
    assert records[0].failure == "These do not go together."


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
        run(made)
    monkeypatch.setattr(optuna.Study, "enqueue_trial", enqueue)
    records = run(made)
    assert [record.params["method.tau"] for record in records] == ["0.2", "0.4", "0.6", "0.8"]


def test_interrupted_and_gone_on_with(search: MakeSearch, tmp_path: Path, in_one_go: list[Record]) -> None:
    class Impatient(SearchCallback):
        def on_run_begin(self, arm: str, number: int, recipe: Recipe) -> None:
            if number == 2:
                raise KeyboardInterrupt

    made = search()
    with pytest.raises(KeyboardInterrupt):
        run(made, trials=4, callback=Impatient())
    assert load_recipe(made.folder / "best.yaml").method["name"] == "grace", "what was found is of use"
    assert told(run(made, trials=4)) == told(in_one_go)


@pytest.mark.slow
def test_another_search_in_the_same_folder(search: MakeSearch, tmp_path: Path, planted: Data) -> None:
    run(search(), trials=1)
    for options, what in [
        ({"seeds": (1,)}, "seeds"),
        ({"ranges": ("method.tau=0.1..1",)}, "ranges"),
        ({"sampler": "random", "seed": 1}, "sampler and seed"),
    ]:
        with pytest.raises(InputError, match=f"begun with other {what}"):
            run(search(**options), trials=2)
    (tmp_path / "search" / "search.json").write_text("{}")
    with pytest.raises(InputError, match="is damaged"):
        run(search(), trials=2)


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


@pytest.mark.slow
def test_a_search_of_the_old_layout_is_gone_on_with(search: MakeSearch, tmp_path: Path) -> None:
    """Its recipe has encoder and augmentation among the options of the method, and so have the keys of its trials."""
    ranges = ("method.edge_drop.0=0..0.9:0.1", "method.hidden=4,8", "smoothing=0,1", "method.tau=0.2..1")
    folder = tmp_path / "old"
    made = search(folder=folder, ranges=ranges, seeds=(0,))
    before = run(made, trials=2)
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
    again = Search(settings, made.data, folder)
    records = run(again, trials=4)
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
            )
        )
