"""Train a run: choose its recipe, read its data, train, score and report."""

import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch_geometric.data import Data

from sfa.atomic import ensure_writable
from sfa.distributed import any_of, barrier_and_destroy, broadcast_object, rank, translate_connection_errors, world_size
from sfa.errors import InputError, MissingFeaturesError, unknown_name
from sfa.export import ExportError, check_export
from sfa.folders import expand_user
from sfa.graph.structure import is_stored
from sfa.memory import set_memory
from sfa.methods import available_methods
from sfa.registry import is_path, known_names
from sfa.report.page import finite
from sfa.run.display import Display, display_of
from sfa.run.embed import embed_run, refuse_own_data
from sfa.run.evaluate import evaluate_run
from sfa.run.health import Health
from sfa.run.parsing import class_of_method, label_of
from sfa.run.recipe import GivenRecipe, Recipe, as_changes, load_recipe
from sfa.run.report import REPORT, report_run
from sfa.run.run import Run, set_threads
from sfa.run.score_cache import usual_protocol
from sfa.run.shipped import shipped_recipes
from sfa.run.source import Source, is_known, recorded_source, require_same_data, tell_of_data
from sfa.run.train_recipe import train_in
from sfa.tasks import Task, task_of
from sfa.train import RunFolder, make_fabric
from sfa.train.loggers import Loggers

EMBEDDINGS, NO_FILE = "embeddings.parquet", "none"  # the embeddings in the run folder; what says that none are wanted


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
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    bipartite: bool = False,
    encode: Literal["auto", "none"] | None = None,
    data_root: str | Path | None = None,
    device: str = "auto",
    threads: int | None = None,
    memory: str | None = None,
    embed: str | Path | None = None,
    evaluate: bool = True,
    report: bool = False,
    log: Sequence[str] = (),
    progress: bool | Display = False,
    **changes: Any,
) -> Run:
    """Train embeddings of a graph's nodes, of many graphs or of images, without labels.

    ``features`` to ``data_root`` say how files are read; they are the options of ``sfa train``. ``source`` to
    ``bipartite`` name columns of a DataFrame of edges too, and ``weight`` an attribute of the edges of NetworkX.

    Args:
        data: A data set's name, a file, a folder of graphs or images, or an object: whatever
            :func:`~sfa.data.as_graph` takes, a PyG data set, a list of graphs, an array of images.
        recipe: A shipped recipe's name, a YAML file, a mapping or a recipe. Default: the data set's own, or that of
            ``neighbor-contrast`` for a graph, ``graphcl`` for graphs, ``simclr`` for images.
        set: Changes of the recipe by path: ``{"encoder.layers": 3}``.
        out: Run folder. Default: a new one below ``runs/``.
        resume: Go on with the run in ``out``, as processes do that ``torchrun --max-restarts`` starts again.
        device: ``auto``, ``cpu``, ``cuda``, …
        embed: File of the embeddings, as for :func:`~sfa.run.embed_run`, or ``none``. Default: in the run folder,
            ``embeddings.parquet``, or of a stored graph a folder ``embeddings``.
        memory: Bytes that work on a stored graph holds at a time, ``2GB``; by default a quarter of what is free.
        evaluate: Score the embeddings at the end, where there are labels.
        report: Write ``report.html`` into the run folder at the end.
        log: Also log to ``tensorboard`` or ``wandb``.
        progress: Show progress on standard error.
        **changes: Changes of the recipe by their short names (:data:`KEYWORDS`), ``epochs=20``, or by section,
            ``training={"lr": 0.01}``.
    """
    is_called_by_group = world_size() > 1
    fabric = make_fabric(device)  # joins the other processes, if there are any: from here on this one knows its rank
    with translate_connection_errors():
        resume = broadcast_object(resume)  # processes that were started later may have seen the folder of the first
    display, is_first = display_of(progress), rank() == 0
    tell = Display().say if display.console.quiet else display.say
    display = display if is_first else Display(quiet=True)
    set_threads(threads)
    set_memory(memory)
    columns = (source, target, weight, bipartite, encode)
    origin = Source(data, data_root, features, labels, node_features, image_size, skip_corrupt, *columns)
    asked, path = as_changes(set or {}, changes), None if out is None else expand_user(out)
    if path is not None and not resume and _is_restart_of(path):
        resume = True
        display.say(f"torchrun has started the processes again: going on with the run in {path}.")
    file = None if embed in (None, NO_FILE) else Path(str(embed))
    if file is not None:
        check_export(file)
        refuse_own_data(file, origin, "--embed")
    with Loggers(log, tell if is_first else display.say) as loggers, ExitStack() as held:
        raw = task = None
        if resume:
            folder, origin = _folder_to_resume(path, origin, report)
            _lock(folder.path, held)
            settled = settled_recipe(folder, recipe, asked, origin.dataset)
        else:
            if path is not None:
                _check_out(path)
                _lock(path, held)
            task = origin.task()
            if task is None:  # the recipe depends on the data
                origin, raw = _load(origin, display, lambda: asked_recipe(recipe, "node", origin.dataset, asked))
            settled = asked_recipe(recipe, task or task_of(raw), origin.dataset, asked)
        if settled.training.precision != "32":
            fabric = make_fabric(device, settled.training.precision)
        if raw is None and not resume:
            _check_before_reading(settled, task, origin, path)
        if raw is None:
            origin, raw = _load(origin, display, lambda: settled)
        settled = settled.settled(raw)
        if resume:
            require_same_data(folder, raw)
            run = train_in(folder.path, settled, raw, device=fabric, display=display, loggers=loggers)
        else:
            if recipe is None and (hint := hint_at_recipes(settled, origin.dataset)):
                display.say(hint)
            path = path or free_path(Path("runs") / _default_name(raw, settled))
            free = asked if recipe is None else None  # a recipe that was named says all
            run = train_in(
                path, settled, raw, source=origin, device=fabric, display=display, loggers=loggers, asked=free
            )
        with translate_connection_errors():
            barrier_and_destroy(keep=is_called_by_group)
        if not is_first:
            return run
        if embed != NO_FILE:
            _write_embeddings(run, file, display)
        if evaluate:
            run = _evaluate_if_possible(run, display, loggers)
        for command in loggers.hints():
            display.say(f"Log: {command}")
    if report:
        report_run(run, no_scores=None if evaluate else "The run was trained with --no-evaluate.", progress=display)
    return run


def _write_embeddings(run: Run, file: Path | None, display: Display) -> None:
    """Write the embeddings into a file, or into the run folder, where a full disk is only reported."""
    try:
        own = run.path / (Path(EMBEDDINGS).stem if is_stored(run.data) else EMBEDDINGS)
        display.say(embed_run(run, out=file or own).notes()[0])
    except ExportError as error:
        if file is not None:
            raise
        display.say(f"Note: {error}")


def asked_recipe(recipe: GivenRecipe | None, task: Task, dataset: str | None, changes: Mapping[str, Any]) -> Recipe:
    """Return the recipe that was asked for, with its changes; by default that of the data set, or of the task."""
    method = changes.get("method.name", changes.get("method"))
    if isinstance(method, str) and not is_path(method) and method not in known_names("method"):
        raise unknown_name("method", method, available_methods(task))
    if recipe is None:
        recipe = "default" if _is_shipped("default", dataset) else {} if is_known(dataset) else {"feature_norm": "auto"}
    return load_recipe(recipe, dataset, changes.get("method.name"), task).updated(changes)


def _is_shipped(family: str, dataset: str | None) -> bool:
    return f"{family}/{dataset}".lower() in shipped_recipes()


def hint_at_recipes(recipe: Recipe, dataset: str | None) -> str | None:
    """Return a hint at settings for these data, if there are some that were not asked for."""
    method, spectral = recipe.method["name"], label_of(recipe.spectral)
    if not _is_shipped(method, dataset) or _is_shipped("default", dataset):
        return None
    same_map = "" if spectral == "none" else f" --spectral {spectral.replace(' + ', ',')}"
    best = ", --recipe best the best that we know" if _is_shipped("best", dataset) else ""
    return f"Settings are {method}'s defaults; --recipe {method}{same_map} has its authors' for {dataset}{best}."


def settled_recipe(
    folder: RunFolder, recipe: GivenRecipe | None, changes: Mapping[str, Any], dataset: str | None
) -> Recipe:
    """Return the recipe of a run to resume; settings that are given again must agree with it."""
    settled = load_recipe(folder.recipe_file)
    asked = load_recipe(settled if recipe is None else recipe, dataset, changes.get("method.name")).updated(changes)
    if asked.feature_norm == "auto":  # was chosen when the run began
        asked = asked.updated({"feature_norm": settled.feature_norm})
    if asked != settled:
        before, now = settled.by_path(), asked.by_path()
        different = ", ".join(sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key)))
        started = f"The run in {folder.path} was started with another value of {different}"
        raise InputError(f"{started}: resume it without that option, or start a new run in another --out.")
    return settled


def free_path(path: Path) -> Path:
    """Return ``path``, or the first of ``path-2``, ``path-3``, … that does not exist yet."""
    candidates = (path.with_name(f"{path.name}-{number}") for number in itertools.count(2))
    return path if not path.exists() else next(one for one in candidates if not one.exists())


def folder_name(*parts: str) -> str:
    """Return a name that no shell expands, of parts such as a method and a spectral layer.

    >>> folder_name("cora", "grace", "sfa (64 passes)")
    'cora-grace-sfa-64-passes'
    """
    return "-".join(re.sub(r"[^\w-]+", "-", part.replace("*", "-star")).strip("-") for part in parts)


def _default_name(data: Data, recipe: Recipe) -> str:
    # A file may name its data; that name must not decide the folder of the run.
    return folder_name(folder_name(data.name) or "graph", recipe.method["name"], recipe.spectral_label)


def _check_before_reading(recipe: Recipe, task: Task | None, source: Source, out: Path | None) -> None:
    """Raise what can be known to be wrong before the data are read, which takes minutes where images are decoded."""
    path = expand_user(source.dataset or "")
    name = path.resolve().name if path.is_dir() else path.stem
    pixel = Data(x=torch.zeros(1, 1, 1, 3, dtype=torch.uint8), name=name, task="image")
    if task == "image":
        recipe.build_for(pixel)
    if out is None:
        _check_out(free_path(Path("runs") / _default_name(pixel, recipe)))


def _check_out(path: Path) -> None:
    """Raise unless a run folder can be made at ``path``, leaving no trace; all processes wait for the first to look."""
    with translate_connection_errors():
        if rank() == 0:
            try:
                RunFolder.check_creatable(path)
            except InputError as error:
                folder = f"Cannot make the folder {path}: cannot write"
                raise InputError(str(error).replace("Cannot write", folder)) from error
        broadcast_object(path)


def _is_restart_of(path: Path) -> bool:
    """Tell whether torchrun has started these processes again, as its --max-restarts says, since the run began."""
    if not any_of(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0") != "0"):  # machines count their own failures
        return False
    try:
        return RunFolder.open(path).record.get("torchrun") == os.environ.get("TORCHELASTIC_RUN_ID")
    except InputError:  # there is no run yet
        return False


def _lock(path: Path, held: ExitStack) -> None:
    """Lock a folder that exists before long work starts; all processes wait for the first to have it."""
    with translate_connection_errors():
        if rank() == 0 and path.is_dir():
            held.enter_context(RunFolder(path).locked())
        broadcast_object(path)


def _load(source: Source, display: Display, recipe: Callable[[], Recipe]) -> tuple[Source, Data]:
    """Read the data, and say what was read; if they lack features, and the recipe's method uses none, make some."""
    try:
        data = source.load(display)
    except MissingFeaturesError:
        if not class_of_method(recipe().method["name"]).transductive:
            raise
        source = replace(source, node_features="degree")
        data = source.load(display)
    tell_of_data(data, display)
    return source, data


def _folder_to_resume(out: Path | None, source: Source, report: bool) -> tuple[RunFolder, Source]:
    """Open the folder of a run to go on with, and return it with the source of its data."""
    if out is None:
        raise InputError("--resume needs --out, the folder of the run to go on with.")
    folder = RunFolder.open(out)
    if report:
        ensure_writable(folder.path / REPORT)
    source.check()
    return folder, source if source.data is not None else recorded_source(folder, source.data_root)


def _evaluate_if_possible(run: Run, display: Display, loggers: Loggers) -> Run:
    """Score a run and log its scores; without usable labels, say why there are none, and measure its health."""
    protocol = usual_protocol(run.data)
    try:
        protocol.check(run.data)
    except InputError as error:
        display.say(f"No scores: {error}")
        return replace(run, scores=run.health())
    scores = evaluate_run(run, progress=display)
    assert not isinstance(scores, Health), "there are labels"
    own = scores.of[protocol.name][-1]
    logged = {metric: own.mean(metric) for metric in own.values}
    logged |= {f"{metric}_std": own.std(metric) for metric in own.values}
    loggers.log({"epoch": run.progress.epoch, "scores": {protocol.name: finite(logged)}})
    for warning in run.health().warnings:
        display.say(f"Note: {warning}")
    return replace(run, scores=scores)
