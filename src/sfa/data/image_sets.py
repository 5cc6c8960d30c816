"""Read the named image sets: CIFAR-10 and CIFAR-100 in their binary layout, subsets of them, and digits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.downloads import VARIABLE, Archive, PathLike, data_root, explain_damage, find_place, require_files
from sfa.data.images import build_images
from sfa.data.readers.image_arrays import read_image_arrays
from sfa.errors import InputError
from sfa.tasks import Task

SIDE, CHANNELS = 32, 3
PIXELS = SIDE * SIDE * CHANNELS


@dataclass(frozen=True)
class Cifar:
    """Photographs of 32 × 32 pixels (Krizhevsky, 2009, "Learning multiple layers of features from tiny images").

    Its files lie in a folder under a root, or under `images/` there. They are records of bytes: the labels of an image
    (`num_labels`), then its red, green and blue values, each by rows. The last label counts: in CIFAR-100, the one
    before it says to which of 20 coarse classes its own belongs. `names_file` has the names of the classes, one a line.
    """

    key: str
    archive: Archive
    train_files: tuple[str, ...]
    test_file: str
    names_file: str
    num_labels: int
    in_train_file: int = 10_000
    in_test_file: int = 10_000
    task: ClassVar[Task] = "image"

    def locate(self, root: PathLike | None) -> Path | None:
        return find_place(root, f"images/{self.archive.folder}", self.archive.folder)

    def load(self, root: PathLike | None) -> Data:
        folder = self.locate(root) or self.archive.fetch(self.key, instead="digits", looked_in=data_root(root))
        files = (*self.train_files, self.test_file)
        require_files(self.key, folder, (*files, self.names_file))
        with explain_damage(self.key, folder):
            names = (folder / self.names_file).read_text(encoding="utf-8").split()
            images, labels = zip(*(self._read(folder / file, len(names)) for file in files), strict=True)
            y = np.concatenate(labels)
            x = np.concatenate(images, out=np.empty((len(y), SIDE, SIDE, CHANNELS), dtype=np.uint8))
            in_training = np.arange(len(x)) < len(x) - len(images[-1])
            return build_images(
                x, y=y, class_names=names, train_mask=in_training, test_mask=~in_training, name=self.key
            )

    def _read(self, file: Path, num_names: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return images [n, 32, 32, 3] and labels [n], as views of a map of the file."""
        record, size = self.num_labels + PIXELS, file.stat().st_size
        count, rest = divmod(size, record)
        expected = self.in_test_file if file.name == self.test_file else self.in_train_file
        if rest or not count:
            found = f"{size} bytes, which are no whole number of records of {record}"
            raise InputError(f"{file} has {found}: it is cut short or another file.")
        if count != expected:
            found = f"{count} records, but {self.key} as published has {expected} in it"
            raise InputError(f"{file} has {found}: it is cut short or another file.")
        records = np.memmap(file, np.uint8, "r").reshape(count, record)
        labels = records[:, self.num_labels - 1]
        if labels.max() >= num_names:
            raise InputError(f"{file} has the label {labels.max()}, but {self.names_file} has {num_names} names.")
        planes = records[:, self.num_labels :].reshape(count, CHANNELS, SIDE, SIDE)
        return planes.transpose(0, 2, 3, 1), labels


PUBLISHED = "https://www.cs.toronto.edu/~kriz"
CIFAR10 = Cifar(
    "cifar10",
    Archive(f"{PUBLISHED}/cifar-10-binary.tar.gz", "c32a1d4ab5d03f1284b67883e8d87530", "cifar-10-batches-bin"),
    train_files=tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    test_file="test_batch.bin",
    names_file="batches.meta.txt",
    num_labels=1,
)
CIFAR100 = Cifar(
    "cifar100",
    Archive(f"{PUBLISHED}/cifar-100-binary.tar.gz", "03b5dce01913d631647c71ecec9e9cb8", "cifar-100-binary"),
    train_files=("train.bin",),
    test_file="test.bin",
    names_file="fine_label_names.txt",
    num_labels=2,
    in_train_file=50_000,
)


@dataclass(frozen=True)
class ArraySet:
    """One image set in a `.npz` below a root (see `sfa.data.readers.image_arrays`), which nobody publishes."""

    key: str
    file: str
    task: ClassVar[Task] = "image"

    def locate(self, root: PathLike | None) -> Path | None:
        return find_place(root, self.file)

    def load(self, root: PathLike | None) -> Data:
        file = self.locate(root)
        if file is None:
            raise InputError(
                f"{self.key} is read from the file {self.file}, which is not in {data_root(root)}, and it cannot be "
                f"downloaded; give the folder that holds it with --data-root or {VARIABLE}, or use the bundled digits."
            )
        return read_image_arrays(file, name=self.key)


@dataclass(frozen=True)
class Digits:
    """1797 digits of 8 × 8 pixels: the test part of UCI's "Optical Recognition of Handwritten Digits" (Alpaydin and
    Kaynak, 1998), as scikit-learn has them.

    A pixel counts the inked ones, 0 to 16, in a block of the scan; v becomes the byte round(255 v / 16).

    The images come sheet by sheet: 14 times the same text of some 130 digits. The first ten sheets, 1287 images, are
    for training, the last four, 510, for testing: no random draw of the whole, on which scores would be higher.
    """

    key: str = "digits"
    task: ClassVar[Task] = "image"

    def locate(self, root: PathLike | None) -> Path:
        import sklearn

        return Path(sklearn.__file__).parent / "datasets" / "data" / "digits.csv.gz"

    def load(self, root: PathLike | None) -> Data:
        from sklearn.datasets import load_digits

        read = load_digits()
        in_training = np.arange(len(read.target)) < 1287
        x = np.rint(read.images * (255 / 16)).astype(np.uint8)
        names = [str(digit) for digit in range(10)]
        return build_images(
            x, y=read.target, class_names=names, train_mask=in_training, test_mask=~in_training, name=self.key
        )
