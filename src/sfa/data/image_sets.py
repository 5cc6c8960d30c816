"""Read the named image sets: CIFAR-10, CIFAR-100, subsets of them, digits, and ImageNet-100."""

import re
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import DatasetInfo, download, explain_damage
from sfa.data.images import build_images
from sfa.data.readers.image_folder import read_image_folder
from sfa.errors import InputError
from sfa.folders import PathLike, require_regular_file
from sfa.tasks import Task

SIDE, CHANNELS = 32, 3


@dataclass
class LocalSet(DatasetInfo):
    """A data set that is never downloaded: `reader` reads what comes with a package, or lies under a root."""

    name: str
    reader: Callable[..., Data]
    task: Task = "image"
    path: Path | None = None  # in a package
    places: tuple[str, ...] = ()
    content: str = ""
    downloaded = False

    def __post_init__(self) -> None:
        self.bundled, self.instead = self.path is not None, "digits" if self.task == "image" else "cora"

    def locate(self, root: PathLike | None) -> Path | None:
        return self.path or super().locate(root)

    def read(self, place: Path, **options: Any) -> Data:
        data = self.reader(place, **options)
        data.name = self.name
        return data


@dataclass
class Cifar(DatasetInfo):
    """Photographs of 32 × 32 pixels (Krizhevsky, 2009, "Learning multiple layers of features from tiny images").

    The files are records of bytes: the labels of an image (`num_labels`), of which the last counts (the one before it
    is the coarse class of CIFAR-100), then its red, green and blue values, each by rows. The last file but one is for
    testing, and the last has the names of the classes, one a line.
    """

    name: str
    url: str
    md5: str
    folder: str
    num_labels: int
    files: tuple[str, ...]
    in_train_file: int = 10_000
    in_test_file: int = 10_000
    task: Task = "image"
    instead = "digits"

    def __post_init__(self) -> None:
        self.places = f"images/{self.folder}", self.folder
        self.content = f"{self.folder}/ (unpacked from {self.url})"

    def fetch(self, temporary: Path) -> None:
        """Download the archive, check it, and unpack it; nothing is written outside the folder."""
        download(self.url, temporary / "archive", f"md5:{self.md5}")
        with tarfile.open(temporary / "archive") as archive:
            archive.extractall(temporary, filter="data")

    def read(self, place: Path) -> Data:
        names = require_regular_file(place / self.files[-1], max_bytes=1 << 20).read_text(encoding="utf-8").split()
        images, labels = zip(*(self._read_file(place / file, len(names)) for file in self.files[:-1]), strict=True)
        y = np.concatenate(labels)
        x = np.concatenate(images, out=np.empty((len(y), SIDE, SIDE, CHANNELS), dtype=np.uint8))
        in_training = np.arange(len(x)) < len(x) - len(images[-1])
        return build_images(x, y=y, class_names=names, train_mask=in_training, test_mask=~in_training, name=self.name)

    def _read_file(self, file: Path, num_names: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return images [n, 32, 32, 3] and labels [n], as views of a map of the file."""
        record, size = self.num_labels + SIDE * SIDE * CHANNELS, file.stat().st_size
        count = self.in_test_file if file.name == self.files[-2] else self.in_train_file
        if size != count * record:
            raise InputError(
                f"{file} has {size} bytes, but {self.name} as published has {count} records of {record} bytes in it: "
                "it is cut short or another file."
            )
        records = np.memmap(file, np.uint8, "r").reshape(count, record)
        labels = records[:, self.num_labels - 1]
        if labels.max() >= num_names:
            raise InputError(f"{file} has the label {labels.max()}, but {self.files[-1]} has {num_names} names.")
        planes = records[:, self.num_labels :].reshape(count, CHANNELS, SIDE, SIDE)
        return planes.transpose(0, 2, 3, 1), labels


CIFAR10 = Cifar(
    "cifar10",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c32a1d4ab5d03f1284b67883e8d87530",
    "cifar-10-batches-bin",
    num_labels=1,
    files=(*(f"data_batch_{i}.bin" for i in range(1, 6)), "test_batch.bin", "batches.meta.txt"),
)
CIFAR100 = Cifar(
    "cifar100",
    "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    "03b5dce01913d631647c71ecec9e9cb8",
    "cifar-100-binary",
    num_labels=2,
    files=("train.bin", "test.bin", "fine_label_names.txt"),
    in_train_file=50_000,
)


def read_digits(place: Path) -> Data:
    """Read the 1797 digits of 8 × 8 pixels that scikit-learn has.

    They are the test part of UCI's "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak, 1998). A pixel
    counts the inked ones, 0 to 16, in a block of the scan; v becomes the byte round(255 v / 16). The images come sheet
    by sheet: 14 times the same text. The first ten sheets are for training, the last four for testing: no random draw
    of the whole, on which scores would be higher.
    """
    from sklearn.datasets import load_digits

    read, names = load_digits(), [str(digit) for digit in range(10)]
    x = np.rint(read.images * (255 / 16)).astype(np.uint8)
    train = np.arange(len(x)) < 1287
    return build_images(x, y=read.target, class_names=names, train_mask=train, test_mask=~train)


def read_imagenet100(place: Path, *, image_size: int | None = None, **options: Any) -> Data:
    """Read photographs of 100 of the 1000 classes of ILSVRC 2012; see `read_image_folder` for the options.

    From `"ImageNet Large Scale Visual Recognition Challenge" <https://arxiv.org/abs/1409.0575>`_ (Russakovsky et al.,
    2015); the 100 classes are those of `"Contrastive Multiview Coding" <https://arxiv.org/abs/1906.05849>`_ (Tian et
    al., 2020).

    They lie in `imagenet-100/train/n01558993/*.JPEG` and so on. Every class is read, but of `imagenet/` those of Tian
    et al. alone. A list of classes `imagenet100.txt` (see `read_class_list`), in the folder or beside it, overrides
    this. The images of `val/` are the part to test on. All are brought to 224 × 224 pixels, unless `image_size` is
    given. They are never downloaded: ImageNet gives them to those who agree to its terms.
    """
    for part in ("train", "val"):
        if not (place / part).is_dir():
            raise InputError(f"The folder {place} has no folder {part} in it; imagenet-100 needs train and val.")
    bundled = [Path(__file__).parent / "bundled"] if place.name == "imagenet" else []
    lists = (folder / "imagenet100.txt" for folder in (place, place.parent, *bundled))
    listed = next((file for file in lists if file.is_file()), None)
    classes = None if listed is None else read_class_list(listed)
    size = 224 if image_size is None else image_size
    return read_image_folder(place, image_size=size, classes=classes, test=("val",), **options)


def read_class_list(path: Path) -> dict[str, str]:
    """Return the classes that a file lists, a WordNet id a line, with the names that follow; the id where none does."""
    with explain_damage(path):
        text = require_regular_file(path, max_bytes=1 << 20).read_text(encoding="utf-8-sig")
        lines = [line.strip() for line in text.splitlines()]
    classes: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line or line.startswith("#"):
            continue
        one, _, name = re.sub(r"[,;\s]+", " ", line, count=1).partition(" ")
        if not re.fullmatch(r"n\d{8}", one) or one in classes or (name or one) in classes.values():
            raise InputError(
                f"{path} has {line!r} in line {number}, but each line lists another class by its WordNet id, such as "
                "n01558993, and perhaps its name."
            )
        classes[one] = name or one
    if not classes:
        raise InputError(f"{path} lists no classes; it should have a WordNet id, such as n01558993, in each line.")
    return classes


_SKLEARN = Path(str(getattr(find_spec("sklearn"), "origin", ""))).parent  # without its import
DIGITS = LocalSet("digits", read_digits, path=_SKLEARN / "datasets" / "data" / "digits.csv.gz")
IMAGENET100 = LocalSet(
    "imagenet-100",
    read_imagenet100,
    places=tuple(f"{up}{name}" for name in ("imagenet-100", "imagenet100", "imagenet") for up in ("images/", "")),
    content="imagenet-100/ or all of imagenet/, each with train/ and val/ and a folder a class in these,",
)
