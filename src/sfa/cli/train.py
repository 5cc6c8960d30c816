"""``sfa train``: data and recipe in, a run folder out."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import yaml
from torch_geometric.data import Data

from sfa import processes
from sfa.atomic import ensure_writable
from sfa.cli.evaluate import evaluate_run
from sfa.cli.score_table import print_scores
from sfa.errors import InputError, unknown_name
from sfa.evaluate import Score
from sfa.evaluate.probes.base import RANKS
from sfa.evaluate.protocols import default_protocol
from sfa.levels import Level, level_of, num_items, settings_of
from sfa.methods import DEFAULTS, available_methods
from sfa.registry import is_path, known_names, resolve
from sfa.run import Recipe, load_recipe, shipped_recipes
from sfa.run.display import Display
from sfa.run.parsing import label_of
from sfa.run.run import describe, online_probe, record_of, train_recipe
from sfa.run.sections import names_of
from sfa.run.source import Run, Source, counted, recorded_source, require_same_data, set_threads, tell_of_data
from sfa.train import BatchPlan, LambdaCallback, LoggerCallback, RunFolder, load_tensors, make_fabric
from sfa.train.loggers import Loggers

REPORT = "report.html"
"""The page of a run, in its folder."""


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
    report: bool = False,
    quiet: bool,
    log: Sequence[str] = (),
) -> None:
    """Train as asked on the command line, then score the result where there are labels."""
    make_fabric(device)  # joins the other processes, if there are any: from here on this one knows its rank
    display = Display(quiet or processes.rank() > 0)
    set_threads(threads)
    with Loggers(log, (Display() if quiet else display).say) as loggers:
        if resume:
            folder = _folder_to_resume(out)
            if report:
                ensure_writable(folder.path / REPORT)
            if source.data is None and source != Source(None, source.data_root):
                raise InputError(
                    "--features, --labels, --node-features, --image-size and --skip-corrupt belong to data: name those "
                    "too, or resume without."
                )
            source = source if source.data is not None else recorded_source(folder, source.data_root)
            settled = _settled_recipe(folder, recipe, changes, source.data)
            make_fabric(device, settled.training.precision)
            graph = _load(source, display)
            require_same_data(folder, graph)
            trained = train_run(folder, settled, graph, device=device, resume=True, display=display, loggers=loggers)
        else:
            if out is not None:
                _check_out(out)
            level = source.level()
            known = None if level is None else _asked_recipe(recipe, level, source.data, changes)
            if known is not None:
                _check_unread(known, level, source.data, out, device)
            graph = _load(source, display)
            settled = known or _asked_recipe(recipe, level_of(graph), source.data, changes)
            path = out if out is not None else free_path(Path("runs") / _default_name(graph, settled))
            if recipe is None:
                _tell_of_a_recipe(settled, source.data, display)
            trained = start_run(path, settled, graph, source, device=device, display=display, loggers=loggers)
        is_first = processes.rank() == 0
        with processes.explained_if_lost():
            processes.leave()
        if not is_first:
            return
        if evaluate:
            _evaluate_if_possible(trained, display, loggers)
        for command in loggers.hints():
            display.say(f"Log: {command}")
    if report:
        _report(trained, evaluate, display)
    display.say(f"Embeddings: sfa embed {trained.folder.path} --out z.parquet")


def _asked_recipe(recipe: str | None, level: Level, dataset: str | None, changes: Mapping[str, Any]) -> Recipe:
    """The recipe of the command line, with all that is changed in it."""
    method = changes.get("method.name", changes.get("method"))
    if isinstance(method, str) and not is_path(method) and method not in known_names("method"):
        raise unknown_name("method", method, available_methods(level))
    return _chosen_recipe(recipe, level, dataset, changes.get("method.name")).updated(changes)


def _chosen_recipe(recipe: str | None, level: Level, dataset: str | None, method: str | None) -> Recipe:
    """The recipe asked for; if none is, the data set's own or else the defaults of the level's first method."""
    if recipe is not None:
        return load_recipe(recipe, dataset, method, level)
    if _has_default(dataset):
        return load_recipe("default", dataset, method)
    return Recipe.parse({"method": DEFAULTS[level]})


def _check_unread(recipe: Recipe, level: Level | None, dataset: str | None, out: Path | None, device: str) -> None:
    """Raise what can be known to be wrong before the data are read, which takes minutes where images are decoded."""
    make_fabric(device, recipe.training.precision)
    path = Path(dataset or "").expanduser()
    name = path.resolve().name if path.is_dir() else path.stem
    pixel = Data(x=torch.zeros(1, 1, 1, 3, dtype=torch.uint8), name=name)
    if level == "image":
        recipe.build_for(pixel)
    if out is None:
        _check_out(free_path(Path("runs") / _default_name(pixel, recipe)))


def _check_out(path: Path) -> None:
    """Raise unless a run folder can be made at ``path``, leaving no trace; all processes wait for the first to look."""
    with processes.explained_if_lost():
        if processes.rank() == 0:
            nearest = next(parent for parent in (path.absolute(), *path.absolute().parents) if parent.exists())
            if nearest != path.absolute() and nearest.is_dir():
                try:
                    os.rmdir(tempfile.mkdtemp(dir=nearest, prefix=f".{path.name}."))
                except OSError as error:
                    raise InputError(f"Cannot make the folder {path}: {error.strerror or error}.") from error
            RunFolder.check_creatable(path)
        processes.agreed(path)


def _has_default(dataset: str | None) -> bool:
    return f"default/{dataset}".lower() in shipped_recipes()


def _tell_of_a_recipe(recipe: Recipe, dataset: str | None, display: Display) -> None:
    """A method's own defaults are its authors' for one data set; there may be settings for this one."""
    method, spectral = recipe.method["name"], label_of(recipe.spectral)
    if f"{method}/{dataset}".lower() in shipped_recipes() and not _has_default(dataset):
        same_map = "" if spectral == "none" else f" --spectral {spectral.replace(' + ', ',')}"
        best = ", --recipe best the best that we know" if f"best/{dataset}".lower() in shipped_recipes() else ""
        display.say(
            f"Settings are {method}'s defaults; --recipe {method}{same_map} has its authors' for {dataset}{best}."
        )


def _load(source: Source, display: Display) -> Data:
    graph = source.load(display)
    tell_of_data(graph, display)
    return graph


def start_run(
    path: Path,
    recipe: Recipe,
    graph: Data,
    source: Source,
    *,
    device: str,
    display: Display,
    loggers: Loggers | None = None,
) -> Run:
    """Make a new run folder and train in it; nothing is written before everything is known to fit."""
    method = recipe.build_for(graph)
    make_fabric(device, recipe.training.precision)
    if processes.count() > 1:
        processes.synchronise(method)
    BatchPlan(graph, recipe.make_sampler(), recipe.training.seed)
    try:
        online_probe(recipe, method, graph)
    except InputError as error:
        raise InputError(f"--online-probe is not possible here: {error}") from error
    record = record_of(recipe, graph, source.as_dict())
    with processes.explained_if_lost():
        if processes.rank() == 0:
            RunFolder.create(path, recipe.as_dict(), record)
        folder = RunFolder.open(processes.agreed(path))  # agreed upon once it is there
    return train_run(folder, recipe, graph, device=device, resume=False, display=display, loggers=loggers)


def train_run(
    folder: RunFolder,
    recipe: Recipe,
    graph: Data,
    *,
    device: str,
    resume: bool,
    display: Display,
    loggers: Loggers | None = None,
) -> Run:
    """Train in an existing folder and show how it goes."""
    display.say(
        f"{graph.name}: {_what(graph, recipe)}\n"
        f"{describe(recipe)}, seed {recipe.training.seed}, in {folder.path}{_how(recipe)}"
    )
    if resume:
        display.say(_where_it_goes_on(folder))
    if loggers is not None:
        loggers.open(folder.path, recipe.as_dict(), _rows_done(folder) if resume else [])
    with display.progress("training", recipe.training.epochs) as tracker:
        shown = LambdaCallback(
            on_step_end=lambda state: tracker.step(state.epochs_done, of=state.num_steps, loss=state.loss)
        )
        callbacks = [shown, *([] if loggers is None else [LoggerCallback(loggers)])]
        trained = train_recipe(recipe, graph, folder, device=device, resume=resume, callbacks=callbacks)
    if recipe.training.online_probe and processes.rank() == 0:  # the first process alone writes metrics
        display.say(f"Online probe: {_of_probe(folder.read_metrics()[-1].get('online', {}))}")
    if trained.progress.epoch < recipe.training.epochs:
        patience = counted(recipe.training.patience or 0, "epoch")
        display.say(f"Stopped at epoch {trained.progress.epoch}: no progress for {patience}.")
    return trained


def _where_it_goes_on(folder: RunFolder) -> str:
    if not folder.checkpoint.exists():
        return "No checkpoint yet: from the start."
    meta = load_tensors(folder.checkpoint)[1]
    epoch = meta.get("epoch", 0)
    return f"Training is done already, at epoch {epoch}." if meta.get("finished") else f"Going on from epoch {epoch}."


def _rows_done(folder: RunFolder) -> list[dict[str, Any]]:
    """Metrics of the epochs that training does not do again."""
    if not folder.checkpoint.exists():
        return []
    epoch = load_tensors(folder.checkpoint)[1].get("epoch", 0)
    return [row for row in folder.read_metrics() if row["epoch"] <= epoch]


def _of_probe(online: Mapping[str, float]) -> str:
    """How many labels an online probe told rightly at the end: of views, before it learnt from them, and held out."""
    told = {"train": "of the views", "validation": "of held-out training images"}
    parts = [f"{online[key]:.2f} % {what}" for key, what in told.items() if key in online]
    top = online.get(f"validation_top{RANKS}")
    return ", ".join(parts) + ("" if top is None else f" (top-{RANKS} {top:.2f} %)")


def _what(data: Data, recipe: Recipe) -> str:
    """The size of the data, and what is done to their features."""
    if level_of(data) == "image":
        height, width = data.x.shape[1:3]
        parts = {"to train on": data.get("train_mask"), "to test on": data.get("test_mask")}
        counts = "".join(f", {int(mask.sum())} {what}" for what, mask in parts.items() if mask is not None)
        images, channels = counted(num_items(data), "image"), counted(data.num_features, "channel")
        return f"{images} of {height} × {width} pixels, {channels}{counts}"
    sizes = {"node": data.num_nodes, "edge": data.num_edges // 2, "feature": data.num_features}
    sizes = {"graph": num_items(data), **sizes} if level_of(data) == "graph" else sizes
    return ", ".join([*(counted(size, what) for what, size in sizes.items()), recipe.preparation])


def _how(recipe: Recipe) -> str:
    """Say what is out of the ordinary: an encoder or augmentation that is not the method's, batches, processes."""
    sampler, count = recipe.sampler, processes.count()
    usual = settings_of(resolve("method", recipe.method["name"]))
    parts = [(kind, getattr(recipe, kind)) for kind in ("encoder", "augmentation")]
    names = {kind: names_of(part) for kind, part in parts if part is not None}
    others = "".join(f", {kind} {name}" for kind, name in names.items() if name != names_of(usual[kind]))
    size = max(2, sampler.get("batch_size", 2))  # one alone has nothing to be told from
    batches = "" if sampler["name"] == "whole" else f", batches of {size} ({sampler['name']})"
    return others + batches + ("" if count == 1 else f", {count} processes")


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
    parts = recipe.method["name"], recipe.spectral_name  # as no shell would expand them
    method, spectral = (re.sub(r"[^\w-]+", "-", part.replace("*", "-star")).strip("-") for part in parts)
    return f"{name}-{method}-{spectral}"


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


def _evaluate_if_possible(trained: Run, display: Display, loggers: Loggers) -> None:
    """Labels are optional in training: without usable ones the scores are left out, and it is said why."""
    protocol = resolve("protocol", default_protocol(level_of(trained.graph)))
    try:
        protocol.check(trained.graph)
    except InputError as error:
        display.say(f"No scores: {error}")
        return
    scores = evaluate_run(trained, protocol, display)
    print_scores({protocol.name: scores}, {protocol.name: protocol.description})
    loggers.log({"epoch": trained.progress.epoch, "scores": {protocol.name: _to_log(scores[-1])}})


def _report(trained: Run, scored: bool, display: Display) -> None:
    """The page of the run, in its folder; it is scored already, or is not to be."""
    from sfa.cli.report import make_report, usual_protocol, why_not

    protocol = usual_protocol(trained)
    no_scores = why_not([trained], protocol) if scored else "The run was trained with --no-evaluate."
    make_report([trained], trained.folder.path / REPORT, protocol=protocol, no_scores=no_scores, display=display)


def _to_log(score: Score) -> dict[str, float | None]:
    """Mean and deviation of each metric."""
    means = {metric: score.mean(metric) for metric in score.values}
    deviations = {f"{metric}_std": score.std(metric) for metric in score.values}
    return {**means, **{name: None if math.isnan(value) else value for name, value in deviations.items()}}
