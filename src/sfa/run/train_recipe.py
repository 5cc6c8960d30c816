"""Train a recipe in a run folder, and show how it goes."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch_geometric.data import Data

from sfa.data import fingerprint
from sfa.distributed import broadcast_object, enable_cross_rank, rank, translate_connection_errors, world_size
from sfa.errors import InputError
from sfa.evaluate.online_probe import OnlineProbe
from sfa.evaluate.probes.base import RANKS
from sfa.graph.features import MEANINGS
from sfa.methods import Method
from sfa.registry import resolve
from sfa.run.display import Display, counted
from sfa.run.large import NODES, in_batches, require_memory_for
from sfa.run.recipe import Recipe
from sfa.run.run import Run, describe, load_weights
from sfa.run.sections import names_of
from sfa.run.source import Source
from sfa.sampling import Sampler
from sfa.tasks import item_word, num_items, settings_of, task_of
from sfa.train import Callback, LambdaCallback, LoggerCallback, OnlineProbeCallback, RunFolder, train
from sfa.train.callbacks import FeatureStatistics
from sfa.train.loggers import Loggers
from sfa.train.loop import make_fabric

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def record_of(recipe: Recipe, data: Data, source: Mapping[str, Any]) -> dict[str, Any]:
    """Return the description of the data in a run folder; ``source`` says where they come from."""
    return {
        "source": dict(source),
        "fingerprint": fingerprint(data),
        item_word(data): num_items(data),
        **({"nodes": data.num_nodes} if task_of(data) == "graph" else {}),
        **({"size": list(data.x.shape[1:3])} if task_of(data) == "image" else {}),
        "in_features": data.num_features,
        "features": recipe.preparation,
        "features_of": data.get("features_of"),
        **({"encoding": data.encoding} if data.get("encoding") else {}),
        "seed": recipe.training.seed,
    }


Setup = tuple[Method, Data, Sampler, list[Callback]]


def set_up(recipe: Recipe, data: Data) -> Setup:
    """Build all that training needs, once, as making a sampler may take long; raise if something does not fit."""
    training, method, statistics = recipe.training, recipe.build_for(data), recipe.statistics(data)
    callbacks: list[Callback] = [FeatureStatistics(statistics)] if statistics else []
    prepared = recipe.prepare(data, statistics)
    if training.online_probe:
        try:
            probe = OnlineProbe(method.width, prepared, epochs=training.epochs, seed=training.seed)
            callbacks.append(OnlineProbeCallback(probe))
        except InputError as error:
            raise InputError(f"--online-probe is not possible here: {error}") from error
    return method, prepared, recipe.make_sampler()(prepared), callbacks


def open_or_create_folder(path: Path, recipe: Recipe, data: Data, source: Mapping[str, Any]) -> RunFolder:
    """Open the run folder at ``path``, or make it in place of one that is incomplete or of another version."""
    with suppress(InputError):
        return RunFolder.open(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(path, ignore_errors=True)
    recipe = recipe.settled(data)
    return RunFolder.create(path, recipe.as_dict(), record_of(recipe, data, source))


def train_recipe(
    recipe: Recipe,
    data: Data,
    folder: RunFolder,
    *,
    device: str | Fabric,
    resume: bool,
    callbacks: Sequence[Callback] = (),
    setup: Setup | None = None,
) -> Run:
    """Train in an existing folder, or go on there; ``callbacks`` as in :func:`sfa.train.train`."""
    recipe = recipe.settled(data)
    method, prepared, sampler, own = setup or set_up(recipe, data)
    progress = train(
        method,
        prepared,
        **recipe.training.arguments,
        device=device,
        folder=folder,
        resume=resume,
        sampler=lambda _: sampler,
        callbacks=[*own, *callbacks],
    )
    return Run(folder, recipe, prepared, method.cpu().eval(), progress)


def train_in(
    path: Path,
    recipe: Recipe,
    data: Data,
    *,
    source: Source | None = None,
    device: str | Fabric,
    display: Display,
    loggers: Loggers | None = None,
    asked: Collection[str] | None = None,
) -> Run:
    """Make a run folder for data from a ``source`` and train in it, or go on in one, and show how it goes.

    Where ``asked`` are the settings that the user asked for, by path, others may be changed for a large graph.
    """
    fabric, resume = make_fabric(device, recipe.training.precision), source is None
    method, prepared, sampler, own = set_up(recipe, data)
    if asked is not None:
        suited = in_batches(recipe, method, prepared, asked, display.say, fabric.device)
        sampler, recipe = (sampler if suited == recipe else suited.make_sampler()(prepared)), suited
    training, setup = recipe.training, (method, prepared, sampler, own)
    require_memory_for(method, prepared, sampler, training, fabric.device)
    if source is not None:
        if world_size() > 1:
            enable_cross_rank(method)
        record = record_of(recipe, data, source.as_dict())
        with translate_connection_errors():
            if rank() == 0:
                RunFolder.create(path, recipe.as_dict(), record)
            path = broadcast_object(path)  # waits until the first process has made it
    folder = RunFolder.open(path)
    display.say(f"{data.name}: {_size_of(data, recipe, method.describe_weights(prepared))}")
    display.say(f"{describe(recipe)}, seed {training.seed}, in {folder.path}{_unusual_parts(recipe)}")
    done: list[dict[str, Any]] = []
    if resume and folder.checkpoint.exists():
        progress = load_weights(folder, recipe, method)  # before anything is changed
        done = [row for row in folder.read_metrics() if row["epoch"] <= progress.epoch]
        where = "Training is done already, at" if progress.finished else "Going on from"
        display.say(f"{where} epoch {progress.epoch}.")
    elif resume:
        display.say("No checkpoint yet: from the start.")
    if loggers is not None:
        loggers.open(folder.path, recipe.as_dict(), done)
    if num_items(data) > NODES and type(method).before_training is not Method.before_training:
        display.say(f"{recipe.method['name']} looks at all data before the first step.")
    with training_progress(display, "training", training.epochs) as shown:
        callbacks = [shown, *([] if loggers is None else [LoggerCallback(loggers)])]
        run = train_recipe(recipe, data, folder, device=fabric, resume=resume, callbacks=callbacks, setup=setup)
    if training.online_probe and rank() == 0:  # the first process alone writes metrics
        display.say(f"Online probe: {_of_probe(run.metrics[-1].get('online', {}))}")
    if run.progress.epoch < training.epochs:
        patience = counted(training.patience or 0, "epoch")
        display.say(f"Stopped at epoch {run.progress.epoch}: no progress for {patience}.")
    for remark in run.method.remarks():
        display.say(remark)
    return run


@contextmanager
def training_progress(display: Display, title: str, epochs: int) -> Iterator[Callback]:
    """Return a callback that shows the epochs and the loss."""
    with display.progress(title, epochs) as tracker:
        step = tracker.step
        yield LambdaCallback(
            on_train_start=lambda _: tracker.restart(),
            on_step_end=lambda state: step(state.epochs_done, of=state.num_steps, loss=state.loss),
        )


def _of_probe(online: Mapping[str, float]) -> str:
    """Return the last accuracies of an online probe, on the views and on images held out."""
    words = {"train": "of the views", "validation": "of held-out training images"}
    parts = [f"{online[key]:.2f} % {what}" for key, what in words.items() if key in online]
    top = online.get(f"validation_top{RANKS}")
    return ", ".join(parts) + ("" if top is None else f" (top-{RANKS} {top:.2f} %)")


def _size_of(data: Data, recipe: Recipe, weighting: str | None) -> str:
    """Return the size of the data, and what is done to their features, by the method itself in the end."""
    if task_of(data) == "image":
        height, width = data.x.shape[1:3]
        parts = {"to train on": data.get("train_mask"), "to test on": data.get("test_mask")}
        counts = "".join(f", {int(mask.sum())} {what}" for what, mask in parts.items() if mask is not None)
        images, channels = counted(num_items(data), "image"), counted(data.num_features, "channel")
        return f"{images} of {height} × {width} pixels, {channels}{counts}"
    sizes = {"graph": num_items(data)} if task_of(data) == "graph" else {}
    sizes |= {"node": data.num_nodes, "edge": data.num_edges // 2, "feature": data.num_features}
    none, first = MEANINGS["none"], recipe.preparation
    steps = [weighting or none] if first == none else [first, weighting if weighting != first else None]
    return ", ".join([*(counted(size, what) for what, size in sizes.items()), ", then ".join(filter(None, steps))])


def _unusual_parts(recipe: Recipe) -> str:
    """Return the encoder and augmentation if they are not the method's default, the batches, and the processes."""
    sampler, usual = recipe.sampler, settings_of(resolve("method", recipe.method["name"]))
    parts = {"encoder": recipe.encoder, "augmentation": recipe.augmentation}
    names = {kind: names_of(part) for kind, part in parts.items() if part is not None}
    others = [f", {kind} {name}" for kind, name in names.items() if name != names_of(usual[kind])]
    if sampler["name"] != "whole":
        others.append(f", batches of {max(2, sampler.get('batch_size', 2))} ({sampler['name']})")
    return "".join(others) + ("" if world_size() == 1 else f", {world_size()} processes")
