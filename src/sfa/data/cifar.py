"""CIFAR-10 and CIFAR-100 in their original binary layout."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from torch_geometric.data import Data

from sfa.data.archives import Archive, fetch
from sfa.data.image_set import build_images
from sfa.data.raw_files import damage_is_said, find_raw, require_files
from sfa.data.roots import data_root
from sfa.errors import InputError
from sfa.levels import Level

SIDE, CHANNELS = 32, 3
PIXELS = SIDE * SIDE * CHANNELS


@dataclass(frozen=True)
class Cifar:
    """Photographs of 32 × 32 pixels (Krizhevsky, 2009, "Learning multiple layers of features from tiny images").

    Its files lie in a folder under a root, or under `images/` there. They are records of bytes: the labels of an image,
    then its red, green and blue values, each by rows. The last label counts: in CIFAR-100, the one before it says to
    which of 20 coarse classes its own belongs.

    Args:
        key: our name of it.
        archive: what it is downloaded from.
        train_files: the files of the training part, in order.
        test_file: that of the testing part.
        names_file: the names of the classes, one a line.
        num_labels: labels of an image.
        in_train_file: images in each file of the training part.
        in_test_file: images in that of the testing part.
    """

    key: str
    archive: Archive
    train_files: tuple[str, ...]
    test_file: str
    names_file: str
    num_labels: int
    in_train_file: int = 10_000
    in_test_file: int = 10_000
    level: ClassVar[Level] = "image"

    def locate(self, root: str | os.PathLike[str] | None) -> Path | None:
        """The folder of its files, in the root or else among earlier downloads; None if it must be downloaded."""
        folder = Path(self.archive.folder)
        return find_raw("images" / folder, root) or find_raw(folder, root)

    def load(self, root: str | os.PathLike[str] | None) -> Data:
        """The images of the training part and then those of the testing part; nothing is written but a download."""
        folder = self.locate(root) or fetch(self.key, self.archive, instead="digits", looked_in=data_root(root))
        files = (*self.train_files, self.test_file)
        require_files(self.key, folder, (*files, self.names_file))
        with damage_is_said(self.key, folder):
            names = (folder / self.names_file).read_text(encoding="utf-8").split()
            sizes = [self._count(folder / file) for file in files]
            x = np.empty((sum(sizes), SIDE, SIDE, CHANNELS), dtype=np.uint8)
            y = np.empty(len(x), dtype=np.uint8)
            starts = np.cumsum([0, *sizes])
            for file, start, end in zip(files, starts, starts[1:], strict=False):
                x[start:end], y[start:end] = self._records(folder / file)
                if y[start:end].max() >= len(names):
                    raise InputError(
                        f"{folder / file} has the label {y[start:end].max()}, but {self.names_file} has "
                        f"{len(names)} names."
                    )
            in_training = np.arange(len(x)) < starts[-2]
            return build_images(
                x, y=y, class_names=names, train_mask=in_training, test_mask=~in_training, name=self.key
            )

    def _count(self, file: Path) -> int:
        """How many images are in a file."""
        record = self.num_labels + PIXELS
        count, rest = divmod(file.stat().st_size, record)
        if rest or not count:
            raise InputError(
                f"{file} has {file.stat().st_size} bytes, which are no whole number of records of {record}: it is cut "
                "short or another file."
            )
        expected = self.in_test_file if file.name == self.test_file else self.in_train_file
        if count != expected:
            raise InputError(
                f"{file} has {count} records, but {self.key} as published has {expected} in it: it is cut short or "
                "another file."
            )
        return count

    def _records(self, file: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Images [n, 32, 32, 3] and labels [n], as views of a map of the file."""
        records = np.memmap(file, np.uint8, "r").reshape(-1, self.num_labels + PIXELS)
        planes = records[:, self.num_labels :].reshape(-1, CHANNELS, SIDE, SIDE)
        return planes.transpose(0, 2, 3, 1), records[:, self.num_labels - 1]


CIFAR10 = Cifar(
    "cifar10",
    Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
        "c32a1d4ab5d03f1284b67883e8d87530",
        "cifar-10-batches-bin",
    ),
    tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    "test_batch.bin",
    "batches.meta.txt",
    num_labels=1,
)
CIFAR100 = Cifar(
    "cifar100",
    Archive(
        "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
        "03b5dce01913d631647c71ecec9e9cb8",
        "cifar-100-binary",
    ),
    ("train.bin",),
    "test.bin",
    "fine_label_names.txt",
    num_labels=2,
    in_train_file=50_000,
)
