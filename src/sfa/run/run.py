"""A run: a recipe trained on data, in a folder of its own."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from sfa.errors import InputError, MissingFeaturesError
from sfa.evaluate import Protocol
from sfa.methods import Method
from sfa.registry import resolve
from sfa.run import explore
from sfa.run.display import Display, Rows, Shown, display_of, loss_curve
from sfa.run.explore import Found
from sfa.run.health import Health, health_of
from sfa.run.recipe import Recipe, load_recipe
from sfa.run.source import (
    Source,
    is_known,
    recorded,
    recorded_source,
    require_present,
    require_same_data,
    require_same_features,
    require_same_graph,
    with_labels,
)
from sfa.tasks import num_items, task_of
from sfa.train import Callback, Progress, RunFolder, load_checkpoint
from sfa.train.callbacks import FeatureStatistics
from sfa.train.optim import make_optimizer

if TYPE_CHECKING:
    from sfa.run.evaluate import Scores

SAMPLERS = ("whole", "neighbours", "starts", "random-nodes", "graphs", "images")  # whose seeds are the rows of a step


@dataclass(frozen=True, repr=False)
class Run(Shown):
    """A trained run with its data, ready for use: ``run.method.embed(run.data)`` gives the embeddings."""

    folder: RunFolder
    recipe: Recipe
    data: Data  # that it was trained on, with features as in training
    method: Method  # trained, on the CPU
    progress: Progress  # the epoch that training has reached
    scores: Scores | Health | None = None  # of the embeddings, if they were computed after training

    @property
    def name(self) -> str:
        """The method and its spectral layer."""
        return describe(self.recipe)

    @property
    def path(self) -> Path:
        return self.folder.path

    @cached_property
    def record(self) -> dict[str, Any]:
        """The content of ``run.json``."""
        return self.folder.record

    @cached_property
    def metrics(self) -> list[dict[str, Any]]:
        """A row for each epoch."""
        return self.folder.read_metrics()

    @cached_property
    def untrained(self) -> Method:
        """The method before its first epoch."""
        return self.recipe.build_for(self.data)

    @cached_property
    def checkpoint_digest(self) -> str:
        """SHA-256 of the checkpoint."""
        return hashlib.sha256(self.folder.checkpoint.read_bytes()).hexdigest()

    def digest(self, protocol: Protocol) -> str:
        """Return the digest of a protocol's settings and of its splits of these data, which are drawn once for it."""
        key = f"digest of {protocol!r}"
        if key not in self.__dict__:
            self.__dict__[key] = protocol.digest(self.data)
        return str(self.__dict__[key])

    @property
    def chance(self) -> float | None:
        """The loss of a step that tells nothing apart, if it is known."""
        learned = self.data.get("train_mask") if task_of(self.data) == "image" else None
        sampler, n = self.recipe.sampler, num_items(self.data) if learned is None else int(learned.sum())
        steps = math.ceil(n / sampler.get("batch_size", n)) * self.recipe.training.accumulate
        return self.method.chance_loss(max(2, round(n / steps))) if sampler["name"] in SAMPLERS else None

    def health(self) -> Health:
        """Measure the embeddings without labels, and say what looks wrong."""
        return health_of(self)

    def embedding(self) -> Tensor:
        """Compute the embeddings of the data, float32 ``(n, d)``."""
        return self.method.embed(self.data).detach().cpu().float()

    def neighbors(self, one: Any, k: int = 10) -> Found:
        """Find the ``k`` items most similar to one, given by its id."""
        return explore.neighbors(self, one, k)

    def suggest_links(self, k: int = 20, *, approximate: bool = False, progress: bool | Display = False) -> Found:
        """Find the ``k`` pairs of nodes that are most similar and have no edge; by faiss if ``approximate``."""
        return explore.missing_links(self, k, approximate=approximate, display=display_of(progress))

    def cluster(self, k: int | None = None) -> Found:
        """Cluster the items by k-means, by default into as many clusters as are apart best."""
        return explore.clusters(self, k)

    def tell_if_unfinished(self, display: Display) -> None:
        """Say so if training was interrupted and not resumed."""
        if not self.progress.finished:
            display.say(f"Note: this run stands at epoch {self.progress.epoch} of {self.recipe.training.epochs}.")

    def table(self) -> tuple[Sequence[str], Rows]:
        losses = [row["loss"] for row in self.metrics if isinstance(row.get("loss"), float)]
        cells = {
            "run": self.name,
            "data": str(self.data.name),
            "seed": str(self.recipe.training.seed),
            "epochs": f"{self.progress.epoch} of {self.recipe.training.epochs}",
            "loss": f"{losses[-1]:.4g}" if losses else "–",
            "folder": str(self.path),
        }
        return list(cells), [list(cells.values())]

    def notes(self) -> list[str]:
        return [] if self.scores is None else [repr(self.scores)]

    def _repr_html_(self) -> str:
        headings, rows = self.table()
        facts = "".join(f"<b>{escape(key)}</b> {escape(value)} " for key, value in zip(headings, rows[0], strict=True))
        curve = loss_curve([(row["epoch"], row.get("loss", math.nan)) for row in self.metrics])
        return f"<div><p>{facts}</p>{curve}{'' if self.scores is None else self.scores._repr_html_()}</div>"


def describe(recipe: Recipe) -> str:
    """Return a method and its spectral layer in a few words: ``grace + sfa``, ``grace + sfa (64 passes)``."""
    method, spectral = str(recipe.method["name"]), recipe.spectral_label
    return method if spectral == "none" else f"{method} + {spectral}"


def open_run(path: str | Path, **options: Any) -> Run:
    """Open a trained run; the options are those of :func:`open_runs`."""
    return open_runs([path], **options)[0]


def open_runs(
    runs: Sequence[Run | str | Path],
    *,
    data: Any = None,
    features: str | Path | None = None,
    labels: Any = None,
    data_root: str | Path | None = None,
) -> list[Run]:
    """Open several runs on the same data, which are read once; runs that are open stay as they are.

    The ``data`` are needed again if they were in memory, ``data`` or ``features`` if they have moved. ``labels`` is a
    table of ids and labels for runs that were trained without labels.
    """
    folders = [run.folder if isinstance(run, Run) else RunFolder.open(Path(run)) for run in runs]
    for folder in folders[1:]:
        if folder.record.get("fingerprint") != folders[0].record.get("fingerprint"):
            both = f"{folders[0].path} and {folder.path}"
            raise InputError(f"{both} were trained on different data: only scores on the same data can be compared.")
    closed = [folder for run, folder in zip(runs, folders, strict=True) if not isinstance(run, Run)]
    for folder in closed if data is None else ():
        if recorded_source(folder).data is None:
            raise InputError(f"{folder.path} was trained on data in memory: give them again, open_run(path, data=…).")
    read: Any = None
    if closed:
        source = recorded_source(closed[0], data_root, data=data, features=features)
        if source.labels is not None and labels is not None:  # they have moved
            source, labels = replace(source, labels=labels), None
        require_present(source, closed[0])
        encoding = closed[0].record.get("encoding") if features is not None else None  # so that order plays no part
        read = (replace(source, encode=encoding) if encoding else source).load()
    pairs = zip(runs, folders, strict=True)
    opened = [run if isinstance(run, Run) else _assemble(folder, read, own=True) for run, folder in pairs]
    return opened if labels is None else [replace(run, data=with_labels(run.data, labels)) for run in opened]


def open_for(folder: RunFolder, source: Source) -> Run:
    """Open a trained run with other data than its own, which must have the same features."""
    encoding = folder.record.get("encoding")
    if source.in_memory or source.features is not None or (encoding and not is_known(source.dataset)):
        source = replace(source, encode=encoding or "none")
    try:
        return _assemble(folder, _load_like(folder, source), own=False)
    except InputError as error:
        any_size, size = "for instance --image-size 64 (image_size=64)", folder.record.get("size")
        if any_size not in str(error) or not isinstance(size, list) or len(set(size)) != 1:
            raise
        asked = f"--image-size {size[0]}, the size that the run in {folder.path} was trained on"
        raise InputError(str(error).replace(any_size, asked)) from error


def _load_like(folder: RunFolder, source: Source) -> Data:
    """Read other data; where they have no features, make those that were made for the run's own."""
    try:
        return source.load()
    except MissingFeaturesError:
        if source.node_features is not None or not folder.record.get("features_of"):
            raise
        return replace(source, node_features=folder.record["features_of"]).load()


def _assemble(folder: RunFolder, data: Data, *, own: bool) -> Run:
    """Build the method for the data, which are the run's own or others, and load its weights."""
    recipe, trained = load_recipe(folder.recipe_file), f"the run in {folder.path} was trained on"
    if own:
        require_same_data(folder, data)
    elif task_of(data) == "node" and resolve("method", recipe.method["name"]).task == "graph":
        this = f"The run in {folder.path} embeds whole graphs, and {data.name} is one"
        raise InputError(f"{this}: put its file into a folder, which is a set.")
    else:
        require_same_graph(data, recorded(folder, "fingerprint", str))
    features_of = data.get("features_of") if own else folder.record.get("features_of", data.get("features_of"))
    require_same_features(data, recorded(folder, "in_features", int), features_of, trained)
    method = recipe.build_for(data)
    if method.transductive and data.num_nodes != recorded(folder, "nodes", int):
        learned = f"{recipe.method['name']} has learned the nodes of one graph by their numbers, and this is another"
        raise InputError(f"{learned}: train it on this graph, or choose a method with an encoder.")
    kept = FeatureStatistics()  # of runs since version 0.2.0; before, all data were normalized by their own
    progress = load_weights(folder, recipe, method, [kept])
    return Run(folder, recipe, recipe.prepare(data, kept.statistics), method.eval(), progress)


def load_weights(folder: RunFolder, recipe: Recipe, method: Method, callbacks: Sequence[Callback] = ()) -> Progress:
    """Load the weights of a run into a method, and return its progress; raise if any of its checkpoint is damaged."""
    training = recipe.training
    options = {"lr": training.lr, "weight_decay": training.weight_decay, "momentum": training.momentum}
    optimizer = make_optimizer(training.optimizer, method, **options)
    return load_checkpoint(folder.checkpoint, method, optimizer, callbacks, epochs=training.epochs)


def set_threads(threads: int | None) -> None:
    """Use so many CPU threads; keep PyTorch's choice if ``None`` is given."""
    if threads is not None:
        torch.set_num_threads(threads)
