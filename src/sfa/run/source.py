"""A run as the commands see it: where its graph came from, its recipe, its trained method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import UnionType
from typing import Any

import torch
from torch_geometric.data import Data

from sfa.data import find, fingerprint, left_out_remark, load, remark
from sfa.data.files.images import holds_images
from sfa.errors import InputError
from sfa.levels import Level, level_of
from sfa.registry import resolve
from sfa.run import load_recipe
from sfa.run.display import Display
from sfa.run.run import Run as Run
from sfa.train import RunFolder, load_checkpoint


@dataclass(frozen=True)
class Source:
    """Where a graph comes from, in the words of the command line."""

    data: str | None
    data_root: Path | None = None
    features: Path | None = None
    labels: Path | None = None
    node_features: str | None = None
    image_size: int | None = None
    skip_corrupt: bool = False

    def load(self, display: Display | None = None) -> Data:
        """Read the data; a folder of images shows how far it is."""
        if not self.data:
            raise InputError("Say which data to use: a data set's name (`sfa list datasets`) or a file.")
        with (display or Display(quiet=True)).counting("reading images") as count:
            return load(
                self.data,
                root=self.data_root,
                features=self.features,
                labels=self.labels,
                node_features=self.node_features,
                image_size=self.image_size,
                skip_corrupt=self.skip_corrupt,
                on_image=count,
            )

    def level(self) -> Level | None:
        """What there is to embed, where that is known without reading: in sets that have a name, and in images."""
        if not self.data:
            return None
        named = find(self.data)
        return named.level if named is not None else "image" if holds_images(self.data) else None

    def as_dict(self) -> dict[str, Any]:
        """For the run's record, with absolute paths where it names files."""
        data = self.data
        if data is not None and find(data) is None and Path(data).expanduser().exists():
            data = str(Path(data).expanduser().resolve())
        elif data is not None and ".py:" in data:  # file.py:function
            file, _, function = data.rpartition(":")
            data = f"{Path(file).expanduser().resolve()}:{function}"
        paths = {
            key: None if getattr(self, key) is None else str(Path(getattr(self, key)).expanduser().resolve())
            for key in _PATHS
        }
        return {**asdict(self), **paths, "data": data}


_PATHS = ("data_root", "features", "labels")
"""What a source says that is a file or folder, beside the data themselves."""
_KINDS: dict[str, type | UnionType] = {"image_size": int | None, "skip_corrupt": bool}
"""What it says that is no text, if it does."""


def open_run(path: Path, *, data_root: Path | None = None, source: Source | None = None) -> Run:
    """Load a trained run with its own graph, or with another one that has the same features."""
    folder = RunFolder.open(path)
    recipe = load_recipe(folder.recipe_file)
    graph = recorded_source(folder, data_root).load() if source is None else _load_other(source, folder)
    if source is None:
        require_same_data(folder, graph)
    expected = _recorded(folder, "in_features", int)
    if graph.num_features != expected:
        if level_of(graph) == "image":
            raise InputError(
                f"Channels of {graph.name}: {graph.num_features}; the run in {path} was trained on {expected}."
            )
        features = counted(graph.num_features, "feature")
        raise InputError(f"The graph has {features}; the run in {path} was trained on {expected}.")
    if source is not None and level_of(graph) == "node" and resolve("method", recipe.method["name"]).level == "graph":
        raise InputError(
            f"The run in {path} embeds whole graphs, and {graph.name} is one: put its file into a folder, "
            "which is a set."
        )
    _require_same_kind_of_features(folder, graph)
    method = recipe.build_for(graph)
    if method.transductive and graph.num_nodes != _recorded(folder, "nodes", int):
        raise InputError(
            f"{recipe.method['name']} has learnt the nodes of one graph by their numbers, and this is another: train "
            "it on this graph, or choose a method with an encoder."
        )
    progress = load_checkpoint(folder.checkpoint, method)
    return Run(folder, recipe, recipe.prepare(graph), method.eval(), progress)


def _load_other(source: Source, folder: RunFolder) -> Data:
    """Other data than the run's; if they are images of several sizes, the one of training is as good as any."""
    try:
        return source.load()
    except InputError as error:
        match folder.record.get("size"):
            case [int(height), int(width)] if height == width and _ANY_SIZE in str(error):
                asked = f"--image-size {height}, the size that the run in {folder.path} was trained on"
                raise InputError(str(error).replace(_ANY_SIZE, asked)) from error
        raise


_ANY_SIZE = "for instance --image-size 64 (image_size=64)"
"""What is said of images that have no size in common."""


def _require_same_kind_of_features(folder: RunFolder, graph: Data) -> None:
    """Columns that were made of the graph's structure mean something else than a graph's own, equally many or not."""
    trained_on, given = folder.record.get("features_of", graph.get("features_of")), graph.get("features_of")
    if trained_on != given:
        kinds = [f"{kind} features made for it" if kind else "features of its own" for kind in (given, trained_on)]
        raise InputError(f"{graph.name} has {kinds[0]}; the run in {folder.path} was trained on {kinds[1]}.")


def tell_if_unfinished(run: Run, display: Display) -> None:
    """Say so if training was interrupted and not resumed."""
    if not run.progress.finished:
        display.say(f"Note: this run stands at epoch {run.progress.epoch} of {run.recipe.training.epochs}.")


def tell_of_data(graph: Data, display: Display) -> None:
    """Say so if the features of nodes are not their own, or if images were left out."""
    for told in (remark(graph), left_out_remark(graph)):
        if told is not None:
            display.say(told)


def recorded_source(folder: RunFolder, data_root: Path | None = None) -> Source:
    """Where the run's graph came from; a data root given now replaces the recorded one."""
    recorded = _recorded(folder, "source", dict)
    if not all(isinstance(value, _KINDS.get(key, str | None)) for key, value in recorded.items()):
        raise InputError(f"{folder.path / 'run.json'} is damaged: its source does not hold what it should.")
    paths: dict[str, Any] = {key: None if recorded.get(key) is None else Path(recorded[key]) for key in _PATHS}
    if data_root is not None:
        paths["data_root"] = data_root
    others = {key: recorded[key] for key in ("node_features", *_KINDS) if key in recorded}
    return Source(recorded.get("data"), **paths, **others)


def _recorded(folder: RunFolder, key: str, kind: type) -> Any:
    value = folder.record.get(key)
    if not isinstance(value, kind):
        raise InputError(f"{folder.path / 'run.json'} is damaged: it does not say {key!r} as it should.")
    return value


def require_same_data(folder: RunFolder, graph: Data) -> None:
    """Raise if the graph is not the one the run was trained on."""
    if fingerprint(graph) != _recorded(folder, "fingerprint", str):
        raise InputError(f"The data of {folder.path} have changed since it was trained: train anew in another --out.")


def require_common_data(paths: Sequence[Path]) -> None:
    """Raise if runs that are to be set side by side were trained on different data."""
    first, *others = ((path, RunFolder.open(path).record.get("fingerprint")) for path in paths)
    for path, found in others:
        if found != first[1]:
            raise InputError(
                f"{first[0]} and {path} were trained on different data: only scores on the same data can be compared."
            )


def counted(number: int, what: str) -> str:
    """``1 image``, ``2 images``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def set_threads(threads: int | None) -> None:
    """Use so many CPU threads; leave PyTorch's choice if none is given."""
    if threads is not None:
        torch.set_num_threads(threads)
