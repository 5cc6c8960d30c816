"""Register the built-in data sets, in the order of `sfa list datasets`."""

from dataclasses import dataclass
from pathlib import Path

from torch_geometric.data import Data

from sfa.data.downloads import NamedDataset
from sfa.data.image_sets import CIFAR10, CIFAR100, ArraySet, Digits, ImageNet100
from sfa.data.pyg_sets import OgbSet, PygSet, TuSet
from sfa.data.readers.graph import read_graph
from sfa.folders import PathLike
from sfa.registry import register
from sfa.tasks import Task

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
class Bundled(NamedDataset):
    """A file that comes with the package."""

    name: str
    task: Task = "node"
    bundled = True
    downloaded = False

    def locate(self, root: PathLike | None) -> Path:
        return Path(__file__).parent / "bundled" / f"{self.name}.npz"

    def read(self, place: Path) -> Data:
        return read_graph(place)


def _pyg_set(folder: str) -> PygSet:
    kind, *own = folder.split("/")
    name = (own or [kind])[0].lower().replace("_", "-")
    options = {"name": own[0]} if own else {"is_undirected": True} if kind == "WikiCS" else {}
    folder = f"{folder}/geom_gcn" if kind == "WikipediaNetwork" else folder
    return PygSet(f"coauthor-{name}" if kind == "Coauthor" else name, folder, options)


CIFAR10_SUBSET = ArraySet("cifar10-subset", "images/cifar10_15000_5000.npz")
CIFAR100_SUBSET = ArraySet("cifar100-subset", "images/cifar100_5000_2000.npz")
_DATASETS: tuple[tuple[NamedDataset, str], ...] = (
    (Bundled("cora"), "Citations among 2708 papers on machine learning; 1433 words, 7 subjects"),
    *((_pyg_set(folder), text) for folder, text in PYG.items()),
    (OgbSet("ogbn-arxiv", "time"), "Citations among 169343 papers on computer science; 128 features, 40 subjects"),
    *((_pyg_set(folder), f"{text}; heterophilous") for folder, text in HETEROPHILOUS.items()),
    (Bundled("mutag", "graph"), "188 graphs: molecules; 7 kinds of atoms, mutagenic or not"),
    *((TuSet(own.lower().replace("_", "-"), own), text) for own, text in TU.items()),
    (Digits(), "1797 images: handwritten digits, 8 × 8, gray; 10 digits"),
    (CIFAR10, "60000 images: photographs, 32 × 32, in color; 10 kinds of animals and vehicles"),
    (CIFAR100, "60000 images: photographs, 32 × 32, in color; 100 kinds of things"),
    (CIFAR10_SUBSET, "20000 images of CIFAR-10, 15000 of them for training"),
    (CIFAR100_SUBSET, "7000 images of CIFAR-100, 5000 of them for training"),
    (ImageNet100(), "Images: photographs of ImageNet, brought to 224 × 224; 100 kinds of things; never downloaded"),
)
for _dataset, _description in _DATASETS:
    _dataset.description = _description
    register("dataset", _dataset.name, _dataset)
