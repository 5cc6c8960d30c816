"""Data sets by name or by path: the door through which every graph comes in."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from torch_geometric.data import Data

from sfa.data.files import read_graph
from sfa.data.pyg_sets import PygSet, load_pyg, locate_raw
from sfa.errors import InputError, unknown_name

PathLike = str | os.PathLike[str]

BUNDLED = Path(__file__).parent / "bundled"


@dataclass(frozen=True)
class DatasetInfo:
    """A data set's name, what it is in one line, and whether it comes with the package."""

    name: str
    description: str
    bundled: bool = False


INFO = (
    DatasetInfo("cora", "Citations among 2708 papers on machine learning; 1433 words, 7 subjects", bundled=True),
    DatasetInfo("citeseer", "Citations among 3327 papers on computer science; 3703 words, 6 subjects"),
    DatasetInfo("pubmed", "Citations among 19717 papers on diabetes; 500 word weights, 3 kinds"),
    DatasetInfo("photo", "7650 photo goods of Amazon bought together; 745 review words, 8 categories"),
    DatasetInfo("computers", "13752 computer goods of Amazon bought together; 767 review words, 10 categories"),
    DatasetInfo("wikics", "Links among 11701 Wikipedia articles on computer science; 300 features, 10 fields"),
)


def _planetoid(key: str, name: str) -> PygSet:
    parts = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
    return PygSet(key, "Planetoid", name, tuple(f"ind.{key}.{part}" for part in parts))


def _amazon(key: str, name: str) -> PygSet:
    return PygSet(key, "Amazon", name, (f"amazon_electronics_{key}.npz",))


PYG_SETS = {
    "citeseer": _planetoid("citeseer", "CiteSeer"),
    "pubmed": _planetoid("pubmed", "PubMed"),
    "photo": _amazon("photo", "Photo"),
    "computers": _amazon("computers", "Computers"),
    "wikics": PygSet("wikics", "WikiCS", None, ("data.json",)),
}


def names() -> list[DatasetInfo]:
    """The data sets known by name, in the order in which they are told of."""
    return list(INFO)


def load(
    name_or_path: PathLike,
    *,
    root: PathLike | None = None,
    features: PathLike | None = None,
    labels: PathLike | None = None,
) -> Data:
    """The graph of a name (see `names`) or of a file (see `read_graph`).

    A text is a name first; otherwise it is a file if it has a suffix or a separator in it, or exists. Named sets are
    looked for under `root`, else under the folder in the environment variable SFA_DATA, in torch_geometric's layout
    (`Planetoid/CiteSeer/raw/…`, `Amazon/Photo/raw/…`, `WikiCS/raw/…`), then in the cache, into which they are
    downloaded if need be.
    """
    key = _known(name_or_path)
    if key is None:
        if not _is_path(name_or_path):
            raise unknown_name("data set", os.fspath(name_or_path), (info.name for info in INFO))
        return read_graph(name_or_path, features=features, labels=labels)
    if features is not None or labels is not None:
        raise InputError(f"The data set {key} has its own features and labels; give others only with a file's path.")
    if key in PYG_SETS:
        return load_pyg(PYG_SETS[key], root)
    return read_graph(BUNDLED / f"{key}.npz")


def locate(name: str, root: PathLike | None = None) -> Path | None:
    """Where a named data set would be read from, without reading it; None if it would have to be downloaded."""
    key = _known(name)
    if key is None:
        raise unknown_name("data set", name, (info.name for info in INFO))
    return locate_raw(PYG_SETS[key], root) if key in PYG_SETS else BUNDLED / f"{key}.npz"


def _known(name: PathLike) -> str | None:
    """The data set of this name in any case; a Path object is never a name."""
    key = name.lower() if isinstance(name, str) else None
    return next((info.name for info in INFO if info.name == key), None)


def _is_path(given: PathLike) -> bool:
    if not isinstance(given, str):
        return True
    has_separator = os.sep in given or (os.altsep is not None and os.altsep in given)
    return has_separator or bool(Path(given).suffix) or Path(given).exists()
