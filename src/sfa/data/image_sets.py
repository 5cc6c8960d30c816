"""Read the named image sets: CIFAR-10, CIFAR-100, subsets of them, digits, and ImageNet-100."""

import re
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import NamedDataset, explain_damage
from sfa.data.images import build_images
from sfa.data.readers.image_arrays import read_image_arrays
from sfa.data.readers.image_folder import read_image_folder
from sfa.errors import InputError
from sfa.folders import PathLike
from sfa.tasks import Task

SIDE, CHANNELS = 32, 3
SECONDS = 60  # how long a server may be silent


class ImageSet(NamedDataset):
    """A named data set of images."""

    task: Task = "image"
    instead = "digits"


@dataclass
class Cifar(ImageSet):
    """Photographs of 32 × 32 pixels (Krizhevsky, 2009, "Learning multiple layers of features from tiny images").

    The files are records of bytes: the labels of an image (`num_labels`), of which the last counts (the one before it
    is the coarse class of CIFAR-100), then its red, green and blue values, each by rows. `names_file` has the names of
    the classes, one a line.
    """

    name: str
    url: str
    md5: str
    place: str
    train_files: tuple[str, ...]
    test_file: str
    names_file: str
    num_labels: int
    in_train_file: int = 10_000
    in_test_file: int = 10_000

    def __post_init__(self) -> None:
        self.files = (*self.train_files, self.test_file, self.names_file)
        self.content = f"{self.place}/ (unpacked from {self.url})"

    @property
    def places(self) -> tuple[str, ...]:
        return f"images/{self.place}", self.place

    def fetch(self, temporary: Path) -> None:
        """Download the archive, check it, and unpack it; nothing is written outside the folder."""
        import pooch

        file = temporary / "archive"
        pooch.HTTPDownloader(timeout=SECONDS, progressbar=sys.stderr.isatty())(self.url, str(file), None)
        checksum = pooch.file_hash(str(file), alg="md5")
        if checksum != self.md5:
            raise InputError(f"what {self.url} has now is not as published: its MD5 is {checksum} and not {self.md5}")
        with tarfile.open(file) as archive:
            archive.extractall(temporary, filter="data")

    def read(self, place: Path) -> Data:
        names = (place / self.names_file).read_text(encoding="utf-8").split()
        images, labels = zip(*(self._read_file(place / file, len(names)) for file in self.files[:-1]), strict=True)
        y = np.concatenate(labels)
        x = np.concatenate(images, out=np.empty((len(y), SIDE, SIDE, CHANNELS), dtype=np.uint8))
        in_training = np.arange(len(x)) < len(x) - len(images[-1])
        return build_images(x, y=y, class_names=names, train_mask=in_training, test_mask=~in_training, name=self.name)

    def _read_file(self, file: Path, num_names: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return images [n, 32, 32, 3] and labels [n], as views of a map of the file."""
        record, size = self.num_labels + SIDE * SIDE * CHANNELS, file.stat().st_size
        count = self.in_test_file if file.name == self.test_file else self.in_train_file
        if size != count * record:
            raise InputError(
                f"{file} has {size} bytes, but {self.name} as published has {count} records of {record} bytes in it: "
                "it is cut short or another file."
            )
        records = np.memmap(file, np.uint8, "r").reshape(count, record)
        labels = records[:, self.num_labels - 1]
        if labels.max() >= num_names:
            raise InputError(f"{file} has the label {labels.max()}, but {self.names_file} has {num_names} names.")
        planes = records[:, self.num_labels :].reshape(count, CHANNELS, SIDE, SIDE)
        return planes.transpose(0, 2, 3, 1), labels


CIFAR10 = Cifar(
    "cifar10",
    "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    "c32a1d4ab5d03f1284b67883e8d87530",
    "cifar-10-batches-bin",
    train_files=tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    test_file="test_batch.bin",
    names_file="batches.meta.txt",
    num_labels=1,
)
CIFAR100 = Cifar(
    "cifar100",
    "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
    "03b5dce01913d631647c71ecec9e9cb8",
    "cifar-100-binary",
    train_files=("train.bin",),
    test_file="test.bin",
    names_file="fine_label_names.txt",
    num_labels=2,
    in_train_file=50_000,
)


@dataclass
class ArraySet(ImageSet):
    """One image set in a `.npz` below a root (see `sfa.data.readers.image_arrays`), which nobody publishes."""

    name: str
    place: str
    downloaded = False

    def read(self, place: Path) -> Data:
        return read_image_arrays(place, name=self.name)


class Digits(ImageSet):
    """1797 digits of 8 × 8 pixels, as scikit-learn has them.

    They are the test part of UCI's "Optical Recognition of Handwritten Digits" (Alpaydin and Kaynak, 1998). A pixel
    counts the inked ones, 0 to 16, in a block of the scan; v becomes the byte round(255 v / 16). The images come sheet
    by sheet: 14 times the same text. The first ten sheets are for training, the last four for testing: no random draw
    of the whole, on which scores would be higher.
    """

    name = "digits"
    bundled, downloaded = True, False

    def locate(self, root: PathLike | None) -> Path:
        import sklearn

        return Path(sklearn.__file__).parent / "datasets" / "data" / "digits.csv.gz"

    def read(self, place: Path) -> Data:
        from sklearn.datasets import load_digits

        read = load_digits()
        in_training = np.arange(len(read.target)) < 1287
        x = np.rint(read.images * (255 / 16)).astype(np.uint8)
        masks: dict[str, Any] = {"train_mask": in_training, "test_mask": ~in_training}
        return build_images(x, y=read.target, class_names=[str(digit) for digit in range(10)], **masks, name=self.name)


class ImageNet100(ImageSet):
    """Photographs of 100 of the 1000 classes of ILSVRC 2012.

    From `"ImageNet Large Scale Visual Recognition Challenge" <https://arxiv.org/abs/1409.0575>`_ (Russakovsky et al.,
    2015); the 100 classes are those of `"Contrastive Multiview Coding" <https://arxiv.org/abs/1906.05849>`_ (Tian et
    al., 2020).

        imagenet-100/           or  imagenet/               under a root, or under images/ there
            train/                      train/
                n01558993/*.JPEG            n01440764/*.JPEG
                …                           … (all 1000)
            val/                        val/
                n01558993/*.JPEG            n01440764/*.JPEG

    Every class of `imagenet-100/` (or `imagenet100/`) is read, and of `imagenet/` those of Tian et al. A list of
    classes `imagenet100.txt`, in the folder or beside it, overrides this: a WordNet id a line, after which the class
    may have a name. The images of `val/` are the part to test on. All are brought to 224 × 224 pixels. They are never
    downloaded: ImageNet gives them to those who agree to its terms of access.
    """

    name = place = "imagenet-100"
    content = "imagenet-100/ or all of imagenet/, each with train/ and val/ and a folder a class in these,"
    downloaded = False

    @property
    def places(self) -> tuple[str, ...]:
        names = ("imagenet-100", "imagenet100", "imagenet")
        return tuple(f"{under}{name}" for name in names for under in ("images/", ""))

    def read(self, place: Path, *, image_size: int | None = None, **options: Any) -> Data:
        """Read the images; see `read_image_folder` for the options."""
        for part in ("train", "val"):
            if not (place / part).is_dir():
                raise InputError(f"The folder {place} has no folder {part} in it; {self.name} needs train and val.")
        bundled = [Path(__file__).parent / "bundled"] if place.name == "imagenet" else []
        lists = (folder / "imagenet100.txt" for folder in (place, place.parent, *bundled))
        listed = next((file for file in lists if file.is_file()), None)
        classes = None if listed is None else read_class_list(listed)
        size = 224 if image_size is None else image_size
        data = read_image_folder(place, image_size=size, classes=classes, test=("val",), **options)
        data.name = self.name
        return data


def read_class_list(path: Path) -> dict[str, str]:
    """Return the classes that a file lists, a WordNet id a line, with the names that follow; the id where none does."""
    with explain_damage(path):
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    classes: dict[str, str] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        one, *rest = re.split(r"[,;\s]+", line.strip(), maxsplit=1)
        name = (rest and rest[0]) or one
        if not re.fullmatch(r"n\d{8}", one) or one in classes or name in classes.values():
            raise InputError(
                f"{path} has {line.strip()!r} in line {number}, but each line lists another class by its WordNet id, "
                "such as n01558993, and perhaps its name."
            )
        classes[one] = name
    if not classes:
        raise InputError(f"{path} lists no classes; it should have a WordNet id, such as n01558993, in each line.")
    return classes
