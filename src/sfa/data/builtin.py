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


TU = (
    *("NCI1", "NCI109", "PROTEINS", "DD", "ENZYMES", "PTC_MR"),
    *("IMDB-BINARY", "IMDB-MULTI", "REDDIT-BINARY", "REDDIT-MULTI-5K", "COLLAB"),
)
_DATASETS: tuple[NamedDataset, ...] = (
    Bundled("cora"),
    PygSet("citeseer", "Planetoid/CiteSeer", {"name": "CiteSeer"}),
    PygSet("pubmed", "Planetoid/PubMed", {"name": "PubMed"}),
    PygSet("photo", "Amazon/Photo", {"name": "Photo"}),
    PygSet("computers", "Amazon/Computers", {"name": "Computers"}),
    PygSet("wikics", "WikiCS", {"is_undirected": True}),
    PygSet("coauthor-cs", "Coauthor/CS", {"name": "CS"}),
    PygSet("coauthor-physics", "Coauthor/Physics", {"name": "Physics"}),
    OgbSet("ogbn-arxiv", "time"),
    PygSet("actor", "Actor"),
    *(PygSet(name, f"WikipediaNetwork/{name}/geom_gcn", {"name": name}) for name in ("chameleon", "squirrel")),
    *(PygSet(name, f"WebKB/{name}", {"name": name}) for name in ("cornell", "texas", "wisconsin")),
    *(
        PygSet(name, f"HeterophilousGraphDataset/{name.replace('-', '_')}", {"name": name})
        for name in ("roman-empire", "amazon-ratings", "minesweeper", "tolokers", "questions")
    ),
    Bundled("mutag", "graph"),
    *(TuSet(name.lower().replace("_", "-"), name) for name in TU),
    Digits(),
    CIFAR10,
    CIFAR100,
    ArraySet("cifar10-subset", "images/cifar10_15000_5000.npz"),
    ArraySet("cifar100-subset", "images/cifar100_5000_2000.npz"),
    ImageNet100(),
)

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
    "digits": "1797 images: handwritten digits, 8 × 8, gray; 10 digits",
    "cifar10": "60000 images: photographs, 32 × 32, in color; 10 kinds of animals and vehicles",
    "cifar100": "60000 images: photographs, 32 × 32, in color; 100 kinds of things",
    "cifar10-subset": "20000 images of CIFAR-10, 15000 of them for training",
    "cifar100-subset": "7000 images of CIFAR-100, 5000 of them for training",
    "imagenet-100": "Images: photographs of ImageNet, brought to 224 × 224; 100 kinds of things; never downloaded",
}

for _dataset in _DATASETS:
    _dataset.description = DESCRIPTIONS[_dataset.name]
    register("dataset", _dataset.name, _dataset)
