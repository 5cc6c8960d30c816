"""Load data sets by name or by path: every graph and every image comes in here."""

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from sfa.data.convert import as_graph, as_graphs, is_one_graph
from sfa.data.downloads import DatasetInfo, explained
from sfa.data.encode import Encode
from sfa.data.image_sets import CIFAR10, CIFAR100, DIGITS, IMAGENET100, LocalSet
from sfa.data.images import as_images, read_image_arrays
from sfa.data.pyg_sets import OgbSet, PygSet, TuSet
from sfa.data.readers.edge_list import EdgeColumns
from sfa.data.readers.graph import read_graph
from sfa.data.readers.image_file import SUFFIXES as IMAGE_SUFFIXES
from sfa.data.readers.image_folder import holds_images, read_image_folder
from sfa.data.store import is_store, open_store
from sfa.errors import InputError, SfaError, unknown_name
from sfa.folders import PathLike, data_root, existing, no_such_data
from sfa.registry import is_path, known_names, register, registered, resolve
from sfa.tasks import ITEMS, task_attribute, task_of

PYG = {
    "Planetoid/CiteSeer": "Citations among 3327 papers on computer science; 3703 words, 6 subjects",
    "Planetoid/PubMed": "Citations among 19717 papers on diabetes; 500 word weights, 3 kinds",
    "Amazon/Photo": "7650 photo goods of Amazon bought together; 745 review words, 8 categories",
    "Amazon/Computers": "13752 computer goods of Amazon bought together; 767 review words, 10 categories",
    "WikiCS": "Links among 11701 Wikipedia articles on computer science; 300 features, 10 fields",
    "Coauthor/CS": "18333 authors in computer science who wrote together; 6805 keywords, 15 fields",
    "Coauthor/Physics": "34493 authors in physics who wrote together; 8415 keywords, 5 fields",
}
"""Descriptions of sets by torch_geometric's class and, if there are several, its name of the set."""
HETEROPHILOUS = {
    "Actor": "7600 actors on the same Wikipedia pages; 932 keywords, 5 kinds",
    "WikipediaNetwork/chameleon": "Links among 2277 Wikipedia articles on chameleons; 2325 nouns, 5 levels of traffic",
    "WikipediaNetwork/squirrel": "Links among 5201 Wikipedia articles on squirrels; 2089 nouns, 5 levels of traffic",
    "WebKB/cornell": "Links among 183 web pages of a university; 1703 words, 5 kinds",
    "WebKB/texas": "Links among 183 web pages of a university; 1703 words, 5 kinds",
    "WebKB/wisconsin": "Links among 251 web pages of a university; 1703 words, 5 kinds",
    "HeterophilousGraphDataset/roman_empire": "22662 words of an article, by syntax; 300 features, 18 roles",
    "HeterophilousGraphDataset/amazon_ratings": "24492 goods of Amazon bought together; 300 features, 5 ratings",
    "HeterophilousGraphDataset/minesweeper": "The 10000 cells of a game's grid; 7 features, mine or not",
    "HeterophilousGraphDataset/tolokers": "11758 crowd workers on the same tasks; 10 features, banned or not",
    "HeterophilousGraphDataset/questions": "48921 users who answered each other; 301 features, active or not",
}
TU = {
    "NCI1": "4110 graphs: molecules; 37 kinds of atoms, active against lung cancer or not",
    "NCI109": "4127 graphs: molecules; 38 kinds of atoms, active against ovarian cancer or not",
    "PROTEINS": "1113 graphs: proteins; 3 kinds of structure elements, enzyme or not",
    "DD": "1178 graphs: proteins; 89 kinds of amino acids, enzyme or not",
    "ENZYMES": "600 graphs: proteins; 3 kinds of structure elements, 6 classes of enzymes",
    "PTC_MR": "344 graphs: molecules; 18 kinds of atoms, carcinogenic to male rats or not",
    "IMDB-BINARY": "1000 graphs: actors around one actor; no features, 2 genres",
    "IMDB-MULTI": "1500 graphs: actors around one actor; no features, 3 genres",
    "REDDIT-BINARY": "2000 graphs: users of a thread who answered each other; no features, 2 kinds of forums",
    "REDDIT-MULTI-5K": "4999 graphs: users of a thread who answered each other; no features, 5 forums",
    "COLLAB": "5000 graphs: researchers around one researcher; no features, 3 fields of physics",
}


@dataclass
class LoadedByFunction(DatasetInfo):
    """A data set that a function of the user's loads: ``sfa.register("dataset", "my-set", load_my_set)``.

    The function takes the folder of data sets, a ``Path``, and returns a PyG ``Data`` (one graph, a batch of graphs, or
    images of :func:`~sfa.data.build_images`), a list of graphs or a PyG data set. The first line of its docstring
    describes it. Set ``function.task`` to have a command checked before the data are read.
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
            is_of_images = isinstance(loaded, Data) and task_of(loaded) == "image"
            data = (as_images if is_of_images else as_graph if is_one_graph(loaded) else as_graphs)(loaded)
            data.name = self.name
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


def names() -> list[DatasetInfo]:
    """Return the data sets known by name: the built-in ones, then those of installed packages and your own."""
    return [_as_dataset(name, part) for name, part in registered("dataset").items()]


def find(name: PathLike) -> DatasetInfo | None:
    """Return the data set of this name, ``tu:NAME`` or ``module:function``, None if there is none or it is a Path."""
    if not isinstance(name, str):
        return None
    if name.lower().startswith("tu:"):
        own = name[len("tu:") :]
        if not re.fullmatch(r"[\w-]+", own, re.ASCII):
            raise InputError(f"{name!r} is no data set: after tu: comes the name of a TUDataset, for instance tu:NCI1.")
        known_sets = (one for one in registered("dataset").values() if isinstance(one, TuSet))
        return next((one for one in known_sets if one.own_name == own), TuSet(name, own))
    if is_path(name) and not os.path.exists(name):
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


@explained
def load(
    name_or_path: PathLike,
    *,
    root: PathLike | None = None,
    features: PathLike | None = None,
    labels: PathLike | None = None,
    node_features: str | None = None,
    image_size: int | None = None,
    skip_corrupt: bool = False,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    bipartite: bool = False,
    encode: Encode = None,
    on_image: Callable[[int, int], None] | None = None,
) -> Data:
    """Return the graph, graph set or image set of a name (see `names`) or of a file or folder, such as a graph store.

    A text is a name first, in any case; `tu:NAME`, in TU Dortmund's own case, is any TUDataset. `module:function`,
    `file.py:function` and the name of a registered function call it. Otherwise a text is a path if it has a suffix or
    a separator in it, or exists. Named sets are looked for under `root`, else under the folder in the environment
    variable SFA_DATA (`Planetoid/CiteSeer/raw/…`), then in the cache, into which they are downloaded if need be.

    For `features`, `labels`, `node_features` and `encode` see `read_graph`, for `source`, `target`, `weight` and
    `bipartite`, of edge lists, `EdgeColumns`, for the other options `read_image_folder`. `sfa.data.describe` says what
    was read. A graph set without features gets `degree` ones unasked, and `sfa.data.remark` says so.
    """
    of_graphs: dict[str, Any] = {"features": features, "labels": labels, "node_features": node_features}
    of_graphs["encode"] = encode
    columns = EdgeColumns(source, target, weight, bipartite)
    of_folders: dict[str, Any] = {"image_size": image_size, "skip_corrupt": skip_corrupt}
    dataset = find(name_or_path)
    if dataset is not None:
        own = "labels" if dataset.task == "image" else "features and labels"
        others = ": others are given only with a file's path"
        _refuse(f"The data set {name_or_path} has its own {own}", others, **of_graphs, **columns.given)
        if dataset is IMAGENET100:
            return dataset.load(root, on_image=on_image, **of_folders)
        _refuse(f"The data set {name_or_path} is no folder of images", **of_folders)
        return dataset.load(root)
    has_separator = not isinstance(name_or_path, str) or "/" in name_or_path or os.sep in name_or_path
    if not has_separator and not Path(name_or_path).suffix and not os.path.exists(name_or_path):
        raise no_such_data(name_or_path, known_names("dataset"))
    path = existing(name_or_path, "graph", or_folder=True)
    if path.is_file() and path.suffix.lower() in IMAGE_SUFFIXES:
        raise InputError(f"{path} is one image, and one image is no set: give its folder, {path.parent}.")
    if is_store(path):
        of_graphs.pop("encode")  # what is stored are numbers
        _refuse(f"{path} is a graph store, which holds all of its graph", **of_graphs, **columns.given, **of_folders)
        return open_store(path)
    is_of_images = holds_images(path)
    if is_of_images:
        of_nodes = {key: value for key, value in of_graphs.items() if key != "labels"}
        _refuse(f"{path} holds images", **of_nodes, **columns.given)
        if path.is_dir():
            return read_image_folder(path, labels=labels, on_image=on_image, **of_folders)
    _refuse(f"{path} is no folder of images", **of_folders)
    return read_image_arrays(path, labels=labels) if is_of_images else read_graph(path, **of_graphs, columns=columns)


def _refuse(because: str, hint: str = "", **given: object) -> None:
    """Raise if options are given for which there is no use."""
    names = [name for name, value in given.items() if value is not None and value is not False]
    if names:
        in_python = " and ".join(f"{name}=" for name in names)
        options = ", ".join("--" + name.replace("_", "-") for name in names)
        raise InputError(f"{because}, so leave out {in_python} ({options}){hint}.")


def _as_dataset(name: str, part: Any) -> DatasetInfo:
    """Return a registered part as a data set, which the built-in ones are; others are functions to call."""
    if isinstance(part, DatasetInfo):
        return part
    if callable(part) and not isinstance(part, Data):
        return LoadedByFunction(name, part)
    raise InputError(
        f"The data set {name} is registered as {part!r}: register a function that takes a folder and returns a "
        "torch_geometric Data."
    )


def _pyg_set(folder: str) -> PygSet:
    kind, *own = folder.split("/")
    name = (own or [kind])[0].lower().replace("_", "-")
    folder = f"{folder}/geom_gcn" if kind == "WikipediaNetwork" else folder
    return PygSet(f"coauthor-{name}" if kind == "Coauthor" else name, folder)


def _subset(name: str, file: str) -> LocalSet:
    return LocalSet(name, read_image_arrays, places=(f"images/{file}",))


_CORA, _MUTAG = (Path(__file__).parent / "bundled" / f"{name}.npz" for name in ("cora", "mutag"))
_DATASETS: tuple[tuple[DatasetInfo, str], ...] = (
    (
        LocalSet("cora", read_graph, "node", _CORA),
        "Citations among 2708 papers on machine learning; 1433 words, 7 subjects",
    ),
    *((_pyg_set(folder), text) for folder, text in PYG.items()),
    (OgbSet("ogbn-arxiv", "time"), "Citations among 169343 papers on computer science; 128 features, 40 subjects"),
    *((_pyg_set(folder), f"{text}; heterophilous") for folder, text in HETEROPHILOUS.items()),
    (LocalSet("mutag", read_graph, "graph", _MUTAG), "188 graphs: molecules; 7 kinds of atoms, mutagenic or not"),
    *((TuSet(own.lower().replace("_", "-"), own), text) for own, text in TU.items()),
    (DIGITS, "1797 images: handwritten digits, 8 × 8, gray; 10 digits"),
    (CIFAR10, "60000 images: photographs, 32 × 32, in color; 10 kinds of animals and vehicles"),
    (CIFAR100, "60000 images: photographs, 32 × 32, in color; 100 kinds of things"),
    (_subset("cifar10-subset", "cifar10_15000_5000.npz"), "20000 images of CIFAR-10, 15000 of them for training"),
    (_subset("cifar100-subset", "cifar100_5000_2000.npz"), "7000 images of CIFAR-100, 5000 of them for training"),
    (IMAGENET100, "Images: photographs of ImageNet, brought to 224 × 224; 100 kinds of things; never downloaded"),
)
for _dataset, _description in _DATASETS:
    _dataset.description = _description
    register("dataset", _dataset.name, _dataset)
