"""Load data sets by name or by path: every graph and every image comes in here."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

import sfa.data.builtin  # noqa: F401  (registers them)
from sfa.data.convert import as_graph, as_graphs, is_one_graph
from sfa.data.downloads import NamedDataset, existing
from sfa.data.image_sets import ImageNet100
from sfa.data.images import as_images
from sfa.data.pyg_sets import PREFIX, TuSet
from sfa.data.readers.graph import read_graph
from sfa.data.readers.image_arrays import read_image_arrays
from sfa.data.readers.image_file import SUFFIXES as IMAGE_SUFFIXES
from sfa.data.readers.image_folder import holds_images, read_image_folder
from sfa.errors import InputError, SfaError, unknown_name
from sfa.folders import PathLike, data_root
from sfa.registry import is_path, known_names, registered, resolve
from sfa.tasks import ITEMS, task_attribute, task_of


@dataclass
class LoadedByFunction(NamedDataset):
    """A data set that a function of the user's loads: ``sfa.register("dataset", "my-set", load_my_set)``.

    Args:
        name: The name of the data set.
        function: Takes the folder of data sets, a ``Path`` (see :func:`~sfa.data.data_root`), and returns a PyG
            ``Data`` (one graph, a batch of graphs, or images of :func:`~sfa.data.build_images`), a list of graphs or a
            PyG data set. The first line of its docstring describes it in ``sfa list datasets``. Set ``function.task``
            to ``"node"``, ``"graph"`` or ``"image"`` to have a command checked before the data are read.
    """

    name: str
    function: Callable[[Path], Any]
    downloaded = False

    def __post_init__(self) -> None:
        self.task = task_attribute(self.function)
        if self.task not in (None, *ITEMS):
            raise unknown_name(f"task of the data set {self.name}", self.task, ITEMS)
        named = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        self.loader = f"{self.function.__module__}.{named}"
        self.description = next(iter((inspect.getdoc(self.function) or "").splitlines()), "")

    def locate(self, root: PathLike | None) -> None:
        return None

    def load(self, root: PathLike | None, **options: Any) -> Data:
        try:
            loaded = self.function(data_root(root))
            if isinstance(loaded, Data) and task_of(loaded) == "image":
                data = as_images(loaded)
                data.name = self.name
            else:
                data = (as_graph if is_one_graph(loaded) else as_graphs)(loaded, name=self.name)
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


def names() -> list[NamedDataset]:
    """Return the data sets known by name: the built-in ones, then those of installed packages and your own."""
    return [_as_dataset(name, part) for name, part in registered("dataset").items()]


def find(name: PathLike) -> NamedDataset | None:
    """Return the data set of this name, ``tu:NAME`` or ``module:function``, None if there is none or it is a Path."""
    if not isinstance(name, str):
        return None
    if name.lower().startswith(PREFIX):
        given = TuSet.parse(name)
        named = (one for one in registered("dataset").values() if isinstance(one, TuSet) and one.folder == given.folder)
        return next(named, given)
    if is_path(name) and not Path(name).exists():
        return _as_dataset(name.rpartition(":")[2], resolve("dataset", name))
    known = known_names("dataset")
    found = name if name in known else name.lower()
    return _as_dataset(found, resolve("dataset", found)) if found in known else None


def locate(name: str, root: PathLike | None = None) -> Path | None:
    """Return where a named data set would be read from, without reading it; None if it is not on this machine."""
    dataset = find(name)
    if dataset is None:
        raise unknown_name("data set", name, known_names("dataset"))
    return dataset.locate(root)


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
    folder in the environment variable SFA_DATA (`Planetoid/CiteSeer/raw/…`, `ogbn_arxiv/raw/…`,
    `cifar-10-batches-bin/…`), then in the cache, into which they are downloaded if need be. Their public splits are
    `train_mask`, `val_mask` and `test_mask`, [n] or [n, splits].

    `features`, `labels` and `node_features` are for files of graphs: see `read_graph`. A graph set without features
    gets `degree` ones unasked, and `sfa.data.remark` says so. The other options are for folders of images: see
    `read_image_folder`.
    """
    of_graphs: dict[str, Any] = {"features": features, "labels": labels, "node_features": node_features}
    of_folders: dict[str, Any] = {"image_size": image_size, "skip_corrupt": skip_corrupt}
    dataset = find(name_or_path)
    if dataset is not None:
        own = "labels" if dataset.task == "image" else "features and labels"
        others = ": others are given only with a file's path"
        _refuse(f"The data set {name_or_path} has its own {own}", others, **of_graphs)
        if isinstance(dataset, ImageNet100):
            return dataset.load(root, on_image=on_image, **of_folders)
        _refuse(f"The data set {name_or_path} is no folder of images", **of_folders)
        return dataset.load(root)
    has_separator = not isinstance(name_or_path, str) or "/" in name_or_path or os.sep in name_or_path
    if not has_separator and not Path(name_or_path).suffix and not Path(name_or_path).exists():
        name = repr(name_or_path)
        unknown = str(unknown_name("data set", name_or_path, known_names("dataset")))
        raise InputError(unknown.replace(name, f"{name}, and there is no file or folder of that name", 1))
    path = existing(name_or_path, "graph", or_folder=True)
    if path.is_file() and path.suffix.lower() in IMAGE_SUFFIXES:
        raise InputError(f"{path} is one image, and one image is no set: give its folder, {path.parent}.")
    is_of_images = holds_images(path)
    if is_of_images:
        _refuse(f"{path} holds images", features=features, node_features=node_features)
        if path.is_dir():
            return read_image_folder(path, labels=labels, on_image=on_image, **of_folders)
    _refuse(f"{path} is no folder of images", **of_folders)
    return read_image_arrays(path, labels=labels) if is_of_images else read_graph(path, **of_graphs)


def _refuse(because: str, hint: str = "", **given: object) -> None:
    """Raise if options are given for which there is no use."""
    names = [name for name, value in given.items() if value is not None and value is not False]
    if names:
        in_python = " and ".join(f"{name}=" for name in names)
        options = ", ".join("--" + name.replace("_", "-") for name in names)
        raise InputError(f"{because}, so leave out {in_python} ({options}){hint}.")


def _as_dataset(name: str, part: Any) -> NamedDataset:
    """Return a registered part as a data set, which the built-in ones are; others are functions to call."""
    if isinstance(part, NamedDataset):
        return part
    if callable(part) and not isinstance(part, Data):
        return LoadedByFunction(name, part)
    raise InputError(
        f"The data set {name} is registered as {part!r}: register a function that takes a folder and returns a "
        "torch_geometric Data."
    )
