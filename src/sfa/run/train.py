"""Training of a run: data and recipe in, a run folder out."""

from __future__ import annotations

import math
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning_fabric import Fabric
from torch_geometric.data import Data

from sfa import processes
from sfa.atomic import ensure_writable
from sfa.errors import InputError
from sfa.evaluate.probes.base import RANKS
from sfa.levels import Level, level_of, num_items, settings_of
from sfa.registry import resolve
from sfa.run.display import Display, counted, display_of
from sfa.run.evaluate import evaluate_run
from sfa.run.recipe import Recipe
from sfa.run.recipe_choice import GivenRecipe, as_changes, asked_recipe, hint_at_recipes, settled_recipe
from sfa.run.report import REPORT, report_run
from sfa.run.run import Run, describe, set_threads
from sfa.run.scoring import usual_protocol
from sfa.run.sections import names_of
from sfa.run.source import Source, recorded_source, require_same_data, tell_of_data
from sfa.run.train_recipe import Setup, record_of
from sfa.train import BatchPlan, LambdaCallback, LoggerCallback, RunFolder, load_tensors, make_fabric
from sfa.train.loggers import Loggers


def train_run(
    data: Any = None,
    *,
    recipe: GivenRecipe | None = None,
    set: Mapping[str, Any] | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    features: str | Path | None = None,
    labels: str | Path | None = None,
    node_features: str | None = None,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    data_root: str | Path | None = None,
    device: str = "auto",
    threads: int | None = None,
    evaluate: bool = True,
    report: bool = False,
    log: Sequence[str] = (),
    progress: bool | Display = False,
    **changes: Any,
) -> Run:
    """Train embeddings of a graph's nodes, of many graphs or of images, without labels.

    Args:
        data: A data set's name, a file, a folder of graphs or images, or an object: a PyG ``Data`` or data set, a list
            of graphs, an array of images.
        recipe: A shipped recipe's name, a YAML file, a mapping or a recipe. Default: the data set's own, or that of
            ``grace`` for a graph, ``graphcl`` for graphs, ``simclr`` for images.
        set: Changes of the recipe by path: ``{"encoder.layers": 3}``.
        out: Run folder. Default: a new one below ``runs/``.
        resume: Go on with the run in ``out``.
        features, labels, node_features, image_size, skip_corrupt, data_root: As options of ``sfa train``.
        device: ``auto``, ``cpu``, ``cuda``, …
        threads: CPU threads.
        evaluate: Score the embeddings at the end, where there are labels.
        report: Write ``report.html`` into the run folder at the end.
        log: Also log to ``tensorboard`` or ``wandb``.
        progress: Show progress on standard error.
        **changes: Changes of the recipe by their short names (:data:`KEYWORDS`), ``epochs=20``, or by section,
            ``training={"lr": 0.01}``.
    """
    fabric = make_fabric(device)  # joins the other processes, if there are any: from here on this one knows its rank
    display = display_of(progress)
    tell = Display().say if display.console.quiet else display.say
    is_first = processes.rank() == 0
    if not is_first:
        display = Display(quiet=True)
        tell = display.say
    set_threads(threads)
    paths = (None if path is None else Path(path) for path in (data_root, features, labels))
    source = Source(data, *paths, node_features, image_size, skip_corrupt)
    asked = as_changes(set or {}, changes)
    with Loggers(log, tell) as loggers:
        if resume:
            folder = _folder_to_resume(out, report)
            source = _source_to_resume(folder, source)
            settled = settled_recipe(folder, recipe, asked, source.dataset)
            fabric = _with_precision(fabric, device, settled)
            raw = _load(source, display)
            require_same_data(folder, raw)
            run = train_in(folder, settled, raw, device=fabric, resume=True, display=display, loggers=loggers)
        else:
            if out is not None:
                _check_out(Path(out))
            level = source.level()
            known = None if level is None else asked_recipe(recipe, level, source.dataset, asked)
            if known is not None:
                fabric = _with_precision(fabric, device, known)
                _check_unread(known, level, source, out)
            raw = _load(source, display)
            settled = known or asked_recipe(recipe, level_of(raw), source.dataset, asked)
            fabric = fabric if known is not None else _with_precision(fabric, device, settled)
            path = Path(out) if out is not None else free_path(Path("runs") / _default_name(raw, settled))
            hint = hint_at_recipes(settled, source.dataset) if recipe is None else None
            if hint is not None:
                display.say(hint)
            run = start_run(path, settled, raw, source, device=fabric, display=display, loggers=loggers)
        with processes.explained_if_lost():
            processes.leave()
        if not is_first:
            return run
        if evaluate:
            run = _evaluate_if_possible(run, display, loggers)
        for command in loggers.hints():
            display.say(f"Log: {command}")
    if report:
        no_scores = None if evaluate else "The run was trained with --no-evaluate."
        report_run(run, no_scores=no_scores, progress=display)
    display.say(f"Embeddings: sfa embed {run.path} --out z.parquet")
    return run


def start_run(
    path: Path,
    recipe: Recipe,
    data: Data,
    source: Source,
    *,
    device: str | Fabric,
    display: Display,
    loggers: Loggers | None = None,
) -> Run:
    """Make a new run folder and train in it; nothing is written before everything is known to fit."""
    setup, fabric = Setup.build(recipe, data), make_fabric(device, recipe.training.precision)
    if processes.count() > 1:
        processes.synchronise(setup.method)
    BatchPlan(setup.data, setup.sampler, recipe.training.seed)
    record = record_of(recipe, data, source.as_dict())
    with processes.explained_if_lost():
        if processes.rank() == 0:
            RunFolder.create(path, recipe.as_dict(), record)
        folder = RunFolder.open(processes.agreed(path))  # agreed upon once it is there
    return train_in(folder, recipe, data, setup, device=fabric, resume=False, display=display, loggers=loggers)


def train_in(
    folder: RunFolder,
    recipe: Recipe,
    data: Data,
    setup: Setup | None = None,
    *,
    device: str | Fabric,
    resume: bool,
    display: Display,
    loggers: Loggers | None = None,
) -> Run:
    """Train in an existing folder and show how it goes."""
    setup = setup or Setup.build(recipe, data)
    display.say(
        f"{data.name}: {_what(data, recipe)}\n"
        f"{describe(recipe)}, seed {recipe.training.seed}, in {folder.path}{_how(recipe)}"
    )
    done: list[dict[str, Any]] = []
    if resume:
        meta = load_tensors(folder.checkpoint)[1] if folder.checkpoint.exists() else None
        done = [] if meta is None else [row for row in folder.read_metrics() if row["epoch"] <= meta.get("epoch", 0)]
        display.say(_where_it_goes_on(meta))
    if loggers is not None:
        loggers.open(folder.path, recipe.as_dict(), done)
    with display.progress("training", recipe.training.epochs) as tracker:
        shown = LambdaCallback(
            on_step_end=lambda state: tracker.step(state.epochs_done, of=state.num_steps, loss=state.loss)
        )
        callbacks = [shown, *([] if loggers is None else [LoggerCallback(loggers)])]
        run = setup.train(folder, device=device, resume=resume, callbacks=callbacks)
    if setup.probe is not None and processes.rank() == 0:  # the first process alone writes metrics
        display.say(f"Online probe: {_of_probe(run.metrics[-1].get('online', {}))}")
    if run.progress.epoch < recipe.training.epochs:
        patience = counted(recipe.training.patience or 0, "epoch")
        display.say(f"Stopped at epoch {run.progress.epoch}: no progress for {patience}.")
    return run


def free_path(path: Path) -> Path:
    """Return ``path``, or the first of ``path-2``, ``path-3``, … that is not there yet."""
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}-{number}")
    return candidate


def folder_name(*parts: str) -> str:
    """Return a name that no shell expands, of parts such as a method and a spectral layer.

    >>> folder_name("cora", "grace", "sfa (64 passes)")
    'cora-grace-sfa-64-passes'
    """
    return "-".join(re.sub(r"[^\w-]+", "-", part.replace("*", "-star")).strip("-") for part in parts)


def _default_name(data: Data, recipe: Recipe) -> str:
    # A file may say what its data are called; it does not say where a run goes.
    return folder_name(folder_name(data.name) or "graph", recipe.method["name"], recipe.spectral_label)


def _with_precision(fabric: Fabric, device: str, recipe: Recipe) -> Fabric:
    """Return what trains in the recipe's precision."""
    precision = recipe.training.precision
    return fabric if precision == "32" else make_fabric(device, precision)


def _check_unread(recipe: Recipe, level: Level | None, source: Source, out: str | Path | None) -> None:
    """Raise what can be known to be wrong before the data are read, which takes minutes where images are decoded."""
    path = Path(source.dataset or "").expanduser()
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


def _load(source: Source, display: Display) -> Data:
    data = source.load(display)
    tell_of_data(data, display)
    return data


def _folder_to_resume(out: str | Path | None, report: bool) -> RunFolder:
    if out is None:
        raise InputError("--resume needs --out, the folder of the run to go on with.")
    folder = RunFolder.open(Path(out))
    if report:
        ensure_writable(folder.path / REPORT)
    return folder


def _source_to_resume(folder: RunFolder, source: Source) -> Source:
    """Return where the data of a run come from, if it is not said again."""
    if source.data is not None:
        return source
    if source != Source(None, source.data_root):
        raise InputError(
            "--features, --labels, --node-features, --image-size and --skip-corrupt belong to data: name those "
            "too, or resume without."
        )
    return recorded_source(folder, source.data_root)


def _where_it_goes_on(meta: Mapping[str, Any] | None) -> str:
    if meta is None:
        return "No checkpoint yet: from the start."
    epoch = meta.get("epoch", 0)
    return f"Training is done already, at epoch {epoch}." if meta.get("finished") else f"Going on from epoch {epoch}."


def _of_probe(online: Mapping[str, float]) -> str:
    """Return how many labels an online probe told rightly at the end, of views and of images held out."""
    told = {"train": "of the views", "validation": "of held-out training images"}
    parts = [f"{online[key]:.2f} % {what}" for key, what in told.items() if key in online]
    top = online.get(f"validation_top{RANKS}")
    return ", ".join(parts) + ("" if top is None else f" (top-{RANKS} {top:.2f} %)")


def _what(data: Data, recipe: Recipe) -> str:
    """Return the size of the data, and what is done to their features."""
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
    """Return what is out of the ordinary: an encoder or augmentation that is not the method's, batches, processes."""
    sampler, count = recipe.sampler, processes.count()
    usual = settings_of(resolve("method", recipe.method["name"]))
    parts = [(kind, getattr(recipe, kind)) for kind in ("encoder", "augmentation")]
    names = {kind: names_of(part) for kind, part in parts if part is not None}
    others = "".join(f", {kind} {name}" for kind, name in names.items() if name != names_of(usual[kind]))
    size = max(2, sampler.get("batch_size", 2))  # one alone has nothing to be told from
    batches = "" if sampler["name"] == "whole" else f", batches of {size} ({sampler['name']})"
    return others + batches + ("" if count == 1 else f", {count} processes")


def _evaluate_if_possible(run: Run, display: Display, loggers: Loggers) -> Run:
    """Score a run; labels are optional in training: without usable ones the scores are left out, and it is said why."""
    protocol = usual_protocol(run.data)
    try:
        protocol.check(run.data)
    except InputError as error:
        display.say(f"No scores: {error}")
        return run
    scores = evaluate_run(run, progress=display)
    own = scores.of[protocol.name][-1]
    means = {metric: own.mean(metric) for metric in own.values}
    deviations = {f"{metric}_std": own.std(metric) for metric in own.values}
    logged = {**means, **{name: None if math.isnan(value) else value for name, value in deviations.items()}}
    loggers.log({"epoch": run.progress.epoch, "scores": {protocol.name: logged}})
    return replace(run, scores=scores)
