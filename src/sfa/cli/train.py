"""``sfa train``: data and recipe in, a run folder out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from torch_geometric.data import Data

from sfa import processes
from sfa.cli.console import Display
from sfa.cli.evaluate import evaluate_run
from sfa.cli.run import Run, Source, recorded_source, require_same_data, set_threads, tell_of_data
from sfa.cli.score_table import print_scores
from sfa.errors import InputError
from sfa.evaluation import resolve as resolve_protocol
from sfa.evaluation.protocols import default_protocol
from sfa.levels import level_of, num_items
from sfa.methods import DEFAULTS
from sfa.recipes import Recipe, load_recipe, shipped_recipes
from sfa.recipes.run import describe, online_probe, record_of, train_recipe
from sfa.training import RunFolder, Steps, make_fabric


def run(
    *,
    source: Source,
    recipe: str | None,
    changes: Mapping[str, Any],
    out: Path | None,
    resume: bool,
    device: str,
    threads: int | None,
    evaluate: bool,
    quiet: bool,
) -> None:
    """Train as asked on the command line, then score the result where there are labels."""
    make_fabric(device)  # joins the other processes, if there are any: from here on this one knows its rank
    display = Display(quiet or processes.rank() > 0)
    set_threads(threads)
    if resume:
        folder = _folder_to_resume(out)
        if source.data is None and source != Source(None, source.data_root):
            raise InputError(
                "--features, --labels, --node-features, --image-size and --skip-corrupt belong to data: name those "
                "too, or resume without."
            )
        source = source if source.data is not None else recorded_source(folder, source.data_root)
        settled = _settled_recipe(folder, recipe, changes, source.data)
        graph = _load(source, display)
        require_same_data(folder, graph)
        trained = train_run(folder, settled, graph, device=device, resume=True, display=display)
    else:
        graph = _load(source, display)
        settled = _chosen_recipe(recipe, graph, source.data, changes.get("method.name")).updated(changes)
        path = out if out is not None else free_path(Path("runs") / _default_name(graph, settled))
        if recipe is None:
            _tell_of_a_recipe(settled, source.data, display)
        trained = start_run(path, settled, graph, source, device=device, display=display)
    if processes.rank() > 0:
        return
    if evaluate:
        _evaluate_if_possible(trained, display)
    display.say(f"Embeddings: sfa embed {trained.folder.path} --out z.parquet")


def _chosen_recipe(recipe: str | None, data: Data, dataset: str | None, method: str | None) -> Recipe:
    """The recipe asked for; if none is, the data set's own or else the defaults of the level's first method."""
    if recipe is not None:
        return load_recipe(recipe, dataset, method)
    if _has_default(dataset):
        return load_recipe("default", dataset, method)
    return Recipe.parse({"method": DEFAULTS[level_of(data)]})


def _has_default(dataset: str | None) -> bool:
    return f"default/{dataset}".lower() in shipped_recipes()


def _tell_of_a_recipe(recipe: Recipe, dataset: str | None, display: Display) -> None:
    """A method's own defaults are its authors' for one data set; there may be settings for this one."""
    method, spectral = recipe.method["name"], recipe.spectral["name"]
    if f"{method}/{dataset}".lower() in shipped_recipes() and not _has_default(dataset):
        same_map = "" if spectral == "none" else f" --spectral {spectral}"
        display.say(f"Settings are {method}'s defaults; --recipe {method}{same_map} has those for {dataset}.")


def _load(source: Source, display: Display) -> Data:
    graph = source.load(display)
    tell_of_data(graph, display)
    return graph


def start_run(path: Path, recipe: Recipe, graph: Data, source: Source, *, device: str, display: Display) -> Run:
    """Make a new run folder and train in it; nothing is written before everything is known to fit."""
    method = recipe.build_for(graph)
    make_fabric(device, recipe.training.precision)
    if processes.count() > 1:
        processes.synchronise(method)
    Steps(graph, recipe.make_sampler(), recipe.training.seed)
    online_probe(recipe, method, graph)
    record = record_of(recipe, graph, source.as_dict())
    with processes.explained_if_lost():
        if processes.rank() == 0:
            RunFolder.create(path, recipe.as_dict(), record)
        folder = RunFolder.open(processes.agreed(path))  # agreed upon once it is there
    return train_run(folder, recipe, graph, device=device, resume=False, display=display)


def train_run(folder: RunFolder, recipe: Recipe, graph: Data, *, device: str, resume: bool, display: Display) -> Run:
    """Train in an existing folder and show how it goes."""
    display.say(
        f"{graph.name}: {_what(graph, recipe)}\n"
        f"{describe(recipe)}, seed {recipe.training.seed}, in {folder.path}{_how(recipe)}"
    )
    with display.progress("training", recipe.training.epochs) as tracker:
        trained = train_recipe(
            recipe,
            graph,
            folder,
            device=device,
            resume=resume,
            on_step=lambda epoch, step, steps, loss: tracker.step(epoch + step / steps, of=steps, loss=loss),
        )
    if recipe.training.online_probe:
        online = folder.read_metrics()[-1].get("online", {})
        display.say(f"Online probe: {', '.join(f'{what} {value:.2f}' for what, value in online.items())}")
    if trained.progress.epoch < recipe.training.epochs:
        display.say(f"Stopped at epoch {trained.progress.epoch}: no progress for {recipe.training.patience} epochs.")
    return trained


def _what(data: Data, recipe: Recipe) -> str:
    """The size of the data, and what is done to their features."""
    if level_of(data) == "image":
        height, width = data.x.shape[1:3]
        parts = {"to train on": data.get("train_mask"), "to test on": data.get("test_mask")}
        counts = "".join(f", {int(mask.sum())} {what}" for what, mask in parts.items() if mask is not None)
        channels = "1 channel" if data.num_features == 1 else f"{data.num_features} channels"
        return f"{num_items(data)} images of {height} × {width} pixels, {channels}{counts}"
    graphs = f"{num_items(data)} graphs, " if level_of(data) == "graph" else ""
    return (
        f"{graphs}{data.num_nodes} nodes, {data.num_edges // 2} edges, {data.num_features} features, "
        f"{recipe.preparation}"
    )


def _how(recipe: Recipe) -> str:
    """What is out of the ordinary: batches, processes."""
    sampler, count = recipe.sampler, processes.count()
    size = max(2, sampler.get("batch_size", 2))  # one alone has nothing to be told from
    batches = "" if sampler["name"] == "whole" else f", batches of {size} ({sampler['name']})"
    return batches + ("" if count == 1 else f", {count} processes")


def parse_assignments(assignments: Sequence[str]) -> dict[str, Any]:
    """``["method.tau=0.5"]`` as ``{"method.tau": 0.5}``; values are read as YAML."""
    changes = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        try:
            changes[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError:
            equals = ""
        if not equals:
            raise InputError(f"--set takes KEY=VALUE, for instance method.tau=0.5, not {assignment!r}.")
    return changes


def free_path(path: Path) -> Path:
    """``path``, or the first of ``path-2``, ``path-3``, … that is not there yet."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def _default_name(graph: Data, recipe: Recipe) -> str:
    # A file may say what its graph is called; it does not say where a run goes.
    name = re.sub(r"[^\w-]+", "-", graph.name).strip("-") or "graph"
    spectral = recipe.spectral["name"].replace("*", "-star")  # no folder name for a shell to expand
    return f"{name}-{recipe.method['name']}-{spectral}"


def _folder_to_resume(out: Path | None) -> RunFolder:
    if out is None:
        raise InputError("--resume needs --out, the folder of the run to go on with.")
    return RunFolder.open(out)


def _settled_recipe(folder: RunFolder, recipe: str | None, changes: Mapping[str, Any], dataset: str | None) -> Recipe:
    """The recipe of the run; what is given again on the command line must agree with it."""
    settled = load_recipe(folder.recipe_file)
    asked = settled if recipe is None else load_recipe(recipe, dataset, changes.get("method.name"))
    asked = asked.updated(changes)
    if asked != settled:
        before, now = _flat(settled), _flat(asked)
        different = ", ".join(sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key)))
        raise InputError(
            f"The run in {folder.path} was started with another value of {different}: "
            "resume it without that option, or start a new run in another --out."
        )
    return settled


def _flat(recipe: Recipe) -> dict[str, Any]:
    sections = recipe.as_dict()
    return {
        f"{name}.{key}" if key else name: value
        for name, section in sections.items()
        for key, value in (section.items() if isinstance(section, dict) else [("", section)])
    }


def _evaluate_if_possible(trained: Run, display: Display) -> None:
    """Labels are optional in training: without usable ones the scores are left out, and it is said why."""
    protocol = resolve_protocol(default_protocol(level_of(trained.graph)))
    try:
        protocol.check(trained.graph)
    except InputError as error:
        display.say(f"No scores: {error}")
        return
    print_scores({protocol.name: evaluate_run(trained, protocol, display)})
