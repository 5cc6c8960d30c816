"""Load data sets by name or by path: the door through which every graph and every image comes in."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.data.builtin import DESCRIPTIONS, Bundled, Origin
from sfa.data.convert import as_graph, as_graphs, is_one_graph
from sfa.data.downloads import PathLike, data_root
from sfa.data.image_sets import ArraySet, Digits
from sfa.data.imagenet import ImageNet100
from sfa.data.images import as_images
from sfa.data.pyg_sets import PREFIX, TuSet
from sfa.data.readers.graph import read_graph
from sfa.data.readers.image_arrays import read_image_arrays
from sfa.data.readers.image_folder import holds_images, read_image_folder, refuse_lone_images, refuse_options
from sfa.data.readers.tables import existing
from sfa.errors import InputError, SfaError, unknown_name
from sfa.registry import is_path, known_names, registered, resolve
from sfa.tasks import ITEMS, Task, task_attribute, task_of


@dataclass(frozen=True)
class DatasetInfo:
    """What is known of a data set without loading it."""

    name: str
    description: str
    """What it is, in one line."""
    bundled: bool = False
    """Whether it comes with the package."""
    task: Task | None = "node"
    """What there is to embed; None if only loading it tells."""
    downloaded: bool = True
    """Whether it is downloaded if it is not found on this machine."""
    loader: str | None = None
    """The function that loads it, if a user or an installed package registered one."""


@dataclass(frozen=True)
class LoadedByFunction:
    """A data set that a function of the user's loads: ``sfa.register("dataset", "my-set", load_my_set)``.

    Args:
        name: The name of the data set.
        function: Takes the folder of data sets, a ``Path`` (see :func:`~sfa.data.data_root`), and returns a PyG
            ``Data``: one graph, a batch of graphs, or images of :func:`~sfa.data.build_images`. A list of graphs and a
            PyG data set are taken as well. The first line of its docstring describes the data set in
            ``sfa list datasets``. Set ``function.task`` to ``"node"``, ``"graph"`` or ``"image"`` to show there what
            is embedded, and to have a command checked before the data are read.
    """

    name: str
    function: Callable[[Path], Any]

    @property
    def task(self) -> Task | None:
        task: Task | None = task_attribute(self.function)
        if task is not None and task not in ITEMS:
            raise unknown_name(f"task of the data set {self.name}", task, ITEMS)
        return task

    @property
    def loader(self) -> str:
        named = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return f"{self.function.__module__}.{named}"

    def locate(self, root: PathLike | None) -> None:
        return None

    def load(self, root: PathLike | None) -> Data:
        try:
            data = self._check(self.function(data_root(root)))
        except SfaError:
            raise
        except Exception as error:
            raise InputError(
                f"The data set {self.name} could not be loaded by {self.loader}: {type(error).__name__}: {error}"
            ) from error
        if self.task not in (None, task_of(data)):
            raise InputError(
                f"The data set {self.name} holds {ITEMS[task_of(data)]}: set {self.loader}.task to "
                f"{task_of(data)!r}, not to {self.task!r}."
            )
        return data

    def _check(self, loaded: Any) -> Data:
        if isinstance(loaded, Data) and task_of(loaded) == "image":
            images = as_images(loaded)
            images.name = self.name
            return images
        return as_graph(loaded, name=self.name) if is_one_graph(loaded) else as_graphs(loaded, name=self.name)


def names() -> list[DatasetInfo]:
    """Return the data sets known by name: the built-in ones, then those of installed packages and your own."""
    return [_info(name, _as_origin(name, part)) for name, part in registered("dataset").items()]


def find(name: PathLike) -> DatasetInfo | None:
    """Return what is known of the data set of this name, ``tu:NAME`` or ``module:function``; None if there is none."""
    origin = _origin(name)
    return None if origin is None else _info(os.fspath(name), origin)


def locate(name: str, root: PathLike | None = None) -> Path | None:
    """Return where a named data set would be read from, without reading it; None if it is not on this machine."""
    origin = _origin(name)
    if origin is None:
        raise unknown_name("data set", name, known_names("dataset"))
    return origin.locate(root)


def load(
    name_or_path: PathLike,
    *,
    root: PathLike | None = None,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    node_features: str | None = None,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    on_image: Callable[[int, int], None] | None = None,
) -> Data:
    """Return the graph, graph set or image set of a name (see `names`) or of a file or folder.

    A text is a name first, in any case; `tu:NAME`, in TU Dortmund's own case, is any TUDataset. `module:function`,
    `file.py:function` and the name of a registered function call it (see `LoadedByFunction`). Otherwise a text is a
    path if it has a suffix or a separator in it, or exists. Named sets are looked for under `root`, else under the
    folder in the environment variable SFA_DATA, in torch_geometric's layout (`Planetoid/CiteSeer/raw/…`,
    `TUDataset/NCI1/raw/…`), OGB's (`ogbn_arxiv/raw/…`) or CIFAR's (`cifar-10-batches-bin/…`), then in the cache, into
    which they are downloaded if need be. Their public splits are `train_mask`, `val_mask` and `test_mask`, [n] or
    [n, splits].

    `features`, `labels` and `node_features` are for files of graphs: see `read_graph`. A graph set without features
    gets `degree` ones unasked, and `sfa.data.remark` says so. The other options are for folders of images: see
    `read_image_folder`.
    """
    origin = _origin(name_or_path)
    for_folders: dict[str, Any] = {"image_size": image_size, "skip_corrupt": skip_corrupt}
    if origin is None:
        if not _is_path(name_or_path):
            name = repr(name_or_path)
            unknown = str(unknown_name("data set", name_or_path, known_names("dataset")))
            raise InputError(unknown.replace(name, f"{name}, and there is no file or folder of that name", 1))
        if holds_images(name_or_path):
            refuse_options(f"{name_or_path} holds images", features=features, node_features=node_features)
            path = Path(name_or_path).expanduser()
            if path.is_dir():
                return read_image_folder(path, labels=labels, on_image=on_image, **for_folders)
            refuse_options(f"{path} is no folder of images", **for_folders)
            return read_image_arrays(path, labels=labels)
        path = existing(name_or_path, "graph", or_folder=True)
        refuse_lone_images(path)
        refuse_options(f"{path} is no folder of images", **for_folders)
        return read_graph(name_or_path, features=features, labels=labels, node_features=node_features)
    if not isinstance(origin, ImageNet100):
        refuse_options(f"The data set {name_or_path} is no folder of images", **for_folders)
    refuse_options(
        f"The data set {name_or_path} has its own {'labels' if origin.task == 'image' else 'features and labels'}",
        ": others are given only with a file's path",
        features=features,
        labels=labels,
        node_features=node_features,
    )
    if isinstance(origin, ImageNet100):
        return origin.load(root, on_image=on_image, **for_folders)
    return origin.load(root)


def _info(name: str, origin: Origin) -> DatasetInfo:
    if isinstance(origin, LoadedByFunction):
        description = next(iter((inspect.getdoc(origin.function) or "").splitlines()), "")
        return DatasetInfo(name, description, task=origin.task, downloaded=False, loader=origin.loader)
    return DatasetInfo(
        name,
        DESCRIPTIONS.get(name, ""),
        bundled=isinstance(origin, (Bundled, Digits)),
        task=origin.task,
        downloaded=not isinstance(origin, (Bundled, Digits, ArraySet, ImageNet100)),
    )


def _as_origin(name: str, part: Any) -> Origin:
    """Return a registered data set as an origin, which the built-in ones are; of others it is the function to call."""
    if callable(part) and not isinstance(part, Data):
        return LoadedByFunction(name, part)
    if not (hasattr(part, "load") and hasattr(part, "locate")):
        raise InputError(
            f"The data set {name} is registered as {part!r}: register a function that takes a folder and returns a "
            "torch_geometric Data."
        )
    origin: Origin = part
    return origin


def _origin(name: PathLike) -> Origin | None:
    """Return where the data set of this name comes from, None if there is no such; a Path object is never a name."""
    if not isinstance(name, str):
        return None
    if name.lower().startswith(PREFIX):
        given = TuSet.parse(name)
        named = (one for one in registered("dataset").values() if isinstance(one, TuSet) and one.folder == given.folder)
        return next(named, given)
    if is_path(name) and not Path(name).exists():
        return _as_origin(name.rpartition(":")[2], resolve("dataset", name))
    known = known_names("dataset")
    found = name if name in known else name.lower()
    return _as_origin(found, resolve("dataset", found)) if found in known else None


def _is_path(given: PathLike) -> bool:
    if not isinstance(given, str):
        return True
    has_separator = os.sep in given or (os.altsep is not None and os.altsep in given)
    return has_separator or bool(Path(given).suffix) or Path(given).exists()
