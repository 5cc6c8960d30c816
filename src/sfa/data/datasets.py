"""Data sets by name or by path: the door through which every graph and every image comes in."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from torch_geometric.data import Data

from sfa.data.array_sets import ArraySet
from sfa.data.cifar import CIFAR10, CIFAR100
from sfa.data.digits import Digits
from sfa.data.files import read_graph
from sfa.data.files.graph_file import existing
from sfa.data.files.images import holds_images, options, read_images, refuse_folder_options, refuse_lone_images
from sfa.data.imagenet import ImageNet100
from sfa.data.ogb_sets import OgbSet
from sfa.data.pyg_sets import PygSet
from sfa.data.tu_sets import PREFIX, TuSet
from sfa.errors import InputError, unknown_name
from sfa.levels import Level

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class DatasetInfo:
    """A data set's name, what it is in one line, whether it comes with the package, what there is to embed, and whether
    it is downloaded if it is not found on this machine."""

    name: str
    description: str
    bundled: bool = False
    level: Level = "node"
    downloaded: bool = True


class Origin(Protocol):
    """Where a named data set comes from."""

    @property
    def level(self) -> Level:
        """Whether it is one graph, whose nodes are embedded, a set of graphs, or a set of images."""

    def locate(self, root: PathLike | None) -> Path | None:
        """Where it would be read from; None if it is not on this machine."""

    def load(self, root: PathLike | None) -> Data:
        """The graph, graph set or image set."""


@dataclass(frozen=True)
class Bundled:
    """A file that comes with the package."""

    file: str
    level: Level = "node"

    def locate(self, root: PathLike | None) -> Path:
        return Path(__file__).parent / "bundled" / self.file

    def load(self, root: PathLike | None) -> Data:
        return read_graph(self.locate(root))


def _planetoid(key: str, name: str) -> PygSet:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    return PygSet(key, f"Planetoid/{name}", tuple(f"ind.{key}.{part}" for part in parts), {"name": name})


def _amazon(key: str, name: str) -> PygSet:
    return PygSet(key, f"Amazon/{name}", (f"amazon_electronics_{key}.npz",), {"name": name})


def _coauthor(key: str, name: str) -> PygSet:
    return PygSet(key, f"Coauthor/{name}", (f"ms_academic_{name[:3].lower()}.npz",), {"name": name})


def _geom_gcn(key: str, folder: str, file: str | None = None) -> PygSet:
    splits = (f"{file or key}_split_0.6_0.2_{i}.npz" for i in range(10))
    files = ("out1_node_feature_label.txt", "out1_graph_edges.txt", *splits)
    return PygSet(key, folder, files, {} if folder == "Actor" else {"name": key})


def _heterophilous(key: str) -> PygSet:
    name = key.replace("-", "_")
    return PygSet(key, f"HeterophilousGraphDataset/{name}", (f"{name}.npz",), {"name": key})


ORIGINS: dict[str, Origin] = {
    "cora": Bundled("cora.npz"),
    "citeseer": _planetoid("citeseer", "CiteSeer"),
    "pubmed": _planetoid("pubmed", "PubMed"),
    "photo": _amazon("photo", "Photo"),
    "computers": _amazon("computers", "Computers"),
    "wikics": PygSet("wikics", "WikiCS", ("data.json",), {"is_undirected": True}),
    "coauthor-cs": _coauthor("coauthor-cs", "CS"),
    "coauthor-physics": _coauthor("coauthor-physics", "Physics"),
    "ogbn-arxiv": OgbSet("ogbn-arxiv", "time"),
    "actor": _geom_gcn("actor", "Actor", "film"),
    "chameleon": _geom_gcn("chameleon", "WikipediaNetwork/chameleon/geom_gcn"),
    "squirrel": _geom_gcn("squirrel", "WikipediaNetwork/squirrel/geom_gcn"),
    "cornell": _geom_gcn("cornell", "WebKB/cornell"),
    "texas": _geom_gcn("texas", "WebKB/texas"),
    "wisconsin": _geom_gcn("wisconsin", "WebKB/wisconsin"),
    **{key: _heterophilous(key) for key in ("roman-empire", "amazon-ratings", "minesweeper", "tolokers", "questions")},
    "mutag": Bundled("mutag.npz", "graph"),
    "nci1": TuSet("nci1", "NCI1"),
    "nci109": TuSet("nci109", "NCI109"),
    "proteins": TuSet("proteins", "PROTEINS"),
    "dd": TuSet("dd", "DD"),
    "enzymes": TuSet("enzymes", "ENZYMES"),
    "ptc-mr": TuSet("ptc-mr", "PTC_MR"),
    "imdb-binary": TuSet("imdb-binary", "IMDB-BINARY"),
    "imdb-multi": TuSet("imdb-multi", "IMDB-MULTI"),
    "reddit-binary": TuSet("reddit-binary", "REDDIT-BINARY"),
    "reddit-multi-5k": TuSet("reddit-multi-5k", "REDDIT-MULTI-5K"),
    "collab": TuSet("collab", "COLLAB"),
    "digits": Digits(),
    "cifar10": CIFAR10,
    "cifar100": CIFAR100,
    "cifar10-subset": ArraySet("cifar10-subset", "images/cifar10_15000_5000.npz"),
    "cifar100-subset": ArraySet("cifar100-subset", "images/cifar100_5000_2000.npz"),
    "imagenet-100": ImageNet100(),
}

DESCRIPTIONS = {
    "cora": "Citations among 2708 papers on machine learning; 1433 words, 7 subjects",
    "citeseer": "Citations among 3327 papers on computer science; 3703 words, 6 subjects",
    "pubmed": "Citations among 19717 papers on diabetes; 500 word weights, 3 kinds",
    "photo": "7650 photo goods of Amazon bought together; 745 review words, 8 categories",
    "computers": "13752 computer goods of Amazon bought together; 767 review words, 10 categories",
    "wikics": "Links among 11701 Wikipedia articles on computer science; 300 features, 10 fields",
    "coauthor-cs": "18333 authors in computer science who wrote together; 6805 keywords, 15 fields",
    "coauthor-physics": "34493 authors in physics who wrote together; 8415 keywords, 5 fields",
    "ogbn-arxiv": "Citations among 169343 papers on computer science; 128 features, 40 subjects",
    "actor": "7600 actors on the same Wikipedia pages; 932 keywords, 5 kinds; heterophilous",
    "chameleon": "Links among 2277 Wikipedia articles on chameleons; 2325 nouns, 5 levels of traffic; heterophilous",
    "squirrel": "Links among 5201 Wikipedia articles on squirrels; 2089 nouns, 5 levels of traffic; heterophilous",
    "cornell": "Links among 183 web pages of a university; 1703 words, 5 kinds; heterophilous",
    "texas": "Links among 183 web pages of a university; 1703 words, 5 kinds; heterophilous",
    "wisconsin": "Links among 251 web pages of a university; 1703 words, 5 kinds; heterophilous",
    "roman-empire": "22662 words of an article, by syntax; 300 features, 18 roles; heterophilous",
    "amazon-ratings": "24492 goods of Amazon bought together; 300 features, 5 ratings; heterophilous",
    "minesweeper": "The 10000 cells of a game's grid; 7 features, mine or not; heterophilous",
    "tolokers": "11758 crowd workers on the same tasks; 10 features, banned or not; heterophilous",
    "questions": "48921 users who answered each other; 301 features, active or not; heterophilous",
    "mutag": "188 graphs: molecules; 7 kinds of atoms, mutagenic or not",
    "nci1": "4110 graphs: molecules; 37 kinds of atoms, active against lung cancer or not",
    "nci109": "4127 graphs: molecules; 38 kinds of atoms, active against ovarian cancer or not",
    "proteins": "1113 graphs: proteins; 3 kinds of structure elements, enzyme or not",
    "dd": "1178 graphs: proteins; 89 kinds of amino acids, enzyme or not",
    "enzymes": "600 graphs: proteins; 3 kinds of structure elements, 6 classes of enzymes",
    "ptc-mr": "344 graphs: molecules; 18 kinds of atoms, carcinogenic to male rats or not",
    "imdb-binary": "1000 graphs: actors around one actor; no features, 2 genres",
    "imdb-multi": "1500 graphs: actors around one actor; no features, 3 genres",
    "reddit-binary": "2000 graphs: users of a thread who answered each other; no features, 2 kinds of forums",
    "reddit-multi-5k": "4999 graphs: users of a thread who answered each other; no features, 5 forums",
    "collab": "5000 graphs: researchers around one researcher; no features, 3 fields of physics",
    "digits": "1797 images: handwritten digits, 8 × 8, grey; 10 digits",
    "cifar10": "60000 images: photographs, 32 × 32, in colour; 10 kinds of animals and vehicles",
    "cifar100": "60000 images: photographs, 32 × 32, in colour; 100 kinds of things",
    "cifar10-subset": "20000 images of CIFAR-10, 15000 of them for training",
    "cifar100-subset": "7000 images of CIFAR-100, 5000 of them for training",
    "imagenet-100": "Images: photographs of ImageNet, brought to 224 × 224; 100 kinds of things; never downloaded",
}


def names() -> list[DatasetInfo]:
    """The data sets known by name, in the order in which they are told of."""
    return [
        DatasetInfo(
            name,
            DESCRIPTIONS[name],
            bundled=isinstance(origin, (Bundled, Digits)),
            level=origin.level,
            downloaded=not isinstance(origin, (Bundled, Digits, ArraySet, ImageNet100)),
        )
        for name, origin in ORIGINS.items()
    ]


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
    """The graph, graph set or image set of a name (see `names`) or of a file or folder (see `read_graph`).

    A text is a name first, in any case; `tu:NAME`, in TU Dortmund's own case, is any TUDataset. Otherwise it is a path
    if it has a suffix or a separator in it, or exists. Named sets are looked for under `root`, else under the folder in
    the environment variable SFA_DATA, in torch_geometric's layout (`Planetoid/CiteSeer/raw/…`, `WikiCS/raw/…`,
    `TUDataset/NCI1/raw/…`) or OGB's (`ogbn_arxiv/raw/…`), then in the cache, into which they are downloaded if need be.
    Where they have public splits, so has the graph: `train_mask`, `val_mask` and `test_mask`, [n] or [n, splits].

    A file without features gets some made of `node_features`: `degree`, `random` or `spectral`. A graph set without
    features gets `degree` ones unasked, and `sfa.data.remark` says so.

    Images come from a folder of image files (see `sfa.data.files.image_folder`), which are brought to `image_size`
    pixels if that is given, and of which damaged ones are an error unless `skip_corrupt`; or from a `.npz` or `.npy`
    (see `sfa.data.files.image_arrays`). `on_image` is called after each file that is decoded with how many are done and
    how many there are. CIFAR lies as `cifar-10-batches-bin/…` or `cifar-100-binary/…` under a root.
    """
    origin = _origin(name_or_path)
    if origin is None:
        if not _is_path(name_or_path):
            raise _no_such(os.fspath(name_or_path))
        if holds_images(name_or_path):
            _refuse_node_features(name_or_path, features, node_features)
            return read_images(
                name_or_path, labels=labels, image_size=image_size, skip_corrupt=skip_corrupt, on_image=on_image
            )
        path = existing(name_or_path, "graph", or_folder=True)
        refuse_lone_images(path)
        refuse_folder_options(path, image_size, skip_corrupt)
        return read_graph(name_or_path, features=features, labels=labels, node_features=node_features)
    if not isinstance(origin, ImageNet100):
        refuse_folder_options(f"The data set {name_or_path}", image_size, skip_corrupt)
    given = {"features": features is not None, "labels": labels is not None, "node_features": node_features is not None}
    if any(given.values()):
        own = "labels" if origin.level == "image" else "features and labels"
        raise InputError(
            f"The data set {name_or_path} has its own {own}, so leave out {options(given)}: others are given only "
            "with a file's path."
        )
    if isinstance(origin, ImageNet100):
        return origin.load(root, image_size=image_size, skip_corrupt=skip_corrupt, on_image=on_image)
    return origin.load(root)


def _refuse_node_features(path: PathLike, features: PathLike | None, node_features: str | None) -> None:
    given = {"features": features is not None, "node_features": node_features is not None}
    if any(given.values()):
        raise InputError(f"{path} holds images, so leave out {options(given)}.")


def _no_such(name: str) -> InputError:
    said = str(unknown_name("data set", name, ORIGINS))
    return InputError(said.replace(repr(name), f"{name!r}, and there is no file or folder of that name", 1))


def locate(name: str, root: PathLike | None = None) -> Path | None:
    """Where a named data set would be read from, without reading it; None if it is not on this machine."""
    origin = _origin(name)
    if origin is None:
        raise unknown_name("data set", name, ORIGINS)
    return origin.locate(root)


def _origin(name: PathLike) -> Origin | None:
    """Where the data set of this name comes from, None if there is no such; a Path object is never a name."""
    if not isinstance(name, str):
        return None
    if name.lower().startswith(PREFIX):
        given = TuSet.parse(name)
        named = (one for one in ORIGINS.values() if isinstance(one, TuSet) and one.name == given.name)
        return next(named, given)
    return ORIGINS.get(name.lower())


def _is_path(given: PathLike) -> bool:
    if not isinstance(given, str):
        return True
    has_separator = os.sep in given or (os.altsep is not None and os.altsep in given)
    return has_separator or bool(Path(given).suffix) or Path(given).exists()
